"""What is most likely another sight of a known cause waits until the search is over, and is not lost."""

from dataclasses import replace

import pytest

from gradfuzz.findings.inside.confirm import Confirmed
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.triage import PUT_OFF_SECONDS, Triage
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.pool.jobs import Jobs
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Event
from gradfuzz.program import parse
from gradfuzz.store import Store
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.homes import home_of, language_for

PROGRAM = parse('x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n', language_for("torch"))


class Queue:
    """A pool without workers: jobs wait until the test answers them."""

    version, size = "0", 1

    def __init__(self):
        self.jobs, self.asked = Jobs(1), []

    def submit(self, do, urgent=False, ahead=False, put_off=False, **fields):
        self.asked.append({"id": len(self.asked) + 1, "do": do, "urgent": urgent, **fields})
        self.jobs.add(self.asked[-1], ahead, put_off)
        return len(self.asked)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.db", create=True) as opened:
        yield opened


@pytest.fixture
def opened(store):
    return new(store, store.begin("torch", "0", {}))


def new(store, number):
    triage = Triage(Launch("torch"), 1.0, store, number, Queue(), lambda finding: None)
    triage.take_up(store.suspicions(number))
    return triage


def suspicion(modes, kind="gradient", rule="SinBackward0"):
    verdict = Verdict("disagree", "gradient", kind, len(modes), [Scenario(modes)], "differs")
    return Suspicion("torch.sin", PROGRAM, (), Options(len(modes)), verdict, rule)


FIRST, SECOND, OTHER = suspicion(("r",)), suspicion(("r", "r")), suspicion(("f",))


def answer(triage, key, **data):
    """A worker did not see it again."""
    job = next(number for number, case in triage._confirming.items() if case.key == key)
    triage.handle(Event("done", {"id": job}, {"confirmed": None, **data}))


def _confirming(triage):
    return [job for job in triage.pool.jobs.put_off if job["do"] == "confirm"]


def settled(triage):
    return list(triage.store.known_keys(triage.campaign))


def test_a_higher_order_of_a_known_cause_is_put_off_and_settled_after_all_others(opened):
    for suspected in (FIRST, SECOND, OTHER):
        opened.suspect(suspected)
    assert [case.put_off for case in opened.pending.values()] == [False, True, False] and opened.put_off == 1
    assert [opened.pool.jobs.next(0)["id"] for _ in range(3)] == [1, 3, 2]
    answer(opened, SECOND.key)
    answer(opened, FIRST.key)
    assert settled(opened) == [FIRST.key]
    opened.finish()
    assert settled(opened) == [FIRST.key]  # one that was not put off is still being looked into
    answer(opened, OTHER.key)
    assert settled(opened) == [FIRST.key, OTHER.key, SECOND.key] and not opened.waiting


def test_a_lower_order_than_the_known_one_is_not_put_off(opened):
    for suspected in (SECOND, FIRST):
        opened.suspect(suspected)
    assert opened.put_off == 0


def test_it_is_put_off_again_when_a_campaign_goes_on_whether_the_first_was_settled_or_not(opened, store):
    for suspected in (FIRST, SECOND):
        opened.suspect(suspected)
    assert [case.put_off for case in new(store, opened.campaign).pending.values()] == [False, True]
    answer(opened, FIRST.key)
    assert [case.put_off for case in new(store, opened.campaign).pending.values()] == [True]


def test_what_another_case_turns_out_to_be_is_not_looked_into_any_more(opened):
    for suspected in (FIRST, SECOND):
        opened.suspect(suspected)
    case = opened.pending[FIRST.key]
    opened._settle(case, opened._finding("torch.sin", _seen(SECOND), confirmed=True))
    assert not opened.waiting and not _confirming(opened) and store_times(opened) == {SECOND.key: 2}


def _seen(suspected):
    return Confirmed(suspected.mutant, suspected.edits, suspected.verdict, suspected.rule)


def store_times(triage):
    return dict(triage.store.db.execute("select key, times from findings").fetchall())


def test_a_finding_is_one_before_it_is_polished_and_is_polished_after_all_others(opened):
    for suspected in (FIRST, OTHER):
        opened.suspect(suspected)
    opened._settle(opened.pending[FIRST.key], opened._finding("torch.sin", _seen(FIRST), confirmed=True))
    (found,) = opened.store.findings(opened.campaign)
    assert found.confirmed and found.short is None and opened.unpolished == 1 and opened.unfinished
    order = [opened.pool.jobs.next(0)["do"] for _ in range(3)]
    assert order == ["confirm", "confirm", "pinpoint"]
    opened.store.refine(opened.campaign, replace(found, empty=True))
    (refined,) = opened.store.findings(opened.campaign)
    assert refined.empty and refined.times == found.times
    assert new(opened.store, opened.campaign).unpolished == 1  # what an earlier run did not get round to


def test_it_is_shrunk_for_a_short_while_only(store):
    triage = Triage(Launch("torch"), 4.0, store, store.begin("torch", "0", {}), Queue(), lambda finding: None)
    for met in (FIRST, SECOND, OTHER):
        triage.suspect(met)
    assert [job["seconds"] for job in triage.pool.asked] == [4.0, PUT_OFF_SECONDS, 4.0]


INTERNAL = replace(FIRST, api="torch.ops.aten.sin.default")


def named(triage):
    return [(finding.api, finding.times) for finding in triage.store.findings(triage.campaign)]


def test_what_stands_under_an_internal_name_gives_way_to_the_same_under_a_public_one(opened):
    for suspected in (INTERNAL, FIRST, FIRST):
        opened.suspect(suspected)
    internal, public = opened.pending.values()
    assert not internal.put_off and public.put_off and opened.pool.asked[1]["seconds"] == opened.shrink_seconds
    opened._ready(public, opened._finding(FIRST.api, _seen(FIRST), confirmed=True))
    assert not named(opened)  # which of the two was faster changes nothing
    opened._ready(internal, opened._finding(INTERNAL.api, _seen(INTERNAL), confirmed=True))
    (before,) = opened.store.findings(opened.campaign)
    assert before.api == INTERNAL.api
    opened.finish()
    assert named(opened) == [(FIRST.api, 3)] and not opened.waiting
    opened.suspect(FIRST)
    assert named(opened) == [(FIRST.api, 4)] and not opened.waiting


def test_what_is_not_seen_under_the_public_name_stays_what_it_is(opened, store):
    for suspected in (INTERNAL, FIRST):
        opened.suspect(suspected)
    internal, public = opened.pending.values()
    opened._ready(internal, opened._finding(INTERNAL.api, _seen(INTERNAL), confirmed=True))
    resumed = new(store, opened.campaign)
    (waiting,) = resumed.pending.values()
    assert waiting.put_off and waiting.report.api == FIRST.api  # a campaign that goes on still owes it a look
    opened._ready(public, opened._finding(FIRST.api, _seen(FIRST), confirmed=False))
    opened.finish()
    assert named(opened) == [(INTERNAL.api, 2)] and settled(opened) == [FIRST.key]


def test_an_internal_name_after_a_public_one_is_the_same_met_again(opened):
    for suspected in (FIRST, INTERNAL):
        opened.suspect(suspected)
    assert list(opened.pending) == [FIRST.key]


OWN = replace(FIRST, api="torch.acosh", rule="AcoshBackward0")
ALIAS, OTHER_FUNCTION = replace(OWN, api="torch.Tensor.arccosh"), replace(OWN, api="torch.distance")


def test_what_stands_under_an_alias_gives_way_to_the_function_whose_rule_is_at_fault(opened):
    for suspected in (ALIAS, OWN, ALIAS):
        opened.suspect(suspected)
    alias, own = opened.pending.values()
    assert own.put_off and own.report.api == OWN.api
    for case in (alias, own):
        opened._ready(case, opened._finding(case.report.api, _seen(case.report), confirmed=True))
    assert named(opened) == [(ALIAS.api, 2)]
    opened.finish()
    assert named(opened) == [(OWN.api, 3)] and not opened.waiting


@pytest.mark.parametrize(("first", "second"), [
    (OWN, ALIAS), (OWN, replace(OWN, api="torch.ops.aten.acosh")), (OWN, replace(OWN, api="torch.Tensor.acosh_")), (OTHER_FUNCTION, OWN),
    (ALIAS, OTHER_FUNCTION),
], ids=["alias", "internal", "in place", "of another function", "by another function"])  # fmt: skip
def test_no_better_name_is_the_same_met_again(opened, first, second):
    """What calls the function at fault and is another one is known by its own name."""
    for suspected in (first, second):
        opened.suspect(suspected)
    assert list(opened.pending) == [first.key]


def test_where_no_rule_is_at_fault_one_public_name_is_as_good_as_another(opened):
    unruled = replace(FIRST, rule="", verdict=replace(FIRST.verdict, subject="an assertion"))
    for suspected in (replace(unruled, api="torch.nn.Sine"), unruled):
        opened.suspect(suspected)
    assert list(opened.pending) == [unruled.key]


@pytest.mark.parametrize(("target", "rule", "own", "forms", "others"), [
    ("torch", "LinalgHouseholderProductBackward0", "torch.linalg.householder_product", ["torch.Tensor.orgqr"], ["torch.ormqr"]),
    ("torch", "NativeBatchNormBackward0", "torch.nn.functional.batch_norm", ["torch.nn.BatchNorm1d"], ["torch.nn.InstanceNorm1d"]),
    ("torch", "LinalgSolveExBackward0", "torch.linalg.solve", ["torch.linalg.solve_ex"], ["torch.linalg.tensorsolve"]),
    ("torch", "LinalgVectorNormBackward0", "torch.linalg.vector_norm", [], ["torch.linalg.norm"]),
    ("torch", "SigmoidBackward0", "torch.nn.Sigmoid", [], ["torch.nn.functional.silu"]),
    ("tensorflow", "Tanh", "tf.math.tanh", [], ["tf.keras.layers.Activation"]),
    ("jax", "cumprod", "jax.lax.cumprod", [], ["jax.numpy.prod"]),
])  # fmt: skip
def test_a_rule_is_by_its_name_that_of_one_function(target, rule, own, forms, others):
    home = home_of(target)
    assert home.names_rule(own, rule) and not any(home.names_rule(other, rule) for other in (*forms, *others))
    assert all(home.is_form_of(form, rule) for form in (own, *forms)) and not any(home.is_form_of(other, rule) for other in others)


def test_what_waits_to_be_settled_is_owed_its_short_script(opened):
    for suspected in (FIRST, SECOND):
        opened.suspect(suspected)
    opened.done, opened._found = 10, 5  # two seconds each, and one more for polishing
    opened.writing._spent.update(polish=3.0, picture=2.0)
    opened.writing._done.update(polish=5, picture=5)
    assert opened.owed(25.0) == pytest.approx(2 * (2.0 + 0.5 * 1.0))
    opened._ready(opened.pending[SECOND.key], opened._finding("torch.sin", _seen(SECOND), confirmed=True))
    assert opened.undone == 1 and opened.waiting == 2 and not opened.unpolished  # the put-off one is settled at the end
    assert opened.owed(25.0 + 2.0) == pytest.approx(2.0 + 6 / 11 + 1.0)
    opened.done = 4
    assert opened.owed(25.0) == 0.0  # nobody knows yet


def test_what_polishing_takes_is_counted_apart(opened):
    opened.suspect(FIRST)
    opened._settle(opened.pending[FIRST.key], opened._finding("torch.sin", _seen(FIRST), confirmed=True))
    while opened.unfinished:
        opened.handle(Event("done", opened.pool.asked[-1], {"spent": 0.5}))
    assert [job["do"] for job in opened.pool.asked] == ["confirm", "pinpoint", "landscape"]
    assert opened.writing.spent == 1.0


@pytest.mark.parametrize("measured", [None, {"entries": []}])
def test_what_ad_gives_is_not_measured_again_where_whoever_confirmed_it_has_told(opened, measured, monkeypatch):
    questions = []
    monkeypatch.setattr(opened.inquiries.desk, "ask", lambda number, question, urgent: questions.append(question["measured"]))
    opened.suspect(FIRST)
    told = {} if measured is None else {"measured": measured}
    opened.handle(Event("done", {"id": 1}, {"confirmed": _seen(FIRST).to_json(), **told}))
    assert questions == [measured][: len(told)]
    assert [job["do"] for job in opened.pool.asked] == ["confirm", "measure"][: 2 - len(told)]
