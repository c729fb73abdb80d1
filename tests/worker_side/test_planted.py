"""Planted bugs that no excuse may cover, each beside what an excuse would have said."""

import numpy as np
import pytest
from excuse_cases import CANCEL, PAIRS, amplified, fifth, library, median, quantile, quantile_slope, relu, seen, sine, weighed
from numpy_library import ManyPoint, ManyTarget, NumpyTarget

from gradfuzz.oracles.check import Options
from gradfuzz.oracles.excuses.base import all_excuses
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import REVERSE


@pytest.mark.parametrize("name", PAIRS)
def test_it_does_not_excuse_a_bug(name):
    assert seen(*PAIRS[name][1]).findings


def largest(x):
    return [x.max(keepdims=True)]


def test_a_wrong_slope_at_a_tie_is_no_choice():
    """At equal numbers the index of the largest changes across the steps; the function only bends, and its slopes are known."""

    def tangents(xs, us):
        return [3.0 * us[0][:1]]

    found = seen(ManyTarget(largest, tangents, lambda x: [x.argmax()]), [0.5, 0.5]).findings
    assert [f.kind for f in found] == ["kink"]


def upwards(x):
    """It ends at zero, and has a slope there."""
    return np.where(x < 0, np.nan, x + x**2)


@pytest.mark.parametrize(("function", "slope", "wrong"), [
    (upwards, lambda x: np.where(x == 0, np.nan, 1 + 2 * x), True),
    (upwards, lambda x: 1 + 2 * x, False),
    (upwards, lambda x: np.where(x == 0, np.inf, 1 + 2 * x), False),  # how some say that there is no derivative
    (np.sqrt, lambda x: np.where(x == 0, np.nan, 0.5 / np.sqrt(x)), False),  # it rises without end
    (np.sin, lambda x: np.where(x == 0, np.nan, np.cos(x)), True),
])  # fmt: skip
def test_at_the_end_of_a_domain_a_slope_that_is_known_is_no_nan(function, slope, wrong):
    found = seen(library(function, slope), [0.0, 0.5]).findings
    assert bool(found) is wrong and all(f.kind == "nonfinite" and f.expected for f in found)


def support(x):
    """Minus infinity where there is none."""
    return np.where(x < 0, -np.inf, np.abs(x) ** 3)


@pytest.mark.parametrize(("function", "slope", "outcome"), [
    (support, lambda x: np.where(x < 0, 0.0, 3 * x**2), "agree"),
    (support, lambda x: np.where(x < 0, 0.0, 3.3 * x**2), "disagree"),
    (support, lambda x: np.where(x < 0, np.nan, 3.3 * x**2), "inconclusive"),  # no mode knows that it rests
    (lambda x: np.exp(1000 * x), lambda x: 1001 * np.exp(1000 * x), "inconclusive"),  # one has overflown, and does not rest
])  # fmt: skip
def test_what_rests_at_an_infinity_hides_nothing(function, slope, outcome):
    with np.errstate(all="ignore"):
        found = seen(library(function, slope), [-1.5, 0.5, 0.9])
    assert found.outcome == outcome


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def logistic(x):
    return 1 / (1 + np.exp(-x))


# What rounding makes of a few slopes is no evidence for AD.
BLURRED = {
    "steps are rounded themselves": (sine(reverse_factor=1.001), np.full(3, 400.0)),
    "a flat function at tiny numbers": (library(softplus, logistic, reverse_factor=1.5), np.full(3, 1e-8)),
    "a pole beside another element": (library(lambda x: 1 / np.tan(x), lambda x: -1 / np.sin(x) ** 2, reverse_factor=1.001),
                                      [-1e-40, 0.7, 1.2, -0.4]),
}  # fmt: skip


@pytest.mark.parametrize("name", BLURRED)
def test_rounding_excuses_no_bug(name):
    told = [bool(seen(*BLURRED[name], Options(order=1, salt=salt)).findings) for salt in range(24)]
    assert all(told), told


def sine_beside_a_jump(x):
    return np.concatenate([np.sin(x), 1e-17 * np.sign(x)])


def matrix_inverse(x):
    return np.linalg.inv(x)


def inverse_slopes(x):
    found = np.linalg.inv(x)
    return [-np.kron(found, found.T)]


# A tie of pivots: another rounding takes the other one, and blurs the slope over short steps.
PIVOTS = [[np.pi, 0.0, -1e-8], [0.5, 1e-8, 1e-8], [np.pi, np.pi / 2, 2.0]]
# What an excuse says of one output, at one step or of another direction is not said of all. The salts are those that it spoke at.
ELSEWHERE = {
    "a jump of another output": (
        NumpyTarget(sine_beside_a_jump, lambda x: [np.vstack([1.5 * np.diag(np.cos(x)), 0 * np.diag(x)])]), [0.0], range(8)),
    "no derivative, and not a slope of any point nearby": (NumpyTarget(median, lambda x: [3 * fifth(x)[0]]), np.full(9, 1.0), range(8)),
    "one step that truncation moves to AD": (
        library(np.tan, lambda x: 1 / np.cos(x) ** 2, reverse_factor=1.001), np.full(3, -3.43e6), [632]),
    "longer steps that see a kink": (
        NumpyTarget(lambda x: x.max(keepdims=True).reshape(1), lambda x: [1.0 * (x == x.max()).reshape(1, -1)], reverse_factor=1.001),
        'x = tensor((3, 4), "float64", scaled(normal(seed=167), -1e-06))\ny = torch.sin(x)\n', [1]),
    "a rounding that blurs short steps": (NumpyTarget(matrix_inverse, inverse_slopes, reverse_factor=1.001), PIVOTS, range(696, 700)),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_seen_elsewhere_excuses_no_bug(name):
    target, numbers, salts = ELSEWHERE[name]
    told = [bool(seen(target, numbers, Options(order=1, salt=salt)).findings) for salt in salts]
    assert all(told), told


def naive_log1p(x):
    """The logarithm of a sum with one in it: steps from zero below the last place of one move nothing."""
    return np.log(1.0 + x)


def dropped_at_zero(x):
    return np.where(x == 0, 0.0, 1 / (1.0 + x))


def test_a_step_that_is_lost_supports_nobody():
    """A slope of zero over steps that vanish beside one is no sign that the derivative is zero; where nothing is lost, it is one."""
    (excuse,) = [e for e in all_excuses() if e.name == "tiny steps"]
    wrong, right = library(naive_log1p, dropped_at_zero), library(naive_log1p, lambda x: 1 / (1.0 + x))
    flat = library(lambda x: np.where(np.abs(x) < 1e-10, 0.0, x), lambda x: np.where(np.abs(x) < 1e-10, 0.0, 1.0))
    assert all(seen(wrong, [0.0, 0.7], Options(order=1, salt=salt)).findings for salt in range(8))
    assert not any(seen(right, [0.0, 0.7], Options(order=1, salt=salt)).findings for salt in range(8))
    assert not any(seen(flat, [0.0, 0.7], Options(order=1, salt=salt)).findings for salt in range(8))
    assert any(weighed(excuse, flat, [0.0, 0.7], salt) for salt in range(8))


def test_a_formula_that_loses_its_digits_is_not_excused_by_its_own_noise():
    """The function is steady under roundings of its inputs, and its derivative is, too: AD alone is shaken."""

    def lost(x, a):
        noise = 1e-6 * np.sin(1e17 * a[0])
        return [np.eye(x.size) * (a[0] - a[1]) * (1 + noise)]

    steady = CANCEL.replace("10000000001.0, 10000000000.0", "3.0, 2.0")
    assert seen(NumpyTarget(amplified, lost), steady).findings
    assert not seen(NumpyTarget(amplified, lambda x, a: [np.eye(x.size) * (a[0] - a[1])]), steady).findings


def length(x):
    return np.sqrt((x * x).sum(keepdims=True))


def length_and_root(x):
    """A bend, and beside it a point that no slope leads to: none of the two has a derivative at the origin."""
    return [length(x), 1e-6 * np.sqrt(length(x))]


def their_tangents(xs, us):
    (x,), (u,) = xs, us
    moved = (x * u).sum(keepdims=True) / length(x)
    return [moved, 0.5e-6 * moved / np.sqrt(length(x))]


def with_a_sine(x):
    return [*length_and_root(x), np.sin(x)]


def poisoned(xs, us):
    tangents = their_tangents(xs, us)
    return [*tangents, np.cos(xs[0]) * us[0] + 0 * tangents[0]]


ORIGIN = [0.0, 0.0]


def test_not_finite_at_a_kink_needs_a_slope_or_a_derivative_that_exists():
    """Where a function merely bends, any slope between would do. A root beside it has none at all; a sine there has one, and so must AD."""
    bend = ManyTarget(lambda x: [length(x)], lambda xs, us: their_tangents(xs, us)[:1])
    for salt in range(8):
        options = Options(order=1, salt=salt)
        assert not seen(ManyTarget(length_and_root, their_tangents), ORIGIN, options).findings
        assert [f.kind for f in seen(ManyTarget(with_a_sine, poisoned), ORIGIN, options).findings] == ["nonfinite"]
        assert [f.kind for f in seen(bend, ORIGIN, options).findings] == ["nonfinite"]


def test_where_one_mode_has_chosen_a_slope_the_other_owes_one_too():
    class Chosen(ManyTarget):
        def point(self, program, arrays=None):
            point = super().point(program, arrays)
            run = point.run

            def in_reverse(scenario, us, v, along=None, shift=0.0):
                found = run(scenario, us, v, along, shift)
                if scenario == REVERSE:
                    found.result = [0.0]
                return found

            point.run = in_reverse
            return point

    (finding,) = seen(Chosen(length_and_root, their_tangents), ORIGIN).findings
    assert finding.kind == "nonfinite" and finding.names == ["forward"]


def passed_through(x):
    return np.ones_like(x)


@pytest.mark.parametrize("salt", range(8))
def test_a_flat_part_that_ends_in_a_bend_is_no_tread(salt):
    """A gradient that ignores where a function is clamped is wrong there, although long steps reach the part where it would be right. A
    tread of stairs ends in a jump, as high as AD says of its length."""
    options = Options(order=1, salt=salt)
    assert seen(library(relu, passed_through), [-0.3, 1.2, -40.0], options).findings
    assert seen(library(lambda x: np.clip(x, -1, 1), passed_through), [3.0, 0.2, 700.0], options).findings
    assert not seen(library(relu, lambda x: (x > 0) * 1.0), [-0.3, 1.2, -40.0], options).findings


# Where roundings inside make a few slopes over the last places, or the finest step that moves anything, say what AD does by chance.
INSIDE = {
    "last places": (np.full((), 21.1), 798),
    "last places near a pole": ('x = tensor((), "float64", close(normal(seed=603), 1e-06))\ny = torch.sin(x)\n', 575),
    "one stair": (np.full((), 1e-8), 758),
}


@pytest.mark.parametrize("name", INSIDE)
def test_roundings_inside_excuse_no_bug(name):
    numbers, salt = INSIDE[name]
    assert seen(library(quantile, quantile_slope, reverse_factor=1.5), numbers, Options(order=1, salt=salt)).findings
    assert not seen(library(quantile, quantile_slope), numbers, Options(order=1, salt=salt)).findings


class Twice(ManyTarget):
    """A function of one number with its first and second slope: the first is what remains of terms of order one."""

    def __init__(self, second):
        super().__init__(lambda x: [5e-6 * x * x], None)
        self.second = second

    def point(self, program, arrays=None):
        return TwicePoint(self, program, arrays)


class TwicePoint(ManyPoint):
    def run(self, scenario, us, v, along=None, shift=0.0):
        x = self._inputs[0] if along is None else self._inputs[0] + shift * along.arrays[0]
        if scenario.order > 2:
            raise NotImplementedError("two orders only")
        value = 5e-6 * x * x
        slope = [value, (x + 1e-5 * x) - x, self.owner.second(x)][scenario.order]
        for u in us[: scenario.order]:
            slope = slope * u.arrays[0]
        if scenario.modes and scenario.modes[-1] == "r":
            return Outcome([value], [float(np.vdot(v.arrays[0], slope))], True, [True])
        return Outcome([value], [slope])


def test_the_rounding_of_what_cancels_in_a_derivative_says_nothing_against_its_slope():
    """Over a few units in the last place, a first derivative that is the rest of larger terms moves by their rounding."""
    for salt in range(8):
        options = Options(order=2, salt=salt)
        wrong = seen(Twice(lambda x: np.full_like(x, 0.5)), [0.6], options).findings
        assert [(f.kind, f.order) for f in wrong] == [("gradient", 2)]
        assert not seen(Twice(lambda x: np.full_like(x, 1e-5)), [0.6], options).findings
