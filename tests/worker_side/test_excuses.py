"""Each excuse serves its false alarm: healthy functions where differences see something else, or nothing."""

import numpy as np
import pytest
from excuse_cases import (
    MATRICES,
    PAIRS,
    eigen,
    eigen_tangents,
    folded,
    fresnel,
    fresnel_slope,
    library,
    quantile,
    quantile_slope,
    relu,
    seen,
    weighed,
)
from numpy_library import ManyTarget, NumpyTarget

from gradfuzz.oracles.check import Options
from gradfuzz.oracles.excuses.base import all_excuses


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


@pytest.mark.parametrize("name", PAIRS)
def test_it_serves_its_false_alarm(name):
    (excuse,) = [e for e in all_excuses() if e.name == name]
    assert not any(seen(*PAIRS[name][0], Options(order=1, salt=salt)).findings for salt in range(8))
    assert any(weighed(excuse, *PAIRS[name][0], salt) for salt in range(8))


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


# Halves, which are special, a zero behind them all, and two numbers that are not.
ROOTS = [*(0.5 * k for k in range(1, 15)), 0.0, 0.37, 1.21]


def root_slope(x):
    return np.where(x == 0, np.inf, 0.5 / np.sqrt(x))


def test_an_edge_is_found_behind_many_special_numbers():
    """At 0 a root has an infinite slope, and along others infinity times no step is not a number. NaN at 0.37 is another thing."""
    assert not any(seen(library(np.sqrt, root_slope), ROOTS, Options(order=1, salt=salt)).findings for salt in range(8))
    broken = library(np.sqrt, lambda x: np.where(x == 0.37, np.nan, root_slope(x)))
    assert all(seen(broken, ROOTS, Options(order=1, salt=salt)).findings for salt in range(8))


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


@pytest.mark.parametrize("salt", range(6))
def test_a_remainder_that_moves_by_chance_has_no_part_in_what_is_disputed(salt):
    """Divided twice: the second remainder is of a number that has no digits left for it, and rises by nothing over any step. One that
    rises as much as is disputed is judged."""

    def twice(x):
        first = np.floor_divide(x, 2.0)
        return [np.floor_divide(first, 3.7), np.remainder(x, 2.0), np.remainder(first, 3.7)]

    def tangents(xs, us):
        return [0 * us[0], us[0], 0 * us[0]]

    numbers, options = [3.1e19, -4.7e19, 8.3e18], Options(order=1, salt=salt)
    assert not seen(ManyTarget(twice, tangents), numbers, options).findings
    steeper = ManyTarget(lambda x: [*twice(x)[:2], twice(x)[2] + x / 1024], tangents)
    assert seen(steeper, [5.1e15, -4.7e15], options).findings


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


@pytest.mark.parametrize("power", [0.4, 0.6, 0.7, 0.8, 0.9])
def test_a_cusp_has_no_slope_though_those_of_its_sides_cancel(power):
    def sharp(x):
        return np.exp(-(np.abs(x) ** power))

    def tangents(xs, us):
        (x,), (u,) = xs, us
        slope = np.where(x == 0, -np.inf, -power * np.sign(x) * np.abs(x) ** (power - 1) * sharp(x))
        return [np.where(u == 0, 0.0, slope * u)]

    def broken(xs, us):
        return [tangents(xs, us)[0] + np.where((xs[0] == 0.4) & (us[0] != 0), np.nan, 0.0)]

    for salt in range(8):
        options = Options(order=1, salt=salt)
        for numbers in ([0.0], [0.0, 0.4, -1.0]):
            assert not seen(ManyTarget(lambda x: [sharp(x)], tangents), numbers, options).findings
        assert seen(ManyTarget(lambda x: [sharp(x)], broken), [0.0, 0.4, -1.0], options).findings


@pytest.mark.parametrize("offset", [0.0, 300.0, -2e4])
def test_a_slope_that_changes_by_the_same_from_step_to_step_is_not_known(offset):
    """Of x·log(x) at the end of its domain, whatever is added to it. NaN at an end where the slope is known is a finding."""

    def entropy(x):
        return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)) + offset * x, np.where(x == 0, 0.0, np.nan))

    def entropy_slope(x):
        return np.where(x == 0, np.nan, np.log(np.where(x > 0, x, 1.0)) + 1.0 + offset)

    def power(x):
        return np.where(x >= 0, np.where(x >= 0, x, 0.0) ** 1.2 + offset * x + 3 * x, np.nan)

    for salt in range(6):
        options = Options(order=1, salt=salt)
        assert not seen(library(entropy, entropy_slope), [0.0, 0.5], options).findings
        assert seen(library(power, lambda x: np.where(x == 0, np.nan, 1.2 * x**0.2 + offset + 3)), [0.0, 0.5], options).findings


def eigenvalues(x):
    return [np.linalg.eigvals(x).real]


def by_vectors(xs, us):
    """As libraries have it: of equal eigenvalues the vectors are all but parallel, and what they are divided by is a rounding."""
    if np.ptp(xs[0]) == 0:
        return [1e15 * us[0][:, 1]]
    vectors = np.linalg.eig(xs[0])[1]
    return [np.linalg.solve(vectors, us[0] @ vectors).diagonal().real.copy()]


def test_equal_eigenvalues_have_no_derivative_and_what_is_said_of_them_may_be_anything():
    """Of a matrix of equal numbers all but one are zero. Where they differ a wrong derivative is wrong, and so is one of any size where
    slopes do not add up and have a bound."""
    equal = 'x = tensor((4, 4), "float64", full(0.3))\ny = torch.sin(x)\n'
    apart = 'x = tensor((3, 3), "float64", listed([1.0, 0.2, 0.3, 0.1, 2.0, 0.4, 0.5, 0.1, 3.5]))\ny = torch.sin(x)\n'
    for salt in range(8):
        options = Options(order=1, salt=salt)
        assert not seen(ManyTarget(eigenvalues, by_vectors), equal, options).findings
        assert seen(ManyTarget(eigenvalues, by_vectors, reverse_factor=1.5), apart, options).findings
        assert seen(NumpyTarget(folded, lambda x: [np.array([[1e15, 0.4]])]), [0.0, 0.0], options).findings


SCORES = (
    'x = tensor((1,), "float64", full({}))\na = tensor((3,), "float64", listed([0.7, -0.4, 0.2]))\n'
    'b = tensor((3,), "float64", listed([1.3, 0.6, -0.9]))\ny = torch.mul(x, a)\n'
)
KEYS = np.array([1.0, 0.3, 1.0])  # two are equal, and the largest


def attention(x, mask, values):
    scores = x[0] * KEYS + mask
    shares = np.exp(scores - scores.max())
    return shares / shares.sum(), values


def attended(x, mask, values):
    shares, values = attention(x, mask, values)
    return [np.array([shares @ values])]


def attended_tangents(factor):
    """`factor`: how wrong it is beside large scores, and beside others."""

    def tangents(xs, us):
        shares, values = attention(*xs)
        moved = us[0][0] * (KEYS - shares @ KEYS) + factor(xs[0][0]) * (us[1] - shares @ us[1])
        return [np.array([(shares * moved) @ values + shares @ us[2]])]

    return tangents


def test_what_is_lost_beside_large_numbers_is_judged_beside_smaller_ones():
    """A mask that is added to scores of 1e20 moves nothing; its derivative is the one beside smaller scores. It is wrong if it is wrong
    there, or if it is another one."""
    for salt in range(4):
        options = Options(order=1, salt=salt)
        for size in (1e20, 3e19):
            keys = SCORES.format(size)
            assert not seen(ManyTarget(attended, attended_tangents(lambda x: 1.0)), keys, options).findings
            assert seen(ManyTarget(attended, attended_tangents(lambda x: 1.5)), keys, options).findings
            assert seen(ManyTarget(attended, attended_tangents(lambda x: 1.5 if abs(x) > 1e15 else 1.0)), keys, options).findings


class Single(NumpyTarget):
    """What computes in single precision inside, and says so."""

    def point(self, program, arrays=None):
        point = super().point(program, arrays)
        point.unit = 2.0**-23
        return point


def test_an_agreement_in_single_precision_is_one_to_a_thousandth():
    def cast(x):
        return x.astype(np.float32).astype(np.float64)

    for salt in range(8):
        options = Options(order=1, salt=salt)
        for error in (1.0, 1.002, 1.5):
            agrees = seen(Single(cast, lambda x: [np.eye(x.size)], reverse_factor=error), [1.1], options).outcome == "agree"
            assert agrees == (error == 1.0)
