"""Polishing: what was begun is finished first, and the gravest bugs have their turn before others have a second one."""

from gradfuzz.bugs.bug import in_turn
from gradfuzz.findings.writing import Writing
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
    return done


def test_the_gravest_come_first_and_one_of_each_bug_before_the_second_of_any():
    edge = made("torch.sin", text='x = tensor((0,), "float64", full(1.0))\ny = torch.sin(x)\n', ordinary=False)
    loud, silent = made("torch.cos", "nonfinite"), made("torch.tan")
    again = made("torch.tan", scenarios=["reverse-over-reverse"])
    met = [edge, again, loud, silent]
    assert [f.id for f in in_turn(met)] == [silent.id, loud.id, edge.id, again.id]
    assert polished(met, in_turn) == [edge.id, silent.id, loud.id, again.id]  # what was met first had begun


def test_what_was_begun_is_finished_before_anything_else_that_was_put_off():
    jobs = Jobs(1)
    for number, ahead in ((1, False), (2, False), (3, True)):
        jobs.add({"id": number, "urgent": True}, ahead=ahead, put_off=True)
    assert [jobs.next(0)["id"] for _ in range(3)] == [3, 1, 2]


def test_all_are_polished_in_the_end():
    findings = [made(f"torch.f{n}") for n in range(30)]
    assert sorted(polished(findings, in_turn)) == sorted(f.id for f in findings)
