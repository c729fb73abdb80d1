"""Planted bugs in real PyTorch functions: each is caught and named, and its healthy twin is not."""

import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.same import finding_key
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.script import script
from gradfuzz.mutate.cover import Cover, Design
from gradfuzz.mutate.edits import apply_all
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, pure

TEXT = 'x = tensor((2, 3), "float64", {values})\ny = planted_torch.{name}(x)\n'


def seen(target, name, values="uniform(0.5, 2.0, seed=1)", order=2):
    return examine(target, parse(TEXT.format(name=name, values=values), target.language), Options(order=order))


CASES = [
    ("wrong_backward", "gradient", 1, "reverse"),
    ("wrong_jvp", "gradient", 1, "forward"),
    ("wrong_second", "gradient", 2, "reverse-over-reverse"),
    ("wrong_output", "value", 1, "reverse"),
]


@pytest.mark.parametrize("name, kind, order, scenario", CASES)
def test_a_planted_bug_is_caught_and_named(torch_target, name, kind, order, scenario):
    findings = seen(torch_target, name).findings
    assert findings and findings[0].kind == kind and findings[0].order == order
    assert scenario in findings[0].names
    wrong = {s for f in findings for s in f.names}
    healthy = {"wrong_backward": "forward", "wrong_jvp": "reverse"}.get(name)
    assert healthy not in wrong


def test_the_healthy_twin_is_not(torch_target):
    assert not seen(torch_target, "healthy", order=1).findings


@pytest.mark.parametrize("order", [2, 3])
def test_the_healthy_twin_is_not_at_higher_order(torch_target, order):
    """Nested forward mode through a custom Function is wrong in PyTorch itself (pytorch/pytorch#197867): left out here."""
    reverse = frozenset(pure("r", k) for k in range(1, order + 1)) | {FORWARD}
    program = parse(TEXT.format(name="healthy", values="uniform(0.5, 2.0, seed=1)"), torch_target.language)
    looked = examine(torch_target, program, Options(order, reverse))
    assert looked.outcome == "agree" and max(v.order for v in looked.verdicts) == order


def test_gradfuzz_sees_the_bug_of_nested_forward_mode_in_pytorch(torch_target):
    (finding,) = seen(torch_target, "healthy", order=2).findings
    assert "forward-over-forward" in finding.names and finding.order == 2


@pytest.mark.parametrize("name, order", [("wrong_jvp_and_second", 2), ("wrong_third", 3)])
def test_a_wrong_nesting_does_not_hide_what_others_do_higher_up(torch_target, name, order):
    """Below, only nestings that begin with forward mode are wrong: reverse mode is examined further."""
    by_order = {k: {s for f in seen(torch_target, name, order=order).findings if f.order == k for s in f.names} for k in (order - 1, order)}
    reverse = pure("r", order - 1).name
    assert by_order[order - 1] and reverse not in by_order[order - 1] and all(s.endswith("forward") for s in by_order[order - 1])
    assert pure("r", order).name in by_order[order] and all(s.endswith("reverse") for s in by_order[order])


def test_a_derivative_that_is_not_a_number_is_caught_and_its_twin_is_not(torch_target):
    (finding,) = seen(torch_target, "nan_at_zero", "planted(normal(seed=1), 0.0, 2)", 1).findings
    assert finding.kind == "nonfinite" and finding.names == ["reverse"]
    assert not seen(torch_target, "safe_at_zero", "planted(normal(seed=1), 0.0, 2)", 1).findings


def test_at_the_end_of_a_domain_the_slope_inside_is_what_a_script_shows(torch_target, planted_path, tmp_path):
    values = "listed([0.0, 1.0, 0.0, 2.0, 3.0, 0.5])"
    (finding,) = seen(torch_target, "nan_at_its_end", values, 1).findings
    assert finding.kind == "nonfinite" and {"reverse", "forward"} == set(finding.names) and finding.detail["inside"] == 1
    assert not seen(torch_target, "safe_at_its_end", values, 1).findings
    program = parse(TEXT.format(name="nan_at_its_end", values=values), torch_target.language)
    made = Finding("torch", torch_target.version, "planted_torch.nan_at_its_end", finding, program, True, modules=("planted_torch",))
    for name, status in (("nan_at_its_end", 1), ("safe_at_its_end", 0)):
        (tmp_path / "script.py").write_text(script(made).replace("nan_at_its_end", name))
        done = subprocess.run(
            [sys.executable, str(tmp_path / "script.py")], cwd=planted_path, env={**os.environ, "PYTHONPATH": str(planted_path)}
        )
        assert done.returncode == status


def test_lower_precision_is_judged_against_double(torch_target):
    text = 'x = tensor((2, 3), "float32", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{}(x)\n'
    good = examine(torch_target, parse(text.format("healthy"), torch_target.language), Options())
    assert good.outcome == "agree" and good.verdicts[-1].oracle == "precision"


HUGE = 'x = tensor((3,), "float32", listed([1e20, 2e20, 3.0]))\ny = {}\n'


def test_a_derivative_that_an_overflow_on_the_way_has_made_nothing_is_wrong(torch_target):
    """The root of 5e40 is inside the range of single precision, and so is its gradient; zero is none."""
    seen = examine(torch_target, parse(HUGE.format("torch.sqrt(torch.sum(x * x))"), torch_target.language), Options())
    assert [(f.kind, f.names) for f in seen.findings] == [("precision", ["reverse"])]


@pytest.mark.parametrize("text", ["torch.sum(x * x)", "torch.logsumexp(x, 0)", "torch.sqrt(torch.sum(x * 1e-20 * x))"])
def test_an_overflow_of_the_output_itself_or_none_is_not(torch_target, text):
    assert not examine(torch_target, parse(HUGE.format(text), torch_target.language), Options()).findings


def test_running_out_of_memory_in_backward_is_named(torch_target):
    """In a worker the address space is limited, so the allocation fails as an exception: see the pool's tests for that."""
    refusal = torch_target.classify(RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory"))
    assert refusal.kind == "memory"


def test_a_limit_that_an_old_release_declares_is_none_of_its_bugs(torch_target):
    message = "functorch functions (vmap, grad, vjp, etc.) currently do not support the use of autograd.Function."
    assert torch_target.classify(RuntimeError(message)).kind == "unsupported"


def test_an_internal_assertion_always_counts(torch_target):
    assert torch_target.classify(RuntimeError("x INTERNAL ASSERT FAILED at y, please report a bug to PyTorch")).kind == "internal"


def test_a_declared_refusal_is_not_a_finding(torch_target):
    text = 'x = tensor((3,), "float64", normal(seed=1))\nn = torch.floor(x).to(torch.int64).to(torch.float64)\n'
    assert not examine(torch_target, parse(text, torch_target.language), Options()).findings


SINGLE = 'x = tensor((3, 4), "float32", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{name}(x)\n'


def test_a_gradient_that_is_wrong_in_single_precision_alone_is_caught(torch_target):
    (finding,) = examine(torch_target, parse(SINGLE.format(name="wrong_in_single"), torch_target.language), Options(1)).findings
    assert (finding.oracle, finding.kind, finding.names) == ("precision", "precision", ["reverse"])
    assert abs(finding.actual / finding.expected - 1.001) < 1e-5
    double = parse(TEXT.format(name="wrong_in_single", values="uniform(0.5, 2.0, seed=1)"), torch_target.language)
    assert examine(torch_target, double, Options(1)).outcome == "agree"


def test_the_healthy_twin_agrees_in_single_precision(torch_target):
    looked = examine(torch_target, parse(SINGLE.format(name="healthy"), torch_target.language), Options(1))
    assert looked.outcome == "agree" and looked.verdicts[-1].oracle == "precision"


HALF = 'x = tensor((1,), "float16", full(0.002))\ny = planted_torch.{name}(x)\n'


def in_half(target, name):
    return examine(target, parse(HALF.format(name=name), target.language), Options(1))


def test_what_one_mode_has_in_half_precision_is_no_overflow_of_half_precision_in_the_other(torch_target):
    (finding,) = in_half(torch_target, "overflows_in_backward").findings
    assert (finding.oracle, finding.kind, finding.names) == ("precision", "nonfinite", ["reverse"])
    seen = examine(torch_target, parse(HALF.replace("planted_torch.{name}", "torch.log"), torch_target.language), Options(1))
    assert seen.outcome == "agree"


FAR = 'x = tensor((3,), "{dtype}", scaled(uniform(0.5, 2.0, seed=1), {scale}))\ny = {call}(x)\n'


def twice(target, call, dtype="float32", scale=1e15, salt=0):
    program = parse(FAR.format(call=call, dtype=dtype, scale=scale), target.language)
    return examine(target, program, Options(2, frozenset({REVERSE, pure("r", 2)}), salt))


def test_a_second_derivative_that_is_no_number_in_single_precision_is_caught(torch_target):
    """Squares of squares of 1e15 leave the range; the value, the slope and the second derivative do not."""
    (finding,) = twice(torch_target, "planted_torch.root_through_squares").findings
    assert (finding.oracle, finding.kind, finding.order, finding.names) == ("precision", "nonfinite", 2, ["reverse-over-reverse"])
    assert math.isnan(finding.actual) and math.isfinite(finding.expected)
    plain = replace(finding, symptom="")  # no number in double precision either
    assert finding_key("f", "", finding) != finding_key("f", "", plain)


def test_its_script_shows_it(torch_target, tmp_path):
    program = parse(
        'x = tensor((2, 2), "float32", listed([-3e19, 7e20, -6e20, 6e20]))\ny = torch.linalg.svdvals(x)\n', torch_target.language
    )
    (verdict,) = examine(torch_target, program, Options(2)).findings
    path = tmp_path / "script.py"
    path.write_text(script(Finding("torch", torch_target.version, "torch.linalg.svdvals", verdict, program, True, "")))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nan" in done.stdout, done


@pytest.mark.parametrize("call, dtype, scale", [
    ("planted_torch.root", "float32", 1e15), ("planted_torch.root_through_squares", "float32", 1e3), ("torch.log", "float16", 1e-3),
    ("torch.logit", "float16", 1e-3), ("torch.sqrt", "float16", 1e-3), ("torch.exp", "float16", 5.0),
])  # fmt: skip
def test_second_derivatives_that_are_numbers_or_out_of_range_are_no_findings(torch_target, call, dtype, scale):
    """The second derivative of a logarithm at a thousandth is a million, which half precision has not, though it has it along 0.001."""
    assert not any(twice(torch_target, call, dtype, scale, salt).findings for salt in range(8))


OF_SIZE_ONE = "".join(f'{x} = tensor((3,), "float64", uniform(0.5, 2.0, seed={seed}))\n' for seed, x in enumerate("xw"))


# Of huge numbers the derivative is lost beside the square, of tiny ones it is divided by a square that is zero.
ATAN2 = {("precision", "reverse"), ("nonfinite", "reverse"), ("nonfinite", "forward")}


@pytest.mark.parametrize("name, wrong", [("atan2", ATAN2), ("div", set()), ("sub", set()), ("hypot", set())])
def test_all_inputs_at_the_ends_of_narrow_types_show_squares_that_leave_them(torch_target, name, wrong):
    """One input of that size does not: the other one keeps the sum of squares where it belongs."""
    program = parse(f"{OF_SIZE_ONE}y = torch.{name}(x, w)\n", torch_target.language)
    types = next(f for f in Design(program, lambda func: [], Cover()).factors if f.name == "type")
    ends = [apply_all(program, [edit]) for level, edit in types.levels if level.startswith("all ")]
    assert len(ends) == 3
    assert {(f.kind, s) for end in ends for f in examine(torch_target, end, Options(1)).findings for s in f.names} == wrong


def test_what_no_mode_has_in_half_precision_may_be_out_of_its_range(torch_target):
    assert in_half(torch_target, "overflows_in_both").outcome == "inconclusive"


def test_a_tangent_that_half_precision_cannot_hold_is_no_finding(torch_target):
    """Gradients are weighted by numbers below one and stay in range, tangents are not and do not."""
    text = 'x = tensor((6,), "float16", listed([10.5, 10.8, 11.0, 10.9, 10.7, 10.6]))\ny = torch.expm1(x)\n'
    program = parse(text, torch_target.language)
    seen = [examine(torch_target, program, Options(1, salt=salt)) for salt in range(12)]
    broken = [s for s in seen if not all(math.isfinite(s.trial.number(s.trial.outcome(m))) for m in (REVERSE, FORWARD))]
    assert broken and not any(s.findings for s in seen)


def test_a_direction_too_long_for_half_precision_is_no_finding(torch_target):
    """Directions are as long as the inputs. What overflows on the way along one of 600 is right along one of unit length."""
    text = 'x = tensor((2,), "float16", listed([{}]))\ny = torch.mul(torch.div(x, {}), 0.001)\n'
    long, unit = (parse(text.format(*numbers), torch_target.language) for numbers in (("30.0, 25.0", 0.001), ("0.3, 0.28", 0.00001)))
    seen = [examine(torch_target, long, Options(1, salt=salt)) for salt in (7, 17, 28, 48, 52)]
    assert not any(math.isfinite(s.trial.number(s.trial.outcome(FORWARD))) for s in seen) and not any(s.findings for s in seen)
    # Along a direction that is no longer than one a tangent must not overflow on its way to an ordinary number.
    assert any(examine(torch_target, unit, Options(1, salt=salt)).findings for salt in range(12))


@pytest.mark.parametrize("name, scenario", [("wrong_third", "reverse-over-reverse-over-reverse"), ("healthy", "forward-over-forward")])
def test_a_finding_goes_down_to_the_order_that_explains_it_and_no_other(torch_target, name, scenario):
    """Nested forward mode is wrong at order two, which says nothing of a third derivative in reverse mode."""
    program = parse(TEXT.format(name=name, values="uniform(0.5, 2.0, seed=1)"), torch_target.language)
    only = None if name == "wrong_third" else frozenset([REVERSE, FORWARD, pure("r", 2), pure("f", 3)])
    options = Options(3, only)
    verdict = next(v for v in examine(torch_target, program, options).findings if v.order == 3)
    confirmed = confirm(torch_target, Suspicion(f"planted_torch.{name}", program, (), replace(options, scenarios=None), verdict), 2.0)
    assert confirmed is not None and scenario in confirmed.verdict.names


@pytest.mark.parametrize("text", [
    'x = tensor((2, 1), "float64", listed([-4e+27, -0.0]))\ny = torch.fix(x)\n',
    'x = tensor((4,), "float64", full(0.0), layout="transposed")\ny = torch.Tensor.as_strided(x, (2, 2), (1, 2))\n',
], ids=["an output that nothing moves", "strides are read"])  # fmt: skip
def test_what_steps_make_of_other_numbers_or_strides_is_no_finding(torch_target, text):
    """Beside 4e27 steps are too long for a zero, and the rounding of the other output is none of its; steps keep strides."""
    program = parse(text, torch_target.language)
    assert not any(examine(torch_target, program, Options(1, salt=salt)).findings for salt in range(6))
