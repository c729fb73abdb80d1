"""What becomes of outputs in a compiled function, and where weights lie, changes no derivative; what does is noticed and shown."""

import pytest
import torch

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from tests.targets.torch.in_ways import program, ran, shown, status

of_2_13 = pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
HEALTHY = ("compiled-outputs", "compiled-unrecorded", "compiled-given-back", "compiled-compared", "compiled-weights", "rows-last")


@pytest.mark.parametrize("way", HEALTHY)
@pytest.mark.parametrize("call", ["torch.cumprod(x, 1)", "torch.unbind(x, 1)", "torch.sum(x)"])
def test_a_healthy_function_agrees(target, way, call):
    seen = examine(target, program(target, call), Options(1, ways=(way,)))
    alone = way == "compiled-weights" and call == "torch.sum(x)"  # one weight lies in memory in one way only
    assert not seen.findings and bool(ran(seen, way)) != alone, [v.reason for v in seen.findings]


@pytest.mark.parametrize("name, way", [
    ("compiled", "compiled-outputs"), ("compiled", "compiled-compared"), ("compiled", "compiled-given-back"),
    ("compiled", "compiled-weights"), ("rows", "rows-last"),
])  # fmt: skip
def test_what_is_planted_there_is_noticed(target, name, way, tmp_path):
    shown(target, f"planted_ways.{name}(x)", way, f"{way} reverse", tmp_path, "planted_ways.healthy(x)")


def test_what_is_planted_in_generated_code_is_noticed(target, tmp_path):
    shown(target, "planted_ways.compiled(x)", "weights-inductor", "weights-inductor reverse", tmp_path, "planted_ways.healthy(x)")


@of_2_13
@pytest.mark.parametrize("way", ["compiled-one-by-one", "rows-inductor"])
def test_a_backward_pass_that_what_is_compiled_has_not_raises(target, way, tmp_path):
    made = program(target, "torch.sin(x)")
    found = examine(target, made, Options(1, ways=(way,))).findings
    assert [v.names for v in found] == [[f"{way} reverse"]] and found[0].subject == "any"
    written = script(Finding("torch", target.version, "torch.compile", found[0], made, True))
    assert status(written, tmp_path) == 1 and len(written.strip().splitlines()) <= 25


@of_2_13
def test_generated_code_loses_what_is_greatest_where_it_computes_it_again(target, tmp_path):
    """In single precision two pieces of its code round an angle otherwise; a hyperbolic tangent it keeps."""
    pair = 'x = tensor((2, 3), "float32", normal(seed=1))\na = tensor((2, 3), "float32", normal(seed=2))\ny = {}\n'
    made = parse(pair.format("torch.atan2(x, a)"), target.language)
    found = examine(target, made, Options(1, ways=("extremes-inductor",))).findings
    assert [v.names for v in found] == [["extremes-inductor reverse"]]
    written = script(Finding("torch", target.version, "torch.atan2", found[0], made, True))
    assert status(written, tmp_path) == 1 and len(written.strip().splitlines()) <= 25
    healthy = examine(target, parse(pair.format("torch.mul(x, a)"), target.language), Options(1, ways=("extremes-inductor",)))
    assert healthy.outcome == "agree" and ran(healthy, "extremes-inductor"), [v.reason for v in healthy.findings]
