"""PyTorch's ways: healthy functions agree in all of them, and a planted bug shows in its own."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.oracles.ways import blamed
from gradfuzz.program import parse
from gradfuzz.program.model import Values
from gradfuzz.targets.base.scenario import REVERSE, Scenario, pure
from gradfuzz.targets.torch import again, inside, own_rule
from tests.conftest import PLANTED
from tests.targets.torch.in_ways import PLANTED_IN, X, only, program, ran, shown, status

CHEAP = (
    "functional", "batched", "batched-inside", "jacobian", "checkpointed", "channels-last", "strided", "deterministic", "traced",
    "decompositions",
)  # fmt: skip
STATE = ("twice", "overwritten", "overwritten-output", "aliased")
COMPILED_STATE = ("compiled-overwritten", "compiled-aliased", "compiled-resized", "compiled-hooked")
RULES = ("rule", "rule-checkpointed", "rule-functional", "rule-batched", "rule-batched-inside")
COMPILED_RULES = (
    "rule-aot_eager",
    "rule-decomposed",
    "hook-aot_eager",
    "hook-decomposed",
)


@pytest.mark.parametrize("way", (*CHEAP, *RULES, "aliased"))
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


def test_zeros_that_a_sparse_tensor_does_not_store_have_a_gradient_too(target):
    text = 'x = tensor((2, 2), "float64", listed([0.0, 0.7, 0.0, 1.3]))\ny = torch.log1p(x)\n'
    seen = examine(target, parse(text, target.language), Options(1, ways=("sparse",)))
    assert not seen.findings and ran(seen, "sparse"), [v.reason for v in seen.findings]


def test_what_reads_memory_is_another_function_of_another_layout(target):
    text = 'x = tensor((5,), "float64", full(1.0))\ny = torch.as_strided_copy(x, (2, 2), (1, 1))\n'
    assert not examine(target, parse(text, target.language), Options(1, ways=("channels-last", "strided"))).findings


def test_a_kernel_that_rounds_otherwise_is_held_against_what_rounding_does_inside(target):
    """A root of a thousandth power makes a thousand roundings of one; an output that is off by more is another one."""
    for number in (2.0, 0.7, 1.3):
        text = f'x = tensor((), "float64", listed([{number}]))\ny = planted_ways.{{}}(x)\n'
        programs = [parse(text.format(name), target.language) for name in ("root", "root_batched")]
        healthy, planted = (examine(target, program, Options(1, ways=("batched-inside",))) for program in programs)
        assert not healthy.findings and ran(healthy, "batched-inside"), [v.reason for v in healthy.findings]
        assert {f.kind for f in planted.findings} == {"value"}


@pytest.mark.parametrize("text", [
    'x = tensor((2, 2), "float64", listed([0.0, 8.5, 0.0, 8.4]), layout="transposed")\ny = torch.Tensor.sqrt_(x)\n',
    'x = tensor((4, 4), "complex128", integers(-3, 4, seed=7))\ny = torch.arcsinh(x)\n',
    'x = tensor((12,), "float64", normal(seed=1))\na = tensor((), "float64", full(0.0))\ny = torch.nn.functional.kl_div(x, a)\n',
])  # fmt: skip
def test_an_infinite_slope_does_not_make_its_neighbours_wrong(target, text):
    """Whichever element it is at, and however the input lies in memory."""
    seen = examine(target, parse(text, target.language), Options(1))
    assert not seen.findings, [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", ["functional", "batched", "batched-inside", "jacobian"])
def test_what_an_infinite_input_leaves_open_is_no_difference(target, way):
    """There the gradient is NaN in every way, and no direction moves it."""
    for dtype, call in (("complex128", "torch.arctanh(x)"), ("float64", "torch.remainder(1.0, x)")):
        text = f'x = tensor((2,), "{dtype}", planted(uniform(0.1, 0.9, seed=1), float("inf"), 4096))\ny = {call}\n'
        seen = examine(target, parse(text, target.language), Options(1, ways=(way,)))
        assert not seen.findings, [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", [
    "dynamo", "aot_eager", "decomposed", "compiled-outside", "compiled-batched", "compiled-jacobian", "compiled-aliased", "compiled-hooked",
    *COMPILED_RULES,
])  # fmt: skip
def test_compiled_derivatives_agree_and_one_compilation_serves_many_numbers(target, way):
    from torch._dynamo.utils import counters

    made = program(target, "torch.logsumexp(x, 1)")
    options = Options(2, frozenset({REVERSE, pure("r", 2)}) if way in COMPILED_RULES else None, ways=(way,))
    assert examine(target, made, options).outcome == "agree"
    before = counters["stats"]["unique_graphs"]
    (name,) = made.inputs
    other = made.with_inputs({name: replace(made.inputs[name], values=Values("uniform", (2.0, 3.0), 7))})
    seen = examine(target, other, options)
    assert seen.outcome == "agree" and ran(seen, way)
    assert counters["stats"]["unique_graphs"] == before > 0


def test_what_a_module_was_made_from_is_part_of_what_was_compiled(target):
    """Its samples are inside it: what was compiled with others is another function."""
    for seed in (2, 3):
        text = (
            'x = tensor((1, 2, 7, 7), "float64", uniform(0.5, 1.5, seed=1))\n'
            f's = tensor((1, 2, 2), "float64", uniform(0.0, 1.0, seed={seed}), grad=False)\n'
            "m = torch.nn.FractionalMaxPool2d(2, output_size=[3, 3], _random_samples=s)\ny = m(x)\n"
        )
        seen = examine(target, parse(text, target.language), Options(1, ways=("aot_eager",)))
        assert ran(seen, "aot_eager") and not seen.findings, [v.reason for v in seen.findings]


def test_mixed_precision_is_judged_by_its_own(target):
    seen = examine(target, program(target, "torch.matmul(x, x.mT)", "float32"), Options(1, ways=("autocast", "autocast-off")))
    assert seen.outcome == "agree" and ran(seen, "autocast") and ran(seen, "autocast-off")


@pytest.mark.parametrize("way, numbers, call", [
    ("rule", "[-6.2, -5.0]", "torch.corrcoef(x)"),
    ("decompositions", "[1e-156, 5.4e-156, 1e-80]", "torch.prod(x)"),
], ids=["there is no slope", "below the normal numbers"])  # fmt: skip
def test_roundings_of_what_cancels_or_vanishes_are_no_differences(target, way, numbers, call):
    count = numbers.count(",") + 1
    made = parse(f'x = tensor(({count},), "float64", listed({numbers}))\ny = {call}\n', target.language)
    seen = [examine(target, made, Options(1, ways=(way,), salt=salt)) for salt in range(8)]
    assert all(ran(s, way) for s in seen) and not any(s.findings for s in seen)


OF_SINGLES = {
    "a pole": ("(1, 1)", 2.0, "(1,)", "[1.0000000000000002]", "torch.orgqr(x, a)"),
    "overflow": ("(2,)", -3e19, "(2,)", "[2.0, 3.0]", "torch.cosine_similarity(x, a, 0)"),
}


@pytest.mark.parametrize("what", OF_SINGLES)
def test_what_single_precision_makes_of_the_inputs_is_not_the_ways_fault(target, what):
    shape, number, other, numbers, call = OF_SINGLES[what]
    fixed, moved = f'x = tensor({shape}, "float64", full({number}), grad=False)', f'a = tensor({other}, "float64", listed({numbers}))'
    seen = examine(target, parse(f"{fixed}\n{moved}\ny = {call}\n", target.language), Options(1, ways=("autocast-off",)))
    assert ran(seen, "autocast-off") and not any(s.way for v in seen.findings for s in v.scenarios)


def test_checkpointing_draws_the_same_numbers_again(target):
    seen = examine(target, program(target, "planted_ways.draws(x)"), Options(2, ways=("checkpointed",)))
    assert seen.outcome == "agree" and ran(seen, "checkpointed") and seen.trial.point.random


@pytest.mark.parametrize("name", ["other_draws", "leftovers"])
def test_checkpointing_that_draws_other_numbers_or_reads_none_is_caught(target, name):
    """The function draws random numbers, and what is wrong may be another number each time: neither excuses it."""
    found = examine(target, program(target, f"planted_ways.{name}(x)"), Options(1, ways=("checkpointed",))).findings
    assert {(v.kind, *v.names) for v in found} == {("way", "checkpointed reverse")}


SECOND = frozenset({REVERSE, pure("r", 2), pure("f", 2)})


def test_a_wrong_second_derivative_hides_no_way_that_is_wrong_elsewhere(target):
    """Nested forward mode is wrong plainly; the first derivative is, when checkpointed."""
    text = "planted_ways.checkpointed(planted_ways.wrong_nested(x))"
    found = examine(target, program(target, text), Options(2, SECOND, ways=("checkpointed",))).findings
    assert {name for v in found for name in v.names} == {"forward-over-forward", "checkpointed reverse"}
    healthy = examine(target, program(target, "planted_ways.wrong_nested(x)"), Options(2, SECOND, ways=("checkpointed",))).findings
    assert {name for v in healthy for name in v.names} == {"forward-over-forward"}


@pytest.mark.parametrize("name", PLANTED_IN)
def test_a_planted_bug_is_caught_and_its_healthy_twin_is_not(target, name):
    way, dtype = PLANTED_IN[name]
    found = examine(target, program(target, f"planted_ways.{name}(x)", dtype), Options(1, only(name), ways=(way,))).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way} and {v.kind for v in found} == {"way"}
    assert not examine(target, program(target, "planted_ways.healthy(x)", dtype), Options(1, ways=(way,))).findings


TWO = X.format(dtype="float64") + 'a = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=2))\ny = {}(x, a)\n'
ROWS = TWO.replace("x = tensor((2, 3)", "x = tensor((2, 3, 4)").replace("a = tensor((2, 3)", "a = tensor((4,)")
PICKED = X.format(dtype="float64") + 'i = tensor((2,), "int64", listed([1, 0]))\ny = {}(x, i)\n'


@pytest.mark.parametrize(("text", "function", "healthy", "way"), [
    (TWO, "mixed", "torch.mul", "batched-first"), (TWO, "mixed", "torch.mul", "batched-rest"),
    (PICKED, "picked", "planted_ways.picked_rightly", "batched-rest"),
    (ROWS, "nested_first", "planted_ways.nested_rightly", "jagged-first"),
])  # fmt: skip
def test_of_several_tensors_some_have_a_batch_or_rows(target, text, function, healthy, way, tmp_path):
    made = parse(text.format(f"planted_ways.{function}"), target.language)
    found = examine(target, made, Options(1, ways=(way,))).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way} and {v.kind for v in found} == {"way"}
    seen = examine(target, parse(text.format(healthy), target.language), Options(1, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]
    for verdict in found:
        written = script(Finding("torch", target.version, "planted", verdict, made, True, modules=("planted_ways",)))
        assert status(written, tmp_path) == 1
        assert status(written.replace(f"planted_ways.{function}(", f"{healthy}("), tmp_path) == 0


def test_a_batch_may_be_the_last_axis(target, tmp_path):
    """And what reads memory itself, in which slices have gaps, is left alone."""
    shown(target, "planted_ways.last(x)", "batched-last", "batched-last reverse", tmp_path, "planted_ways.healthy(x)", forward=True)
    seen = examine(target, program(target, "torch.as_strided_copy(x, (2, 2), (1, 1))"), Options(1, ways=("batched-last",)))
    assert not seen.findings and not ran(seen, "batched-last")


def test_what_has_no_batch_is_not_written_to(target):
    text = TWO.replace("{}(x, a)", "torch.Tensor.atan2_(x, a)")
    seen = examine(target, parse(text, target.language), Options(1, ways=("batched-rest",)))
    assert not seen.findings and not ran(seen, "batched-rest")


@pytest.mark.parametrize(("name", "way"), [("checkpointed", "packed"), ("rows_of_tape", "rows")])
def test_the_backward_pass_is_held_against_itself(target, name, way, tmp_path):
    """With what it needs packed away, and for two rows at once."""
    found = examine(target, program(target, f"planted_ways.{name}(x)"), Options(1, ways=(way,))).findings
    assert [v.names for v in found] == [[f"{way} reverse"]]
    made = Finding(
        "torch", target.version, "planted", found[0], program(target, f"planted_ways.{name}(x)"), True, modules=("planted_ways",)
    )
    assert status(script(made), tmp_path) == 1
    assert status(script(made).replace(f"planted_ways.{name}(", "planted_ways.healthy("), tmp_path) == 0


@pytest.mark.parametrize("way", ["compiled-carried", "carried-inductor", "batched-inductor"])
def test_what_a_scan_carries_and_generated_code_of_a_batch(target, way, tmp_path):
    seen = examine(target, program(target, "torch.sin(x)"), Options(1, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]
    shown(target, "planted_ways.compiled(x)", way, f"{way} reverse", tmp_path, "planted_ways.healthy(x)")


@pytest.mark.parametrize("call", ["torch.transpose(x, 0, 1)", "torch.sum(x, 1)", "torch.view_copy(x, [3, 2])"])
def test_what_is_no_carry_is_left_alone(target, call):
    seen = examine(target, program(target, call), Options(1, ways=("compiled-carried",)))
    assert not seen.findings and not ran(seen, "compiled-carried")


def test_hessians_on_the_tape(target, tmp_path):
    seen = examine(target, program(target, "planted_ways.cubed(x)"), Options(2, ways=("hessian",)))
    assert seen.outcome == "agree" and ran(seen, "hessian")
    shown(target, "planted_ways.viewed(x)", "hessian", "hessian reverse-over-reverse", tmp_path, "planted_ways.cubed(x)")


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
def test_a_hessian_of_what_is_compiled_is_zero(target, tmp_path):
    """It says nothing; of the plain function it is right."""
    shown(target, "planted_ways.cubed(x)", "compiled-hessian", "compiled-hessian reverse-over-reverse", tmp_path, "")


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
@pytest.mark.parametrize(
    ("way", "modes"),
    [("duals-inductor", "forward"), ("compiled-backward-hooked", "reverse"), ("compiled-full-hooked", "reverse"),
     ("compiled-read", "reverse"), ("compiled-drawn", "reverse"), ("compiled-broken", "reverse"),
     ("registered-functional", "reverse"), ("registered", "forward")],
)  # fmt: skip
def test_what_the_compiler_drops_is_seen_and_is_not_the_operators_fault(target, way, modes, tmp_path):
    """Tangents that it is given, a hook that a module has since the first call, what it computes again, weights behind a break, a rule."""
    made = program(target, "torch.sin(x)")
    found = next(v for v in examine(target, made, Options(1, ways=(way,))).findings if v.names == [f"{way} {modes}"])
    assert found.subject == "any"
    assert blamed("torch", found) == target.ways[way].blames
    text = script(Finding("torch", target.version, "planted", found, made, True))
    assert status(text, tmp_path) == 1 and len(text.splitlines()) <= 30


@pytest.mark.parametrize("way", ["compiled-read", "compiled-drawn", "compiled-broken"])
def test_without_a_backward_pass_that_computes_again_these_are_right(target, way, monkeypatch):
    """Dynamo alone keeps what was read and drawn, and there is no break where nothing is compiled."""
    monkeypatch.setattr(inside, "AROUND", "eager")
    monkeypatch.setitem(inside.BACKENDS, "decomposed", "eager")
    again.KEPT.forget()
    with torch.compiler.set_stance("force_eager" if way == "compiled-broken" else "default"):
        seen = examine(target, program(target, "torch.sin(x)"), Options(1, ways=(way,)))
    again.KEPT.forget()
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", ["registered", "registered-aot_eager"])
def test_an_operator_of_a_users_own_keeps_its_registered_rule(target, way):
    again.KEPT.forget()
    torch._dynamo.reset()
    seen = examine(target, program(target, "torch.sin(x)"), Options(1, frozenset([REVERSE]), ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("way", ["compiled-backward-hooked", "compiled-full-hooked"])
def test_hooks_that_the_compiler_is_told_to_look_for_are_kept(target, way):
    again.KEPT.forget()
    with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):
        seen = examine(target, program(target, "torch.sin(x)"), Options(1, ways=(way,)))
    again.KEPT.forget()
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="a bug of that release, see docs/found/ways-torch-2.13.0.md")
def test_what_was_compiled_for_inputs_apart_serves_none_that_overlap(target, tmp_path, monkeypatch):
    made = parse(TWO.format("torch.sub"), target.language)
    found = examine(target, made, Options(1, ways=("compiled-overlapping",))).findings
    assert {n for v in found for n in v.names} <= {"compiled-overlapping reverse", "compiled-overlapping direct"} and found
    for verdict in found:
        assert status(script(Finding("torch", target.version, "planted", verdict, made, True)), tmp_path) == 1
    monkeypatch.setattr(again, "AROUND", "eager")  # Dynamo alone keeps what overlaps
    again.KEPT.forget()
    seen = examine(target, made, Options(1, ways=("compiled-overlapping",)))
    again.KEPT.forget()
    assert seen.outcome == "agree" and ran(seen, "compiled-overlapping")


@pytest.mark.parametrize("way", ["compiled-branched", "compiled-scanned", "compiled-mapped"])
def test_control_flow_that_is_compiled_changes_nothing_and_what_does_is_noticed(target, way, tmp_path):
    for call in ("torch.logsumexp(x, 1)", "torch.transpose(x, 0, 1)"):  # a view of what it is given, too
        seen = examine(target, program(target, call), Options(1, ways=(way,)))
        assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]
    made = program(target, "planted_ways.compiled(x)")
    found = examine(target, made, Options(1, ways=(way,))).findings
    assert {(v.kind, *v.names) for v in found} == {("way", f"{way} reverse")}
    written = script(Finding("torch", target.version, "planted", found[0], made, True, modules=("planted_ways",)))
    assert status(written, tmp_path) == 1
    assert status(written.replace("planted_ways.compiled(", "planted_ways.healthy("), tmp_path) == 0


# The same call again ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", STATE)
@pytest.mark.parametrize(
    "call", ["torch.add(x, 1.0)", "torch.cumsum(x, 1)", "torch.transpose(x, 0, 1)", "torch.nn.functional.pad(x, [1, 1])"]
)
def test_what_happens_between_calls_does_not_show(target, way, call):
    seen = examine(target, program(target, call), Options(1, ways=(way,)))
    assert seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("call", ["torch.mul(x, x)", "planted_ways.right_again(x)"])
def test_a_backward_pass_that_says_what_was_overwritten_is_right(target, call):
    seen = examine(target, program(target, call), Options(1, ways=("overwritten",)))
    assert seen.outcome == "agree" and not ran(seen, "overwritten")


@pytest.mark.parametrize("way", COMPILED_STATE)
def test_what_was_compiled_before_does_not_show(target, way):
    seen = examine(target, program(target, "torch.logsumexp(x, 1) * 2.0"), Options(1, ways=(way,)))
    assert seen.outcome == "agree", [v.reason for v in seen.findings]
    assert ran(seen, way) or way == "compiled-overwritten"


@pytest.mark.parametrize("way", ["aliased", "compiled-aliased"])
def test_what_is_written_to_may_be_a_part_of_a_larger_tensor(target, way):
    seen = examine(target, program(target, "planted_ways.doubled_in_place(x)"), Options(1, ways=(way,)))
    assert seen.trial.point.mutates and seen.outcome == "agree" and ran(seen, way), [v.reason for v in seen.findings]


@pytest.mark.parametrize("call", ["torch.as_strided(x, (2, 2), (1, 1))", "torch.as_strided_copy(x, (2, 2), (1, 1), 1)"])
def test_what_reads_memory_wherever_it_lies_is_not_moved(target, call):
    seen = examine(target, program(target, call), Options(1, ways=("aliased", "strided", "batched-last")))
    assert not seen.findings and not any(ran(seen, way) for way in ("aliased", "strided", "batched-last"))


def test_a_hook_that_a_compiler_leaves_out_is_noticed(target, monkeypatch):
    """A module that forgets its hooks: as if the compiler had not looked whether there are any."""
    monkeypatch.setattr(again._Module, "register_forward_hook", lambda *_: None)
    assert examine(target, program(target, "torch.cos(x)"), Options(1, ways=("compiled-hooked",))).findings


@pytest.mark.parametrize("way", (*RULES, "rule-aot_eager"))
def test_a_rule_that_is_dropped_is_noticed(target, way, monkeypatch):
    monkeypatch.setattr(own_rule, "_ruled", lambda rule, outputs: list(outputs))  # as if the library differentiated through the rule
    found = examine(target, program(target, "torch.exp(x)"), Options(1, ways=(way,))).findings
    assert found and {v.kind for v in found} == {"way"}


def test_a_rule_that_nested_forward_mode_drops_is_noticed(target):
    """In the library's own words: where it drops the rule of a user by itself, the way says so, and else it does not."""
    x = torch.tensor([0.3, 0.7], dtype=torch.float64)

    def tangent(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    kept = torch.allclose(tangent(tangent(lambda x: own_rule.ScaledBothWays.apply(x.sin())))(x), -own_rule.SCALE * x.sin())
    found = examine(target, program(target, "torch.sin(x)"), Options(2, ways=("rule-nested",))).findings
    assert (not found) == kept and {(v.kind, v.order) for v in found} <= {("way", 2)}


def test_a_rule_that_is_dropped_inside_of_a_compiled_gradient_is_noticed(target, tmp_path):
    """In the library's own words again: a rule at the inputs, and the gradient in a compiled function."""
    x = torch.tensor([0.3, 0.7], dtype=torch.float64)
    gradient = torch.func.grad(lambda x: own_rule.Scaled.apply(x).sin().sum())
    kept = torch.allclose(torch.compile(gradient, backend="aot_eager")(x), own_rule.SCALE * x.cos())
    made = program(target, "torch.sin(x)")
    found = examine(target, made, Options(1, frozenset([REVERSE]), ways=("rule-compiled-outside",))).findings
    assert [v.kind for v in found] == ([] if kept else ["way"])
    verdict = Verdict("disagree", "way", "way", 1, [Scenario(("r",), "rule-compiled-outside")])
    written = script(Finding("torch", target.version, "torch.autograd.Function", verdict, made, True))
    assert status(written, tmp_path) == (0 if kept else 1)


def test_what_lies_in_memory_is_no_batch_in_the_last_axis_whatever_its_numbers_are(target):
    text = 'x = tensor((2, 2), "float64", full(0.0))\ny = torch.as_strided(x, (2, 2), (1, 2))\n'
    seen = examine(target, parse(text, target.language), Options(1, ways=("batched-last",)))
    assert not seen.findings and not ran(seen, "batched-last")


@pytest.mark.parametrize("way", ["overwritten", "overwritten-output", "rows", "batched", "batched-inside"])
def test_what_reads_gaps_in_memory_is_not_given_copies_which_have_none(target, way):
    text = 'x = tensor((2, 2), "float64", arange(1.0, 1.0){})\ny = torch.as_strided_copy(x, (2, 2), (1, 2))\n'
    layouts = ("", ', layout="strided"', ', layout="offset"')
    seen = [examine(target, parse(text.format(more), target.language), Options(1, ways=(way,))) for more in layouts]
    assert not any(each.findings for each in seen) and [bool(ran(each, way)) for each in seen] == [True, False, False]


def test_where_numbers_tie_each_way_may_choose_another(target):
    # Along any one direction the median of equal numbers is as straight as can be; only two directions together tell.
    text = 'x = tensor((3, 1), "float64", full(0.0))\ny = torch.Tensor.median(x)\n'
    seen = examine(target, parse(text, target.language), Options(1, ways=("batched-inside",)))
    assert not seen.findings and {v.reason for v in seen.verdicts if v.oracle == "way"} == {"kink: each way may choose another slope"}


def test_what_a_view_is_made_by_is_captured_by_a_function_without_writes(target):
    text = 'x = tensor((2, 1), "float64", arange(1.0, 1.0))\na = tensor((1,), "int64", listed([1]), grad=False)\n'
    made = parse(text + "y = torch.tensor_split(x, a)\n", target.language)
    seen = examine(target, made, Options(1, ways=("written-functionalized",)))
    assert seen.outcome == "agree" and ran(seen, "written-functionalized")


def test_a_mode_that_raises_does_not_hide_the_ways_of_the_other(target):
    found = examine(target, program(target, "planted_ways.raises_forward(x)"), Options(1, ways=("twice",))).findings
    assert {(v.kind, s.name) for v in found for s in v.scenarios} == {("status", "forward"), ("way", "twice reverse")}


def test_each_input_is_differentiated_by_itself(target, tmp_path):
    text = X.format(dtype="float64") + X.format(dtype="float64").replace("x =", "a =").replace("seed=1", "seed=2") + "y = {}(x, a)\n"
    wrong, right = (parse(text.format(call), target.language) for call in ("planted_ways.product", "torch.mul"))
    found = examine(target, wrong, Options(1, scenarios=frozenset([REVERSE]), ways=("apart",))).findings
    assert {(v.kind, s.name) for v in found for s in v.scenarios} == {("way", "apart reverse")}
    healthy = examine(target, right, Options(1, ways=("apart",)))
    assert healthy.outcome == "agree" and {s.name for s in healthy.trial.outcomes if s.way} == {"apart reverse", "apart forward"}
    for code, tested in ((1, wrong), (0, right)):
        for modes in (("r",), ("f",)) if code == 0 else (("r",),):
            verdict = replace(found[0], scenarios=[Scenario(modes, "apart")])
            (tmp_path / "script.py").write_text(
                script(Finding("torch", target.version, "planted", verdict, tested, True, modules=("planted_ways",)))
            )
            done = subprocess.run(
                [sys.executable, "script.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PLANTED)}, capture_output=True, text=True
            )
            assert done.returncode == code, done.stdout + done.stderr
