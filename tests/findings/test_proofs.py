"""Findings with a proof: what the reference says decides, and the exact value is what people get to see."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.issue import issue_text
from gradfuzz.findings.proof import PROVEN, Proof, kind_of, proof_from
from gradfuzz.findings.script import script
from gradfuzz.findings.triage import Case, Triage
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import parse
from gradfuzz.store import Store
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.targets.homes import language_for

SINES = {"torch": "torch.sin(x)", "jax": "jax.numpy.sin(x)", "tensorflow": "tf.sin(x)"}
# sin and its derivatives at 0.75, the second element
EXACT = {1: "0.73168886887382088631", 2: "-0.68163876002333416673"}


def proof(order, exact, got):
    spots = ((0, 1, 0), ((0, 1, 0),) * order)
    return Proof(
        PROVEN, "y[1]", ("x[1]",) * order, exact, f"[{exact} +/- 1e-25]", {"reverse": got}, ("reverse",), 9.0, 1.0, True, False, spots, 1
    )


def finding(target, order, exact):
    program = parse(f'x = tensor((2,), "float64", listed([0.5, 0.75]))\ny = {SINES[target]}\n', language_for(target))
    verdict = Verdict("disagree", "gradient", "gradient", order, [Scenario(("r",) * order)], "differs", float(exact), 0.1, 1e-9, {})
    return Finding(target, "0", program.api, verdict, program, True, proof=proof(order, exact, 0.1))


@pytest.mark.parametrize("target", SINES)
@pytest.mark.parametrize("order", EXACT)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.5, 1)])
def test_a_script_holds_ad_against_the_exact_value(target, order, factor, status):
    exact = EXACT[order] if factor == 1.0 else f"{float(EXACT[order]) * factor:.19e}"
    source = script(finding(target, order, exact))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == status and exact in done.stdout, done.stdout + done.stderr


def test_a_finding_keeps_its_proof_and_tells_it():
    whole = finding("torch", 1, EXACT[1])
    again = Finding.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.proof == whole.proof and again.proven and EXACT[1] in issue_text(again)
    assert again.public()["proven"] is True and "d y[1] / d x[1]" in again.proof.told


def test_a_proof_that_is_none_is_no_code():
    """A store may be anybody's: the exact value becomes part of a script only if it is a number, places only if they are whole."""
    evil = replace(proof(1, "1.0", 0.1), exact="__import__('os').system('true')")
    assert evil.number == "0.0"
    source = script(replace(finding("torch", 1, "1.0"), proof=replace(evil, enclosure='"""\nimport os\n')))
    assert "system" not in source and "\nimport os\n" not in source
    data = {**proof(1, "1.0", 0.1).to_json(), "spots": [["a", 1, 0], []]}
    with pytest.raises(Exception, match="a proof that is none"):
        Proof.from_json(data)


@pytest.mark.parametrize(
    "got, correct, kind", [(0.0, 0.0, "tail"), (float("nan"), 0.0, "nonfinite"), (0.7, 1.5, "accuracy"), (2.0, 0.0, "gradient")]
)
def test_what_kind_of_finding_a_proof_is(got, correct, kind):
    assert kind_of(replace(proof(1, EXACT[1], got), correct=correct)) == kind


def test_an_answer_that_leaves_anything_open_settles_nothing():
    right = {"verdict": "right", "reason": "", "correct": 16.0, "digits": 16.0}
    open_ = {**right, "verdict": "unknown", "reason": "a kink"}
    assert proof_from({"entries": [right, right], "whole": True}).verdict == "refuted"
    assert proof_from({"entries": [right], "whole": False}).verdict == "silent"
    assert proof_from({"entries": [right, open_], "whole": True}).reason == "a kink"
    assert proof_from({"silent": "another function"}).reason == "another function"


@pytest.fixture(scope="module")
def pool():
    with Pool(Launch("torch", sys.executable), 1) as opened:
        yield opened


@pytest.fixture
def triage(pool, tmp_path):
    with_store = Store(tmp_path / "store.db", create=True)
    number = with_store.begin("torch", pool.version, {})
    found = []
    opened = Triage(pool.launch, 1.0, with_store, number, pool, found.append)
    opened.told = found
    yield opened
    opened.close()
    with_store.close()


def suspect(triage, text, kind="gradient"):
    """A finding that a worker has confirmed, on its way to the reference."""
    program = parse(text, language_for("torch"))
    verdict = Verdict("disagree", "gradient", kind, 1, [REVERSE], "differs", 1.0, 2.0, 1e-9, {"element": "x[]"})
    report = Suspicion(program.api, program, (), Options(1), verdict)
    case = triage.pending[report.key] = Case(report.key, report)
    triage.store.suspect(triage.campaign, report.key, report)
    triage._ask(case, Finding("torch", triage.pool.version, program.api, verdict, program, True), None)
    while triage.pending:
        for event in triage.pool.poll():
            triage.handle(event)
        triage.collect()
    return case.finding


def test_a_suspicion_is_refuted_where_ad_is_proven_right(triage):
    """fmod at 1.11e15: differences cross its jumps, AD is right."""
    ended = suspect(triage, 'x = tensor((), "float64", full(1.11e15))\ny = torch.fmod(x, -3.5)\n')
    assert ended.refuted and not ended.confirmed and triage.asked == {"refuted": 1} and not triage.told
    (kept,) = triage.store.findings(triage.campaign, unconfirmed=True)
    assert kept.refuted and "proven right" in kept.proof.told


def test_and_proven_with_a_script_of_its_own_where_ad_is_wrong(triage):
    ended = suspect(triage, 'x = tensor((), "float64", full(40.0))\ny = torch.sigmoid(x)\n')
    assert ended.proven and ended.confirmed and ended.proof.exact.startswith("4.24835425529158")
    assert "4.24835425529158" in ended.script and "<-- wrong" in ended.script_output and len(triage.told) == 1


def test_where_the_reference_is_silent_the_script_decides_as_before(triage):
    ended = suspect(triage, 'x = tensor((), "float64", full(2.0))\ny = torch.special.bessel_y0(torch.frexp(x)[0])\n')
    assert triage.asked == {"silent": 1} and not ended.proven and ended.proof.reason


TAIL = """x = tensor((2, 3), "float64", listed([40.5, -0.25, 0.5, 1.0, 2.0, 0.75]))
a = tensor((2, 3), "float64", normal(seed=2), grad=False)
y = torch.sigmoid(x)
z = torch.mul(y, 2.0)
"""


def question(text):
    program = parse(text, language_for("torch"))
    return Suspicion("torch.sigmoid", program, (), Options(1), Verdict("inconclusive", "reference", scenarios=[REVERSE]))


def ended(triage):
    while triage.pending or triage.inquiries.waiting:
        for event in triage.pool.poll():
            triage.handle(event)
        triage.collect()


def test_a_question_that_was_not_answered_is_asked_again_on_resume_and_what_it_finds_is_shrunk(triage):
    asked = question(TAIL)
    triage.store.wonder(triage.campaign, asked)
    triage.take_up([])
    ended(triage)
    (found,) = triage.told
    assert found.kind == "tail" and found.proven and found.verdict.scenarios == [REVERSE]
    assert [r.elements for r in found.program.inputs.values()] == [1] and len(list(found.program.calls())) == 1
    assert triage.store.questions(triage.campaign) == {} and triage.wondered == {"proven": 1}


def test_a_question_that_finds_nothing_leaves_nothing(triage):
    triage.store.wonder(triage.campaign, question('x = tensor((2,), "float64", listed([0.5, 40.5]))\ny = torch.tanh(x / 80)\n'))
    triage.take_up([])
    ended(triage)
    assert not triage.told and triage.store.questions(triage.campaign) == {} and sum(triage.wondered.values()) == 1


IDENTITIES = """x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))
y = planted_torch.wrong_identity(x)

x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))
y = torch.clone(x)
"""


def test_a_campaign_proves_a_planted_bug_and_leaves_its_healthy_twin_alone(tmp_path):
    from tests.conftest import PLANTED

    (tmp_path / "planted_torch.py").write_text((PLANTED / "planted_torch.py").read_text())
    (tmp_path / "seeds.py").write_text(IDENTITIES)
    run = ("run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", 1, "--workers", 1, "--mutants", 12)
    done = subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, run)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "reference: 1 proven" in " ".join(done.stdout.split()), done.stdout + done.stderr
    listed = subprocess.run([sys.executable, "-m", "gradfuzz", "findings", "--json"], cwd=tmp_path, capture_output=True, text=True)
    (found,) = json.loads(listed.stdout)
    assert found["proven"] and found["api"] == "planted_torch.wrong_identity" and found["proof"]["exact"] == "1.0000000000000000000"


def test_a_tail_that_nothing_else_sees_is_found_by_asking(tmp_path):
    """Reverse and forward agree with each other and with every difference quotient: the derivative is far below their rounding.

    It is known, so nothing is new."""
    (tmp_path / "seeds.py").write_text('x = tensor((), "float64", full(40.0))\ny = torch.sigmoid(x)\n')
    run = ("run", "torch", "--seeds", "seeds.py", "--order", 1, "--workers", 1, "--mutants", 1)
    done = subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, run)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run([sys.executable, "-m", "gradfuzz", "findings", "--json"], cwd=tmp_path, capture_output=True, text=True)
    (found,) = json.loads(listed.stdout)
    assert found["kind"] == "tail" and found["proven"] and found["confirmed"] and found["proof"]["lost"] > 10
