"""PyTorch's ways: healthy functions agree in all of them, a planted bug shows in its own, and its script proves it."""

import subprocess
import sys
from dataclasses import replace

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.program.model import Values
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.homes import load_target
from tests.conftest import PLANTED

X = 'x = tensor((2, 3), "{dtype}", uniform(0.5, 1.5, seed=1))\n'
CHEAP = (
    "functional", "batched", "batched-inside", "jacobian", "checkpointed", "channels-last", "strided", "deterministic", "traced",
)  # fmt: skip
# The bug's own function, the way it shows in, and the precision that the way needs.
PLANTED_IN = {
    "compiled": ("aot_eager", "float64"),
    "batched": ("batched", "float64"),
    "strided": ("strided", "float64"),
    "checkpointed": ("checkpointed", "float64"),
    "autocast": ("autocast", "float32"),
    "deterministic": ("deterministic", "float64"),
}


@pytest.fixture(scope="module")
def target():
    sys.path.insert(0, str(PLANTED))
    return load_target("torch", ("planted_ways",))


def program(target, call, dtype="float64"):
    return parse(X.format(dtype=dtype) + f"y = {call}\n", target.language)


def ran(seen, way):
    """The scenarios of a way that ran at all."""
    return [s for s, outcome in seen.trial._outcomes.items() if s.way == way and isinstance(outcome, Outcome)]


@pytest.mark.parametrize("way", CHEAP)
@pytest.mark.parametrize("call", ["torch.exp(x)", "torch.linalg.norm(x, dim=1)", "torch.matmul(x, x.mT)", "torch.cumprod(x, 1)"])
def test_healthy_operators_agree_in_every_way(target, way, call):
    seen = examine(target, program(target, call), Options(2, ways=(way,)))
    assert seen.outcome == "agree", [v.reason for v in seen.findings]
    assert {s.order for s in ran(seen, way)} >= {1}


@pytest.mark.parametrize("way", ["in-place", "foreach", "out"])
def test_another_form_of_an_operator_agrees(target, way):
    seen = examine(target, program(target, "torch.exp(x)"), Options(2, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way)


@pytest.mark.parametrize("way", ["sparse", "jagged"])
def test_another_layout_agrees_where_an_operator_takes_it_and_is_unsupported_where_not(target, way):
    taken = examine(target, program(target, "torch.mul(x, 2.0)"), Options(1, ways=(way,)))
    assert taken.outcome == "agree" and ran(taken, way)
    not_taken = examine(target, program(target, "torch.linalg.svdvals(x)"), Options(1, ways=(way,)))
    assert not not_taken.findings and not ran(not_taken, way)


@pytest.mark.parametrize("way", ["dynamo", "aot_eager", "decomposed", "compiled-outside", "compiled-batched"])
def test_compiled_derivatives_agree_and_one_compilation_serves_many_numbers(target, way):
    from torch._dynamo.utils import counters

    made = program(target, "torch.logsumexp(x, 1)")
    assert examine(target, made, Options(2, ways=(way,))).outcome == "agree"
    before = counters["stats"]["unique_graphs"]
    (name,) = made.inputs
    other = made.with_inputs({name: replace(made.inputs[name], values=Values("uniform", (2.0, 3.0), 7))})
    seen = examine(target, other, Options(2, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way)
    assert counters["stats"]["unique_graphs"] == before > 0


def test_mixed_precision_is_judged_by_its_own(target):
    seen = examine(target, program(target, "torch.matmul(x, x.mT)", "float32"), Options(1, ways=("autocast", "autocast-off")))
    assert seen.outcome == "agree" and ran(seen, "autocast") and ran(seen, "autocast-off")


def test_checkpointing_draws_the_same_numbers_again(target):
    seen = examine(target, program(target, "planted_ways.draws(x)"), Options(2, ways=("checkpointed",)))
    assert seen.outcome == "agree" and ran(seen, "checkpointed") and seen.trial.point.random


@pytest.mark.parametrize("name", PLANTED_IN)
def test_a_planted_bug_is_caught_and_its_healthy_twin_is_not(target, name):
    way, dtype = PLANTED_IN[name]
    found = examine(target, program(target, f"planted_ways.{name}(x)", dtype), Options(1, ways=(way,))).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way} and {v.kind for v in found} == {"way"}
    assert not examine(target, program(target, "planted_ways.healthy(x)", dtype), Options(1, ways=(way,))).findings


@pytest.mark.parametrize("name", ["compiled", "batched", "strided", "checkpointed"])
def test_a_finding_is_blamed_on_a_stage_and_its_short_script_shows_it(target, name, tmp_path):
    way = PLANTED_IN[name][0]
    options = Options(1, ways=(way,))
    made = program(target, f"planted_ways.{name}(x)")
    verdict = examine(target, made, options).findings[0]
    confirmed = confirm(target, Suspicion("planted_ways." + name, made, (), options, verdict, ""), 2.0)
    assert confirmed is not None
    if name == "compiled":
        assert confirmed.verdict.scenarios[0].way == "dynamo"  # the first stage that shows it
    finding = Finding(
        "torch", target.version, "planted_ways." + name, confirmed.verdict, confirmed.program, True, modules=("planted_ways",)
    )
    text = script(finding)
    assert len(text.strip().splitlines()) <= (28 if name == "batched" else 25), text
    (tmp_path / "script.py").write_text(text)
    environment = {"PYTHONPATH": str(PLANTED), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "BUG" in done.stdout, done.stdout + done.stderr
    (tmp_path / "script.py").write_text(text.replace(f"planted_ways.{name}(", "planted_ways.healthy("))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_runs_on_another_device_is_the_same_and_a_device_that_is_not_here_is_unsupported(target):
    made = program(target, "torch.exp(x)")
    seen = examine(target, made, Options(2, device="cpu"))
    assert seen.outcome == "agree" and [s for s in seen.trial._outcomes if s.device == "cpu" and s.order == 2]
    missing = examine(target, made, Options(2, device="xpu"))
    assert not missing.findings
