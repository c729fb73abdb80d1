"""The oracles on a library whose every bug is known."""

import numpy as np
import pytest
from numpy_library import NumpyTarget

from gradfuzz.errors import Through
from gradfuzz.oracles import check
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import MISTAKE
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")
ONE = Options(order=1)


def program(values, shape="(3, 4)"):
    return parse(f'x = tensor({shape}, "float64", {values})\ny = torch.sin(x)\n', TORCH)


def diagonal(slope):
    return lambda x: [np.diag(slope(x).ravel())]


def sine(**factors):
    return NumpyTarget(np.sin, diagonal(np.cos), **factors)


def test_a_right_derivative_agrees():
    seen = examine(sine(), program("normal(seed=1)"), ONE)
    assert seen.outcome == "agree" and not seen.findings


@pytest.mark.parametrize("error", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("scenario", ["reverse", "forward"])
def test_a_wrong_mode_is_named(scenario, error):
    target = sine(**{f"{scenario}_factor": 1 + error})
    (finding,) = examine(target, program("normal(seed=1)"), ONE).findings
    assert finding.scenarios == [Scenario.named(scenario)]
    assert finding.kind == ("accuracy" if error < 1e-4 else "gradient")
    assert abs(finding.actual / finding.expected - 1 - error) < 0.01 * error
    assert finding.detail["element"].startswith("x[")


def test_both_modes_wrong_is_seen_by_the_numeric_derivative():
    target = sine(reverse_factor=1 + 1e-6, forward_factor=1 + 1e-6)
    (finding,) = examine(target, program("normal(seed=1)"), ONE).findings
    assert finding.scenarios == [REVERSE, FORWARD]


def test_at_a_kink_any_slope_between_the_one_sided_ones_is_fine():
    relu = NumpyTarget(lambda x: np.maximum(x, 0), diagonal(lambda x: (x > 0) * 1.0))
    seen = examine(relu, program("full(0.0)"), ONE)
    assert seen.outcome == "inconclusive" and "kink" in seen.verdicts[-1].reason


def test_at_a_kink_a_slope_outside_is_a_finding_of_its_own_kind():
    relu = NumpyTarget(lambda x: np.maximum(x, 0), diagonal(lambda x: (x > 0) * 1.0 + (x == 0) * 3.0))
    (finding,) = examine(relu, program("full(0.0)"), ONE).findings
    assert finding.kind == "kink"


def test_a_tie_is_not_a_wrong_gradient():
    """The median of equal numbers: AD follows one of them, no single element moves the median."""

    def slope(x):
        row = np.zeros((1, x.size))
        row[0, 4] = 1.0
        return [row]

    median = NumpyTarget(lambda x: np.sort(x.ravel())[x.size // 2].reshape(1), slope)
    seen = examine(median, program("full(1.0)", "(9,)"), ONE)
    assert not seen.findings


def test_not_a_number_where_the_true_derivative_is_finite():
    bad = NumpyTarget(np.sin, diagonal(lambda x: np.where(x == 0, np.nan, np.cos(x))))
    (finding,) = examine(bad, program("planted(normal(seed=1), 0.0, 3)"), ONE).findings
    assert finding.kind == "nonfinite"


def test_an_edge_of_the_domain_is_inconclusive():
    root = NumpyTarget(np.sqrt, diagonal(lambda x: 0.5 / np.sqrt(x)))
    with np.errstate(all="ignore"):
        seen = examine(root, program("full(0.0)"), ONE)
    assert seen.outcome == "inconclusive"


def test_a_derivative_too_fine_for_the_steps_is_not_called_wrong():
    """x / max(|x|, 1e-12) at 0 has slope 1e12 on a stretch that no ordinary step sees."""
    sharp = NumpyTarget(lambda x: x / np.maximum(np.abs(x), 1e-12), diagonal(lambda x: np.where(np.abs(x) < 1e-12, 1e12, 0.0)))
    assert not examine(sharp, program("full(0.0)"), ONE).findings


def test_an_output_that_is_not_finite_says_nothing():
    with np.errstate(all="ignore"):
        seen = examine(NumpyTarget(np.log, diagonal(lambda x: 1 / x)), program("full(0.0)"), ONE)
    assert seen.outcome == "inconclusive" and "domain" in seen.verdicts[-1].reason


def raising_at_zero(f, slope):
    """A library whose derivative raises at 0 and is right elsewhere."""

    def jacobian(x):
        if (x == 0).any():
            raise ValueError("not invertible")
        return [np.diag(slope(x).ravel())]

    return NumpyTarget(f, jacobian)


def test_raising_where_there_is_no_derivative_is_no_finding_and_elsewhere_it_is():
    with np.errstate(all="ignore"):
        edge = raising_at_zero(lambda x: np.cbrt(x), lambda x: np.cbrt(x) / (3 * x))
        assert examine(edge, program("full(0.0)", "()"), ONE).outcome in ("inconclusive", "unsupported")
        (one, other) = examine(raising_at_zero(np.sin, np.cos), program("full(0.0)", "()"), ONE).findings
    assert {one.kind, other.kind} == {"status"} and {*one.scenarios, *other.scenarios} == {REVERSE, FORWARD}


def test_raising_at_an_infinite_input_is_no_finding():
    def jacobian(x):
        raise ValueError("not finite")

    target = NumpyTarget(np.tanh, jacobian)
    assert not examine(target, program("full(float('inf'))", "()"), ONE).findings
    assert examine(target, program("full(1.0)", "()"), ONE).findings


def test_a_pole_that_rounding_makes_finite_is_not_a_wrong_gradient():
    """tan(π(x - 1/2)) has a pole at 0, where the difference from one half rounds it to 1.6e16."""
    quantile = NumpyTarget(lambda x: np.tan(np.pi * (x - 0.5)), diagonal(lambda x: np.pi / np.cos(np.pi * (x - 0.5)) ** 2))
    seen = examine(quantile, program("listed([1e-8, 0.0])", "(2,)"), ONE)
    assert seen.outcome == "inconclusive"


def test_not_a_number_between_large_whole_numbers_says_nothing():
    """A power of a negative base is defined at whole exponents alone; beyond 2**53 all numbers are whole."""
    power = NumpyTarget(lambda y: (-20.0) ** y, diagonal(lambda y: np.full(y.shape, np.nan)))
    assert not examine(power, program("full(-2e67)"), ONE).findings


def test_not_a_number_at_the_zero_of_a_norm_is_a_finding():
    norm = NumpyTarget(lambda x: np.sqrt((x * x).sum()), lambda x: [(x / np.sqrt((x * x).sum())).reshape(1, -1)])
    with np.errstate(all="ignore"):
        kinds = [finding.kind for finding in examine(norm, program("full(0.0)"), ONE).findings]
    assert kinds == ["nonfinite"]


class OtherwiseUnderAD(NumpyTarget):
    """Its outputs are `changed` where it is differentiated."""

    changed = None

    def point(self, program, arrays=None):
        point = super().point(program)
        run = point.run

        def otherwise(scenario, *rest):
            outcome = run(scenario, *rest)
            if scenario.modes:
                outcome.outputs = [self.changed(o) for o in outcome.outputs]
            return outcome

        point.run = otherwise
        return point


def test_which_infinity_comes_of_an_infinite_input_says_nothing():
    same = OtherwiseUnderAD(lambda x: np.where(np.isfinite(x), x, np.nan), diagonal(np.ones_like))
    same.changed = lambda o: np.where(np.isnan(o), -np.inf, o)
    seen = examine(same, program("planted(normal(seed=1), float('inf'), 3)"), ONE)
    assert not seen.findings and any(v.oracle == "value" for v in seen.verdicts)


@pytest.mark.parametrize(("size", "wrong"), [("1e-310", False), ("1e-300", True)])
def test_below_the_smallest_normal_number_outputs_may_differ_in_what_the_format_loses(size, wrong):
    rounding = OtherwiseUnderAD(lambda x: x, diagonal(np.ones_like))
    rounding.changed = lambda o: o * (1 + 1e-12)
    assert any(v.oracle == "value" for v in examine(rounding, program(f"full({size})"), ONE).findings) == wrong


def test_a_mistake_of_ours_costs_the_verdict_and_not_what_was_seen_before(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(check, "check_ways", broken)
    wrong = sine(reverse_factor=2.0)
    looked = examine(wrong, program("normal(seed=1)"), Options(order=1, ways=("jit",)))
    assert not any(v.reason.startswith(MISTAKE) for v in looked.verdicts) and looked.outcome == "disagree"
    right = sine()
    looked = examine(right, program("normal(seed=1)"), Options(order=1, ways=("jit",)))
    assert [v.outcome for v in looked.verdicts] == ["agree", "inconclusive"]
    assert looked.verdicts[-1].excuses == [f"{MISTAKE}, ZeroDivisionError in broken"]


def test_what_ends_an_examination_on_purpose_passes_through(monkeypatch):
    def spent(*_):
        raise Through

    monkeypatch.setattr(check, "check_gradient", spent)
    with pytest.raises(Through):
        examine(sine(), program("normal(seed=1)"), Options(order=1))
