"""Each excuse: the false alarm it serves, and the bug it must not excuse."""

import numpy as np
import pytest
from numpy_library import ManyTarget, NumpyTarget

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.narrowing import Suspect, single
from gradfuzz.oracles.excuses.base import all_excuses
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")
ONE = Options(order=1)
RNG = np.random.default_rng(5)


def program(numbers):
    if isinstance(numbers, str):
        return parse(numbers, TORCH)
    numbers = np.asarray(numbers, dtype=float)
    text = f'x = tensor({numbers.shape}, "float64", listed({numbers.ravel().tolist()}))\ny = torch.sin(x)\n'
    return parse(text.replace("inf", 'float("inf")'), TORCH)


def seen(target, numbers, options=ONE):
    with np.errstate(all="ignore"):
        return examine(target, program(numbers), options)


def library(f, slope, **factors):
    """An elementwise function with its slope."""
    return NumpyTarget(f, lambda x: [np.diag(np.broadcast_to(slope(x), x.shape).ravel())], **factors)


def sine(**factors):
    return library(np.sin, np.cos, **factors)


def jumpy(x):
    return np.sin(x) + np.sign(x)


def half_line(x):
    return np.where(x >= 0, np.sin(x), np.nan)


def rooted(x):
    return np.sin(x) + np.sign(x) * np.sqrt(np.abs(x))


def relu(x):
    return np.maximum(x, 0)


def steep(x):
    return x / np.maximum(np.abs(x), 1e-12)


def sharp(x):
    return np.where(np.abs(x) < 1e-12, 1e12, 0.0)


def quantile(x):
    """A pole at 0, where the difference from one half rounds it to 1.6e16."""
    return np.tan(np.pi * (x - 0.5))


def quantile_slope(x):
    return np.pi / np.cos(np.pi * (x - 0.5)) ** 2


def folded(x):
    """Slopes in all directions at the origin, and no derivative."""
    a, b = x
    return np.array([a * b * b / (a * a + b * b)]) if a or b else np.zeros(1)


def median(x):
    return np.sort(x)[x.size // 2].reshape(1)


def fifth(x):
    row = np.zeros((1, x.size))
    row[0, 4] = 1.0
    return [row]


def chance(x):
    return np.sin(x) + 1e-3 * RNG.standard_normal(x.shape)


def not_a_number_at_the_last(slope):
    return lambda x: np.where(np.arange(x.size) == x.size - 1, np.nan, slope(x))


def pivoted(x):
    """The larger number first, and the other as a part of it: as LU does with the rows of a matrix."""
    first, second = (x[0], x[1]) if abs(x[0]) >= abs(x[1]) else (x[1], x[0])
    return [np.array([first, second / first])]


def pivoted_tangents(xs, us):
    (x,), (u,) = xs, us
    (a, b), (p, q) = (x, u) if abs(x[0]) >= abs(x[1]) else (x[::-1], u[::-1])
    return [np.array([p, q / a - b * p / a**2])]


def row_first(x):
    return [np.array(abs(x[0]) >= abs(x[1]))]


def hermitian(x):
    return x[0] + x[0].T + 1j * (x[1] - x[1].T)


def eigen(x):
    return list(np.linalg.eigh(hermitian(x)))


def eigen_tangents(xs, us):
    """Vectors are taken to move at right angles to themselves, which is one choice of many."""
    w, v = eigen(xs[0])
    turned = v.conj().T @ hermitian(us[0]) @ v
    gaps = w[None, :] - w[:, None] + np.eye(w.size)
    return [turned.diagonal().real.copy(), v @ (turned / gaps * (1 - np.eye(w.size)))]


def other_sign(xs, us):
    """All that is moved moves the wrong way."""
    return [-t for t in eigen_tangents(xs, us)]


def fresnel(x):
    """A wave that dies away; far out its value is a constant, as one that is computed in time is."""
    return np.where(x > 1e4, 0.5, 0.5 + np.sin(x * x) / (2 * x))


def fresnel_slope(x):
    return np.cos(x * x) - np.where(x > 1e4, 0.0, np.sin(x * x) / (2 * x * x))


def amplified(x, a):
    """Two numbers that cancel but for the last of their places."""
    return x * (a[0] - a[1])


def in_thirds(x, a):
    """The same slope, rounded elsewhere."""
    return [np.eye(x.size) * 3 * (a[0] / 3 - a[1] / 3)]


CANCEL = (
    'x = tensor((2,), "float64", listed([0.7, 1.3]))\n'
    'a = tensor((2,), "float64", listed([10000000001.0, 10000000000.0]), grad=False)\ny = torch.mul(x, a)\n'
)
MATRICES = np.random.default_rng(3).standard_normal((2, 3, 3))
SOME = [0.0, 1.3, 0.7]
# excuse: (a healthy library and the numbers at which differences accuse it), (a wrong one and numbers)
PAIRS = {
    "unsettled": ((library(jumpy, np.cos), SOME), (library(jumpy, np.cos, reverse_factor=1.5), SOME)),
    "domain edge": ((library(half_line, np.cos), [0.0]), (library(half_line, np.cos, reverse_factor=1.5), SOME)),
    "nondeterministic": ((library(chance, np.cos), SOME), (sine(reverse_factor=1.5), SOME)),
    "kink": ((library(relu, lambda x: (x > 0) + 0.3 * (x == 0)), SOME),
             (library(relu, lambda x: (x > 0) * 1.5 + 0.3 * (x == 0)), SOME)),
    "tie": ((NumpyTarget(median, fifth), np.full(9, 1.0)), (NumpyTarget(median, lambda x: [3 * fifth(x)[0]]), np.arange(9.0))),
    "no limit": ((library(rooted, lambda x: np.cos(x) + np.where(x == 0, np.inf, 0.5 / np.sqrt(np.abs(x)))), [0.0, 0.4]),
                 (library(rooted, lambda x: 1.5 * np.cos(x) + np.where(x == 0, 5.0, 0.5 / np.sqrt(np.abs(x)))), SOME)),
    "jump": ((library(quantile, quantile_slope), [1e-8, 0.0]), (library(quantile, lambda x: 1.001 * quantile_slope(x)), [0.2, 0.3])),
    "overflow": ((library(lambda x: x**2, lambda x: np.where(np.abs(x) < 1e-160, 1.0, 2 * x)), [1e-200, 0.7]),
                 (library(lambda x: x**2, lambda x: 3 * x), [1e-200, 0.7])),
    "own scale": ((library(lambda x: np.arcsinh(x / 1e-9), lambda x: 1 / np.hypot(x, 1e-9)), [1e-9, 2.0]),
                  (library(lambda x: np.arcsinh(x), lambda x: 1.5 / np.hypot(x, 1.0)), [1e-9, 2.0])),
    "below rounding": ((library(np.zeros_like, lambda x: 1e-14 + 0 * x), SOME), (library(np.zeros_like, lambda x: 1e-3 + 0 * x), SOME)),
    "whole numbers": ((library(np.round, np.zeros_like), [3e20]), (library(lambda x: 3 * x, np.zeros_like), [3e3])),
    "absorbed": ((library(lambda x: (1e30 + x) - 1e30, np.ones_like), SOME), (library(np.zeros_like, np.ones_like), SOME)),
    "tiny steps": ((library(steep, sharp), [0.0]), (library(np.tanh, sharp), [0.0])),
    "last places": ((sine(), np.full((3, 4), 1.43e14)), (sine(reverse_factor=1.5), np.full((3, 4), 1.43e3))),
    "not additive": ((NumpyTarget(folded, lambda x: [np.array([[0.3, 0.4]])]), [0.0, 0.0]),
                     (NumpyTarget(folded, lambda x: [np.array([[0.3, 0.4]])]), [0.6, 0.5])),
    "choice": ((ManyTarget(pivoted, pivoted_tangents, row_first), [1.0, -1.0]),
               (ManyTarget(pivoted, pivoted_tangents, row_first, reverse_factor=1.5), [1.0, -0.4])),
    "ill-conditioned": ((NumpyTarget(amplified, in_thirds), CANCEL),
                        (NumpyTarget(amplified, in_thirds, reverse_factor=1 + 1e-3), CANCEL)),
    "gauge": ((ManyTarget(eigen, eigen_tangents), MATRICES), (ManyTarget(eigen, other_sign), MATRICES)),
    "saturated": ((library(fresnel, fresnel_slope), [1.1e5, 2.3e5]), (library(lambda x: np.clip(x, -1, 1), np.ones_like), [1.1e5, 2.3e5])),
    "domain": ((library(np.tanh, lambda x: np.nan * x), [np.inf]), (library(np.tanh, lambda x: np.nan * x), [1.0])),
    "noisy": ((library(lambda x: 1e17 + x, lambda x: np.nan * x), [1e4]), (library(lambda x: 1e3 + x, lambda x: np.nan * x), [1e4])),
    "too steep": ((library(lambda x: 1e305 * x, lambda x: np.nan * x), [0.1]), (library(lambda x: 1e3 * x, lambda x: np.nan * x), [0.1])),
}  # fmt: skip


def test_what_a_rounding_shakes_is_not_judged_on_invariants_either():
    """A part that cancels between phases up to its rounding, as large as the values: any rounding of the matrix gives another number."""

    def shaken(xs, us):
        values, vectors = eigen_tangents(xs, us)
        return [values + 0.1 * np.sin(1e17 * xs[0].sum()), vectors]

    def steady(xs, us):
        values, vectors = eigen_tangents(xs, us)
        return [values + 0.1, vectors]

    assert not any(seen(ManyTarget(eigen, shaken), MATRICES, Options(order=1, salt=salt)).findings for salt in range(4))
    assert all(seen(ManyTarget(eigen, steady), MATRICES, Options(order=1, salt=salt)).findings for salt in range(4))


def test_every_excuse_has_its_alarm_and_its_bug():
    assert sorted(e.name for e in all_excuses()) == sorted(PAIRS)


def weighed(excuse, target, numbers, salt):
    """What an excuse says to single elements, to a derivative that is not finite, and to the direction as a whole."""
    with np.errstate(all="ignore"):
        trial = Trial(target, program(numbers), salt)
        case = Case(trial, 1, DIRECT, [REVERSE, FORWARD])
        places = [(0, flat) for flat in range(trial.inputs[0].size)]
        lines = [case.line(single(trial, place, trial.point.scales[0])) for place in places]
        suspects = [Suspect(case, line, place, [REVERSE], False) for place, line in zip(places, lines)]
        said = {excuse.element(s) for s in suspects} if excuse.element else set()
        said |= {excuse.broken(Broken(case, case.first, [REVERSE]))} if excuse.broken else set()
        said |= {excuse.line(case, case.first)} if excuse.line else set()
        return said - {None}


@pytest.mark.parametrize("name", PAIRS)
def test_it_serves_its_false_alarm(name):
    (excuse,) = [e for e in all_excuses() if e.name == name]
    assert not any(seen(*PAIRS[name][0], Options(order=1, salt=salt)).findings for salt in range(8))
    assert any(weighed(excuse, *PAIRS[name][0], salt) for salt in range(8))


@pytest.mark.parametrize("name", PAIRS)
def test_it_does_not_excuse_a_bug(name):
    assert seen(*PAIRS[name][1]).findings


def rounded_away(x):
    """The same twice; once it is so small beside one that nothing is left of it."""
    return [np.exp(-x), (np.exp(-x) + 1.0) - 1.0]


def beside_one(factor):
    return lambda xs, us: [-np.exp(-xs[0]) * us[0], -np.exp(-xs[0]) * us[0] * factor]


def test_an_output_that_no_step_moves_is_weighed_apart_from_one_that_does():
    """What was rounded away says nothing about its derivative; a derivative of ordinary size would have been seen, and so is a wrong one of
    the output that moves."""
    numbers = [40.0, 41.5]
    assert not any(seen(ManyTarget(rounded_away, beside_one(1.0)), numbers, Options(order=1, salt=salt)).findings for salt in range(8))
    assert seen(ManyTarget(rounded_away, beside_one(1e30)), numbers).findings
    assert seen(ManyTarget(rounded_away, beside_one(1.0), reverse_factor=1.5), numbers).findings


def largest(x):
    return [x.max(keepdims=True)]


def test_a_wrong_slope_at_a_tie_is_no_choice():
    """At equal numbers the index of the largest changes across the steps; the function only bends, and its slopes are known."""

    def tangents(xs, us):
        return [3.0 * us[0][:1]]

    found = seen(ManyTarget(largest, tangents, lambda x: [x.argmax()]), [0.5, 0.5]).findings
    assert [f.kind for f in found] == ["kink"]


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def stairs(x):
    return np.mod(3.0, x)


def stairs_slope(x):
    return -np.floor(3.0 / x)


def test_stairs_finer_than_numbers_are_no_evidence():
    """The remainder by 1e-30: one unit in the last place is a trillion stairs. Beside it ordinary elements are judged, and so is a slope
    of that size where the function is smooth."""
    for salt in range(8):
        options = Options(order=1, salt=salt)
        assert not seen(library(stairs, stairs_slope), [1e-30, 2.0], options).findings
        assert seen(library(stairs, lambda x: stairs_slope(x) * np.where(x > 1, 1.5, 1.0)), [1e-30, 2.0], options).findings
        assert seen(library(np.sin, lambda x: np.cos(x) + 1e30 * (x < 1)), [1e-30, 2.0], options).findings


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


# Halves, which are special, a zero behind them all, and two numbers that are not.
ROOTS = [*(0.5 * k for k in range(1, 15)), 0.0, 0.37, 1.21]


def root_slope(x):
    return np.where(x == 0, np.inf, 0.5 / np.sqrt(x))


def test_an_edge_is_found_behind_many_special_numbers():
    """At 0 a root has an infinite slope, and along others infinity times no step is not a number. NaN at 0.37 is another thing."""
    assert not any(seen(library(np.sqrt, root_slope), ROOTS, Options(order=1, salt=salt)).findings for salt in range(8))
    broken = library(np.sqrt, lambda x: np.where(x == 0.37, np.nan, root_slope(x)))
    assert all(seen(broken, ROOTS, Options(order=1, salt=salt)).findings for salt in range(8))


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


def first_of_equals(x):
    """The larger number, and where the larger one stands: two that are equal may be told in either order."""
    return [x.max(keepdims=True), np.where(x == x.max(), 1.0, 0.0) * np.sign(x[0] - x[1] + 0.5 * (x[0] == x[1])), x[2:] ** 2]


def not_a_number_for_equals(xs, us):
    (x,), (u,) = xs, us
    tied = np.nan if x[0] == x[1] else 0.0
    return [u[:1] + tied, 0 * x + tied, 2 * x[2:] * u[2:]]


def test_equal_numbers_are_moved_away_from_each_other():
    """Where a tie makes the function jump and AD not a number, it is enough that the numbers differ: then NaN is gone."""
    for salt in range(8):
        options = Options(order=1, salt=salt)
        assert not seen(ManyTarget(first_of_equals, not_a_number_for_equals), [1.7, 1.7, 0.3], options).findings
        always = ManyTarget(first_of_equals, lambda xs, us: [t + np.nan for t in not_a_number_for_equals(xs, us)])
        assert seen(always, [1.7, 0.4, 0.3], options).findings


def test_whole_numbers_are_those_of_the_outputs_that_move():
    """At 3e20 rounding is the identity, whatever stands beside it; at 3e3 a slope of zero is wrong, beside whichever number."""
    for salt in range(4):
        options = Options(order=1, salt=salt)
        assert not seen(library(np.round, np.zeros_like), [3e20, 2e14 + 0.3], options).findings
        assert seen(library(lambda x: 3 * x, lambda x: np.where(x < 1e4, 0.0, 3.0)), [3e20, 3e3], options).findings


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


# (numbers, salt) at which all fine steps stayed on one tread: beside one half a number of 1e-15 has a few units.
# Of the last, one is so near to the pole that the two stairs beside it differ eightfold.
ON_A_TREAD = [
    (np.full((), 2.13e-15), 708), (np.full(3, -7.41e-15), 536), (np.full(3, -6.3e-15), 301), (np.full((), -1.86e-15), 595),
    ('x = tensor((3, 4), "float64", scaled(normal(seed=485), 1e-15))\ny = torch.sin(x)\n', 43),
]  # fmt: skip


@pytest.mark.parametrize("numbers, salt", ON_A_TREAD)
def test_a_tread_that_climbs_as_ad_says_accuses_nobody(numbers, salt):
    options = Options(order=1, salt=salt)
    assert not seen(library(quantile, quantile_slope), numbers, options).findings
    assert seen(library(quantile, lambda x: 9 * quantile_slope(x)), numbers, options).findings
    assert seen(library(quantile, lambda x: -quantile_slope(x)), numbers, options).findings


@pytest.mark.parametrize("numbers, salt", [(np.full((), 2.45e6), 183), (np.full((3, 4), 10100.0), 104), (np.full(3, 1.0001e4), 1)])
def test_a_wave_is_a_wave_whatever_chance_does_and_up_to_where_its_value_begins_to_rest(numbers, salt):
    options = Options(order=1, salt=salt)
    assert not seen(library(fresnel, fresnel_slope), numbers, options).findings
    assert seen(library(fresnel, lambda x: np.abs(fresnel_slope(x)) + 0.1), numbers, options).findings


SOLVE = (
    'x = tensor((3, 3), "float64", planted(normal(seed={}), {}, 2))\n'
    'y = tensor((3, 3), "float64", planted(normal(seed={}), {}, 1))\nz = torch.mul(x, y)\n'
)


def solved(x, y):
    return [np.linalg.solve(x, y)]


def solved_tangents(xs, us):
    return [np.linalg.solve(xs[0], us[1] - us[0] @ np.linalg.solve(*xs))]


@pytest.mark.parametrize("text, salt", [(SOLVE.format(650, 1e-40, 81, -5e-324), 532), (SOLVE.format(229, -3e-6, 164, 5e-324), 655)])
def test_numbers_out_of_range_are_moved_into_it(text, salt):
    """A right-hand side of 5e-324 is rounded at every step of an elimination. Of the matrix's own size, it shows that AD is right; a
    formula that is wrong is wrong there, too."""
    options = Options(order=1, salt=salt)
    assert not seen(ManyTarget(solved, solved_tangents), text, options).findings
    assert seen(ManyTarget(solved, solved_tangents, reverse_factor=1.5), text, options).findings


FAR_APART = 'x = tensor((3,), "float64", full(1.75e+71))\ny = tensor((3,), "float64", full({}))\nz = torch.mul(x, y)\n'


def share(x, y):
    return [x * (y / np.hypot(x, y)) ** 2]


def share_tangents(xs, us):
    a, b = (x / np.hypot(*xs) for x in xs)
    return [b**2 * (b**2 - a**2) * us[0] + 2 * a**3 * b * us[1]]


def test_a_square_of_a_quotient_that_vanishes_accuses_nobody():
    """y / x is 1e-158 and its square has no digits left; a derivative of the same size with another factor is wrong at any y."""
    assert not seen(ManyTarget(share, share_tangents), FAR_APART.format(-2.34e-87), Options(order=1, salt=702)).findings
    wrong = ManyTarget(lambda x, y: [3 * x + 0 * y], lambda xs, us: [4 * us[0]])
    assert seen(wrong, FAR_APART.format(-2.34e-87), Options(order=1, salt=702)).findings


TINY = 'x = tensor((3,), "float64", listed([5e-324]))\ny = tensor((3,), "float64", listed([5e-324, -0.9, 0.4]))\nz = torch.mul(x, y)\n'


@pytest.mark.parametrize("salt", range(8))
def test_a_kink_beside_a_number_smaller_than_any_step_is_not_told_from_one_at_it(salt):
    """The remainder of a number by itself, both 5e-324: no step shows more than what is to either side of zero. Beside it others are
    judged, and so is a kink at zero itself."""
    options = Options(order=1, salt=salt)
    healthy = ManyTarget(lambda x, y: [np.remainder(x, y)], lambda xs, us: [us[0] - np.floor_divide(*xs) * us[1]])
    wrong = ManyTarget(lambda x, y: [np.remainder(x, y)], lambda xs, us: [us[0] - 1.5 * np.floor_divide(*xs) * us[1]])
    assert not seen(healthy, TINY, options).findings
    assert seen(wrong, TINY, options).findings
    assert seen(library(relu, lambda x: (x > 0) + 3.0 * (x == 0)), [0.0, 0.7], options).findings


def test_a_tie_is_broken_at_every_rank():
    """The median of twelve zeros: each of them is it at one point nearby of twelve, and chance alone would leave it out now and then."""
    numbers = np.zeros((3, 4))
    for salt in range(869, 873):
        options = Options(order=1, salt=salt)
        assert not seen(NumpyTarget(median_of_all, seventh), numbers, options).findings
        assert seen(NumpyTarget(median_of_all, lambda x: [3 * seventh(x)[0]]), numbers, options).findings


def test_a_tie_of_tiny_numbers_is_looked_at_with_steps_that_are_not_lost_beside_points_around():
    text = 'x = tensor((2, 1, 5), "float64", planted(normal(seed=649), 1e-40, 2))\ny = torch.sin(x)\n'

    def chosen(x, factor=1.0):
        row = np.zeros((1, x.size))
        row[0, np.argsort(x, axis=None)[x.size // 2]] = factor
        return [row]

    assert not seen(NumpyTarget(median_of_all, chosen), text, Options(order=1, salt=599)).findings
    assert seen(NumpyTarget(median_of_all, lambda x: chosen(x, 3.0)), text, Options(order=1, salt=599)).findings


def median_of_all(x):
    return np.sort(x, axis=None)[x.size // 2].reshape(1)


def seventh(x):
    row = np.zeros((1, x.size))
    row[0, 6] = 1.0
    return [row]


LARGE_PAIR = 'x = tensor((3,), "float64", listed([3.1e19, -4.7e19, 8.3e18]))\na = tensor((3,), "float64", {})\nz = torch.mul(x, a)\n'


def quotients(x, y):
    return [np.floor_divide(x, y), np.remainder(x, y)]


def quotient_tangents(factor):
    return lambda xs, us: [0 * xs[0], factor * us[0] - np.floor_divide(*xs) * us[1]]


@pytest.mark.parametrize("divisors", ["full(2.0)", "listed([0.31, -1.7, 0.9])"])
def test_whole_numbers_are_weighed_output_by_output(divisors):
    """A quotient of whole numbers looks like a straight line, and its remainder is nothing or noise: neither says anything. A straight line
    beside them is judged."""

    def beside(x, y):
        return [*quotients(x, y), 3 * x]

    def tangents(factor):
        return lambda xs, us: [*quotient_tangents(1.0)(xs, us), factor * us[0]]

    for salt in range(6):
        options, text = Options(order=1, salt=salt), LARGE_PAIR.format(divisors)
        assert not seen(ManyTarget(quotients, quotient_tangents(1.0)), text, options).findings
        assert not seen(ManyTarget(beside, tangents(3.0)), text, options).findings
        assert seen(ManyTarget(beside, tangents(4.0)), text, options).findings


def cusp(x):
    """Steeper and steeper towards zero; beside one, steps of 1e-17 are lost."""
    return 1.0 + np.abs(x) ** 0.9


def cusp_slope(x):
    return 0.9 * np.sign(x) * np.abs(x) ** -0.1


@pytest.mark.parametrize("salt", range(6))
def test_a_cusp_beside_a_tiny_number_is_steeper_than_any_step_shows(salt):
    """A bend there is as steep at one step as at another: what lies beyond its slopes is wrong."""
    options = Options(order=1, salt=salt)
    assert not seen(library(cusp, cusp_slope), [2e-16, 0.4, -1.0], options).findings
    assert seen(library(lambda x: 1.0 + relu(x), lambda x: np.where(np.abs(x) < 1e-9, 3.0, x > 0)), [2e-16, 0.4, -1.0], options).findings


def in_single(x):
    """A softmax as some compute it whatever they are given."""
    shares = np.exp(x).astype(np.float32)
    return [(shares / shares.sum()).astype(np.float64)]


def shares_tangents(xs, us):
    shares = np.exp(xs[0]) / np.exp(xs[0]).sum()
    return [shares * (us[0] - (shares * us[0]).sum())]


def test_outputs_have_treads_of_their_own():
    """In single precision inside, each share rests for another while: a stair of one of them is not the slope of their sum."""
    text = 'x = tensor((6,), "float64", scaled(normal(seed=3), 3e-07))\ny = torch.sin(x)\n'
    for salt in range(8):
        options = Options(order=1, salt=salt)
        assert not seen(ManyTarget(in_single, shares_tangents), text, options).findings


def with_a_step(x):
    """A straight line but for a step that is larger than the inputs and smaller than anything else."""
    return 1.0 + x + 2e-14 * np.tanh(x / 1e-13)


def with_a_step_slope(x):
    return 1.0 + 0.2 / np.cosh(x / 1e-13) ** 2


def test_steps_of_one_are_no_evidence_where_shorter_ones_see_another_slope():
    """At 1e-14 rounding blurs steps of the inputs' size, and steps of one see the line alone. Where nothing happens in between, they are
    evidence, and the only one there is."""
    numbers, wrong = [3.1e-14, -2.7e-14], library(lambda x: 1.0 + x, with_a_step_slope)
    assert not any(seen(library(with_a_step, with_a_step_slope), numbers, Options(order=1, salt=salt)).findings for salt in range(12))
    assert all(seen(wrong, numbers, Options(order=1, salt=salt)).findings for salt in range(12))


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
