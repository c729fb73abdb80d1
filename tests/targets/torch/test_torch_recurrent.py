"""Recurrences, rules of other kinds, and what else stands around what is compiled: healthy functions agree, what is planted is noticed."""

import os
import subprocess
import sys

import pytest
import torch

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.oracles.ways import blamed
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.targets.torch import own_rule, rule_kinds
from tests.conftest import PLANTED
from tests.targets.broken_ways import BROKEN
from tests.targets.torch.in_ways import program, ran, status

AROUND = (
    "compiled-recurrent", "compiled-associated", "compiled-turned", "compiled-cut-off", "compiled-checkpointed", "compiled-rerun",
    "compiled-packed", "compiled-thawed", "compiled-region",
)  # fmt: skip
# Each script takes ten seconds, in which most import the compiler: one that compiles a loop and one that compiles no more than F.
QUICK = ("compiled-recurrent", "compiled-cut-off")
# What 2.13.0 says that it cannot compile.
NOT_COMPILED = ("rule-shared-aot_eager", "rule-shared-decomposed")
DETOURS = ("detour-padded", "detour-joined", "detour-csr", "detour-csc", "detour-bsr")
KINDS = [f"rule-{kind}{more}" for kind in rule_kinds.KINDS for more in ("", "-aot_eager", "-decomposed")]
HOOKS = ["hook-behind-aot_eager", "hook-behind-decomposed"]
REVERSE_ALONE = frozenset([REVERSE])


def proven(text, folder):
    """The statuses of a script and of its healthy twin."""
    found = []
    for called in ("compiled", "healthy"):
        (folder / "script.py").write_text(text.replace("planted_ways.compiled(", f"planted_ways.{called}("))
        environment = {**os.environ, "PYTHONPATH": str(PLANTED)}
        done = subprocess.run([sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode or "BUG" not in done.stdout, done.stdout + done.stderr
        found.append((done.returncode, done.stderr[-300:] if "Traceback" in done.stderr else ""))
    return found


@pytest.mark.parametrize("way", [*AROUND, *DETOURS, "batched-jacobian", "anomaly", "compiled-backward", *KINDS, *HOOKS])
@pytest.mark.parametrize("call", ["torch.sin(x)", "torch.logsumexp(x, 1)"])
def test_a_healthy_function_agrees(target, way, call):
    if way in BROKEN["torch"] and torch.__version__.startswith("2.13."):
        pytest.skip("this release is not healthy there")
    seen = examine(target, program(target, call), Options(2, ways=(way,)))
    assert seen.outcome == "agree" and (ran(seen, way) or way in NOT_COMPILED), [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", [way if way in QUICK else pytest.param(way, marks=pytest.mark.slow) for way in AROUND])
def test_what_a_compiler_drops_is_noticed_and_proven(target, way, tmp_path):
    made = program(target, "planted_ways.compiled(x)")
    found = [v for v in examine(target, made, Options(1, REVERSE_ALONE, ways=(way,))).findings if v.kind == "way"]
    assert [v.names for v in found] == [[f"{way} reverse"]]
    assert blamed("torch", found[0]) == target.ways[way].blames
    text = script(Finding("torch", target.version, "planted", found[0], made, True, modules=("planted_ways",)))
    broken = way in BROKEN["torch"] and torch.__version__.startswith("2.13.")
    assert proven(text, tmp_path) == [(1, ""), (int(broken), "")], text


@pytest.mark.parametrize("way", [way for way in KINDS if way not in NOT_COMPILED])
def test_a_rule_of_another_kind_that_is_dropped_is_noticed(target, way, monkeypatch):
    monkeypatch.setattr(own_rule, "_ruled", lambda rule, outputs: list(outputs))  # as if the library differentiated through the rule
    found = examine(target, program(target, "torch.exp(x)"), Options(1, REVERSE_ALONE, ways=(way,))).findings
    assert found and {v.kind for v in found} == {"way"}


@pytest.mark.parametrize("kind", rule_kinds.KINDS)
def test_the_script_of_a_rule_of_another_kind_says_what_the_rule_says(target, kind, tmp_path):
    """It passes where three is three, and does not where the rule says two: on the tape the number is known beforehand."""
    verdict = Verdict("disagree", "way", "way", 1, [Scenario(("r",), f"rule-{kind}")])
    text = script(Finding("torch", target.version, "torch.autograd.Function", verdict, program(target, "torch.exp(x)"), True))
    wrong = text.replace("(2.0 * g, g)", "(g, g)").replace("3.0 * g", "2.0 * g").replace("x, 3.0, torch", "x, 2.0, torch")
    assert (status(text, tmp_path), status(wrong, tmp_path)) == (0, 1), text


@pytest.mark.parametrize("way", HOOKS)
def test_a_hook_in_the_middle_that_is_dropped_is_noticed(target, way, monkeypatch):
    monkeypatch.setattr(own_rule, "_hooked", lambda tensors: None)
    found = examine(target, program(target, "torch.exp(x)"), Options(1, REVERSE_ALONE, ways=(way,))).findings
    assert found and {v.kind for v in found} == {"way"}


def test_rows_that_are_wrong_in_a_batch_are_noticed(target):
    found = examine(target, program(target, "planted_ways.rows(x)"), Options(1, REVERSE_ALONE, ways=("batched-jacobian",))).findings
    assert [v.names for v in found] == [["batched-jacobian reverse"]]


def test_an_output_that_is_an_input_has_its_gradient_where_nothing_is_recorded(target):
    seen = examine(target, program(target, "torch.Tensor.double(x)"), Options(1, ways=("compiled-cut-off",)))
    assert seen.outcome == "agree" and ran(seen, "compiled-cut-off"), [v.reason for v in seen.findings]
