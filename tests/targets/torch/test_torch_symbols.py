"""Numbers and sizes that a compiler does not know change no derivative, and what does is noticed and shown."""

import pytest
import torch

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import REVERSE
from tests.targets.torch.in_ways import X, program, ran, shown, status

of_2_13 = pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
WAYS = ("symbolic", "symbolic-functional", "compiled-symbolic", "compiled-recounted", "compiled-outside-symbolic")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", ["torch.narrow(x, 1, 0, 2) * 3.5", "torch.sum(torch.roll(x, 2, 1), 1)"])
def test_a_healthy_function_of_numbers_agrees(target, way, call):
    seen = examine(target, program(target, call), Options(1, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", ["symbolic", "compiled-symbolic", "compiled-recounted"])
def test_a_formula_that_is_another_one_for_a_number_that_is_unknown_is_noticed(target, way, tmp_path):
    call = "planted_ways.power(x, 3)"
    made = program(target, call)
    found = examine(target, made, Options(1, frozenset({REVERSE}), ways=(way,))).findings
    assert [v.names for v in found] == [[f"{way} reverse"]], [v.reason for v in found]
    written = script(Finding("torch", target.version, "planted_ways.power", found[0], made, True, modules=("planted_ways",)))
    assert status(written, tmp_path) == 1 and len(written.strip().splitlines()) <= 27
    assert status(written.replace("planted_ways.power(", "planted_ways.power_rightly("), tmp_path) == 0


def test_a_formula_that_is_another_one_for_sizes_that_are_unknown_is_noticed(target):
    found = examine(
        target, program(target, "planted_ways.resized(x)"), Options(1, frozenset({REVERSE}), ways=("compiled-symbolic",))
    ).findings
    assert [v.names for v in found] == [["compiled-symbolic reverse"]]


def test_what_takes_no_other_number_is_not_called_with_one(target):
    seen = examine(target, program(target, "torch.sum(x, 1)"), Options(1, ways=("compiled-recounted",)))
    assert not seen.findings and not ran(seen, "compiled-recounted")


@of_2_13
def test_an_exponent_that_is_unknown_is_an_assertion(target, tmp_path):
    made = program(target, "torch.pow(x, 3)")
    found = examine(target, made, Options(1, ways=("symbolic",))).findings
    assert [v.kind for v in found] == ["internal"], [v.reason for v in found]
    written = script(Finding("torch", target.version, "torch.pow", found[0], made, True))
    assert status(written, tmp_path) == 1 and len(written.strip().splitlines()) <= 25
    assert status(written.replace("torch.pow(x, n0)", "x * n0"), tmp_path) == 0


def test_the_numbers_of_a_layer_are_its_own(target):
    made = parse(X.format(dtype="float64") + "m = torch.nn.Linear(3, 2)\ny = m(x) * 2\n", target.language)
    seen = examine(target, made, Options(1, ways=("compiled-symbolic",)))
    assert seen.outcome == "agree" and ran(seen, "compiled-symbolic"), [v.reason for v in seen.findings]


def test_generated_code_for_any_size_agrees_and_what_does_not_is_noticed(target, tmp_path):
    shown(target, "planted_ways.compiled(x)", "symbolic-inductor", "symbolic-inductor reverse", tmp_path, "planted_ways.healthy(x)")
