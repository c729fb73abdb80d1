"""Polishing: what was begun is finished first, and the gravest bugs have their turn before others have a second one. Proving."""

from dataclasses import replace

from gradfuzz.bugs.bug import in_turn
from gradfuzz.findings.script import script
from gradfuzz.findings.writing import Writing, proving
from gradfuzz.pool.jobs import Jobs
from gradfuzz.pool.pool import Event
from tests.bugs.made import made
from tests.findings.test_putting_off import Queue


def answered(writing):
    """The next job is handed out and comes back without anything; what it was."""
    job = writing.pool.jobs.next(0)
    writing.handle(Event("done", job))
    return job


def polished(findings, order=list):
    """The order in which findings are done where the first was met before all others."""
    done, writing = [], Writing(Queue(), order)
    for finding in findings:
        writing.polish(finding, lambda f: done.append(f.id))
    while writing.unpolished:
        assert len(writing.pool.jobs.put_off) <= 1  # with one worker, one at a time
        answered(writing)
    return list(dict.fromkeys(done))  # each is told once more with its picture


def test_the_gravest_come_first_and_one_of_each_bug_before_the_second_of_any():
    edge = made("torch.sin", text='x = tensor((0,), "float64", full(1.0))\ny = torch.sin(x)\n', ordinary=False)
    loud, silent = made("torch.cos", "nonfinite"), made("torch.tan")
    again = made("torch.tan", scenarios=["reverse-over-reverse"])
    met = [edge, again, loud, silent]
    assert [f.id for f in in_turn(met)] == [silent.id, loud.id, edge.id, again.id]
    assert polished(met, in_turn) == [edge.id, silent.id, loud.id, again.id]  # what was met first had begun


def told(steps, *statuses):
    """What was asked of workers, and the finding, where scripts exit with these in turn."""
    asked, left, answer = [], list(statuses), None
    while True:
        try:
            do, fields = steps.send(answer)
        except StopIteration as end:
            return asked, end.value
        asked.append((do, fields.get("source")))
        answer = {"status": left.pop(0), "output": "as it was told"} if do == "script" else {}


def test_a_short_script_of_a_way_that_shows_nothing_is_not_the_last_word():
    text = 'x = tensor((2,), "float64", full(1.0))\ny = tf.sin(x)\n'
    way = made("tf.sin", "way", target="tensorflow", text=text, scenarios=["compiled reverse"])
    short, whole = script(way), script(way, whole=True)
    assert len(short.splitlines()) < len(whole.splitlines())
    asked, found = told(proving(replace(way, script=short)), 0, 1)
    assert [source for do, source in asked if do == "script"] == [short, whole] and found.confirmed and found.script == whole
    asked, found = told(proving(replace(way, script=short)), 0, 0)
    assert found.lost and not found.confirmed
    asked, found = told(proving(replace(way, script=short)), 1)
    assert found.confirmed and found.script == short


def test_what_is_no_matter_of_a_way_has_one_script():
    plain = made("torch.sin")
    asked, found = told(proving(replace(plain, script=script(plain))), 0)
    assert [do for do, _ in asked] == ["script"] and found.lost


def test_what_was_begun_is_finished_before_anything_else_that_was_put_off():
    jobs = Jobs(1)
    for number, ahead in ((1, False), (2, False), (3, True)):
        jobs.add({"id": number, "urgent": True}, ahead=ahead, put_off=True)
    assert [jobs.next(0)["id"] for _ in range(3)] == [3, 1, 2]


def test_all_are_polished_in_the_end():
    findings = [made(f"torch.f{n}") for n in range(30)]
    assert sorted(polished(findings, in_turn)) == sorted(f.id for f in findings)


def test_pictures_come_when_no_short_script_waits():
    told, writing = [], Writing(Queue())
    for name in ("sin", "cos", "tan"):
        writing.polish(made(f"torch.{name}"), lambda f: told.append(f.api))
    done = []
    while writing.unpolished or writing.unpictured:
        done.append(answered(writing)["do"])
    assert done == ["pinpoint"] * 3 + ["landscape"] * 3
    assert told == ["torch.sin", "torch.cos", "torch.tan"] * 2  # each is kept as it is polished, and once more with its picture
