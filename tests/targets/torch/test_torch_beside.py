"""What stands beside F changes nothing of its derivative, and what does is noticed and shown."""

import pytest
import torch

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.torch.ways import DERIVATIVES, FUNCTIONS
from tests.targets.torch.in_ways import program, ran, shown, status

of_2_13 = pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
PAIR = 'x = tensor((2, 2), "float64", uniform(0.5, 1.5, seed=1))\nw = tensor((2, 2), "float64", uniform(0.5, 1.5, seed=2))\n'
UNFOLD = 'x = tensor((3, 6), "float64", uniform(0.5, 1.5, seed=1))\ny = x.unfold(1, 1, {})\n'


@pytest.mark.parametrize("way", ["weights", "compiled-gradient", "summed-inductor", "parted-inductor"])
def test_a_healthy_function_agrees(target, way):
    if way == "parted-inductor" and torch.__version__.startswith("2.13."):
        pytest.skip("this release is not healthy there")
    seen = examine(target, program(target, "torch.cumprod(x, 1)"), Options(2, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


def test_a_sum_that_rounds_otherwise_is_no_other_output(target):
    """The number that stands beside larger ones has fewer digits than their sum loses."""
    text = 'x = tensor((5, 3, 5), "float64", planted(uniform(-8.6, 8.8, seed=1), -3e-06, 1))\ny = torch.flip(x, dims=(0, 1, 2))\n'
    seen = examine(target, parse(text, target.language), Options(1, ways=("summed-inductor",)))
    assert seen.outcome == "agree" and ran(seen, "summed-inductor"), [v.reason for v in seen.findings]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("call", ["torch.transpose(x, 0, 1)", "torch.diagonal(x)", "x.unfold(1, 3, 3)", "torch.conj(x)"])
def test_a_view_that_is_written_to_changes_what_it_is_a_view_of(target, call, dtype):
    for way in ("written", "written-functionalized"):
        seen = examine(target, program(target, call, dtype), Options(1, ways=(way,)))
        assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("call", [
    "torch.sin(x)", "x.expand(2, 2, 3)", "x.unfold(1, 2, 1)", "torch.chunk(x, 2)", "torch.unsafe_chunk(x, 2)", "torch.sum(x)",
])  # fmt: skip
def test_what_is_no_view_or_may_not_be_written_to_is_left_alone(target, call):
    for way in ("written", "written-functionalized", "compiled-written"):
        seen = examine(target, program(target, call), Options(1, ways=(way,)))
        assert not seen.findings and not ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("name, healthy, way, scenario", [
    ("weighted", "healthy", "weights", "reverse"),
    ("turned", "turned_rightly", "written", "reverse"),
    ("compiled", "healthy", "summed-inductor", "reverse"),
    ("compiled", "healthy", "compiled-gradient", "reverse-over-reverse"),
])  # fmt: skip
def test_what_is_planted_there_is_noticed(target, name, healthy, way, scenario, tmp_path):
    shown(target, f"planted_ways.{name}(x)", way, f"{way} {scenario}", tmp_path, f"planted_ways.{healthy}(x)")


@of_2_13
@pytest.mark.parametrize("way", ["written-functionalized", "compiled-written"])
def test_a_view_with_gaps_that_is_written_to_loses_what_lies_between(target, way, tmp_path):
    made = parse(UNFOLD.format(5), target.language)
    found = examine(target, made, Options(1, ways=(way,))).findings
    assert [(v.kind, v.names) for v in found] == [("way", [f"{way} reverse"])] and found[0].reason.endswith("and so do its outputs")
    for verdict in found:
        written = script(Finding("torch", target.version, "torch.Tensor.unfold", verdict, made, True))
        assert status(written, tmp_path) == 1 and len(written.strip().splitlines()) <= 25
        assert status(written.replace("unfold(1, 1, 5)", "unfold(1, 1, 1)"), tmp_path) == 0


@of_2_13
def test_generated_code_loses_gradients_of_parts(target, tmp_path):
    shown(target, "torch.sin(x)", "parted-inductor", "parted-inductor reverse", tmp_path, "")


@of_2_13
@pytest.mark.parametrize("call, wrong", [("torch.matmul(x, w)", True), ("torch.add(x, w)", False)])
def test_generated_code_does_not_say_that_what_it_needs_was_overwritten(target, call, wrong, tmp_path):
    made = parse(PAIR + f"y = {call}\n", target.language)
    found = examine(target, made, Options(1, ways=("overwritten-inductor",))).findings
    assert [v.names for v in found] == [["overwritten-inductor reverse"]] * wrong
    for verdict in found:
        assert status(script(Finding("torch", target.version, "torch.matmul", verdict, made, True)), tmp_path) == 1


def test_every_way_is_described(target):
    assert set(target.ways) == {*DERIVATIVES, *FUNCTIONS}
    assert all(way.about for way in target.ways.values())
