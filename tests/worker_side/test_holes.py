"""What differences cannot see acquits nobody, and what they cannot see accuses nobody."""

import numpy as np
import pytest
from numpy_library import NumpyTarget

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import FORWARD, REVERSE
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")
SIZES = 200


def program(values, shape="(3, 4)"):
    return parse(f'x = tensor({shape}, "float64", {values})\ny = torch.sin(x)\n', TORCH)


def diagonal(slope):
    return lambda x: [np.diag(slope(x).ravel())]


def sine(**factors):
    return NumpyTarget(np.sin, diagonal(np.cos), **factors)


def outcomes(target):
    """At sizes from 1e-100 to 1e100."""
    sizes = [float(f"{10.0**e:.3g}") for e in np.linspace(-100, 100, SIZES)]
    return [examine(target, program(f"full({size})"), Options(order=1, salt=k)).outcome for k, size in enumerate(sizes)]


@pytest.mark.parametrize("factor", [2.0, 1 + 1e-3, 1 + 1e-6])
def test_a_wrong_sine_is_never_acquitted_whatever_the_size(factor):
    seen = outcomes(sine(reverse_factor=factor))
    assert "agree" not in seen and seen.count("disagree") >= 0.5 * SIZES


@pytest.mark.parametrize("factors", [{"forward_factor": np.nan}, {"reverse_factor": np.nan}])
def test_a_nan_is_never_acquitted_whichever_mode_gives_it(factors):
    looked = examine(sine(**factors), program("uniform(0.5, 1.0, seed=1)"), Options(order=1))
    assert looked.outcome == "disagree" and {f.kind for f in looked.findings} == {"nonfinite"}


def test_a_right_sine_is_never_accused_whatever_the_size():
    seen = outcomes(sine())
    assert "disagree" not in seen and seen.count("agree") >= 0.5 * SIZES


@pytest.mark.parametrize("salt", range(8))
def test_differences_that_alias_with_a_sine_accuse_nobody(salt):
    assert not examine(sine(), program("full(1.43e14)"), Options(order=1, salt=salt)).findings


@pytest.mark.parametrize("seed", range(10))
def test_a_denormal_excuses_only_itself(seed):
    values = f"planted(normal(seed={seed}), 5e-324, 13)"
    assert examine(sine(reverse_factor=1.5), program(values), Options(order=1, salt=seed)).findings
    sixth = NumpyTarget(np.sin, diagonal(lambda x: np.where(np.arange(x.size).reshape(x.shape) == 5, np.nan, np.cos(x))))
    (finding,) = examine(sixth, program(values), Options(order=1, salt=seed)).findings
    assert finding.kind == "nonfinite"


@pytest.mark.parametrize("values", ["full(1.0)", "planted(normal(seed=1), 1.0, 3)"])
def test_a_special_case_that_is_wrong_at_one_number_is_not_taken_for_rounding(values):
    threefold = NumpyTarget(lambda x: 3 * x, diagonal(lambda x: np.where(x == 1, 100.0, 3.0)))
    (finding,) = examine(threefold, program(values), Options(order=1)).findings
    assert finding.kind == "gradient"


def test_slopes_that_diverge_agree_with_nothing():
    """A cube root at 0, and an AD that says a number of the size of the slopes at the finest steps."""
    root = NumpyTarget(np.cbrt, diagonal(lambda x: np.where(x == 0, 1e4, 1 / (3 * np.cbrt(x) ** 2))))
    with np.errstate(all="ignore"):
        assert examine(root, program("full(0.0)"), Options(order=1)).outcome == "inconclusive"


def test_not_a_number_in_one_mode_does_not_hide_a_wrong_number_in_another():
    class Both(NumpyTarget):
        pass

    target = Both(np.sin, diagonal(np.cos), reverse_factor=1.5, forward_factor=np.nan)
    findings = examine(target, program("normal(seed=1)"), Options(order=1)).findings
    assert {(f.kind, f.scenarios[0]) for f in findings} == {("nonfinite", FORWARD), ("gradient", REVERSE)}


def test_a_derivative_that_is_exactly_zero_is_conclusive():
    for f, slope, values in [(np.cos, lambda x: -np.sin(x), "full(0.0)"), (np.ones_like, np.zeros_like, "normal(seed=1)")]:
        assert examine(NumpyTarget(f, diagonal(slope)), program(values), Options(order=1, strict=True)).outcome == "agree"


def test_a_jump_of_one_output_is_seen_beside_an_output_of_1e48():
    """floor at a whole number: not even a derivative of the other output that is wrong there can be told."""
    f = NumpyTarget(
        lambda x: np.concatenate([1e48 * x, np.floor(x)]), lambda x: [np.vstack([1e48 * np.eye(x.size), np.ones((x.size, x.size)) * 1e44])]
    )
    assert not examine(f, program("full(2.0)", "(1,)"), Options(order=1)).findings


def maximum(x):
    return x.max(keepdims=True).reshape(1)


def first_largest(x, factor=1.0):
    row = np.zeros((1, x.size))
    row[0, x.argmax()] = factor
    return [row]


def test_slopes_to_one_side_are_known_no_better_than_the_smallest_number():
    """A tie below the normal numbers: AD chooses one of the slopes, which are known to a few of their last places only."""
    tied, wrong = program("full(-1e-310)"), NumpyTarget(maximum, lambda x: first_largest(x, 1.5))
    for salt in range(60, 68):
        assert not examine(NumpyTarget(maximum, first_largest), tied, Options(order=1, salt=salt)).findings
    assert [f.kind for f in examine(wrong, tied, Options(order=1, salt=67)).findings] == ["kink"]


def through_denormals(x, y):
    """1e300 x² y, but for what is lost of y when it is halved below the normal numbers."""
    return x * x * (1e300 * (y / 2 * 2).sum())


def their_slope(x, y):
    return [np.diag(2 * x * (1e300 * y.sum()))]


DENORMALS = 'x = tensor((2,), "float64", listed([0.7, 1.3]))\ny = tensor((1,), "float64", listed([{}]), grad=False)\nz = torch.mul(x, y)\n'


def test_a_denormal_is_known_to_no_better_than_itself():
    """A half of 1.5e-323 is rounded to a whole unit of it, so that differences see another function than AD: any rounding of y would move
    their slope as far. Where y is a normal number it moves nothing, and one that counts for nothing excuses nothing."""
    three_units = parse(DENORMALS.format("1.5e-323"), TORCH)
    healthy = NumpyTarget(through_denormals, their_slope)
    assert not examine(healthy, three_units, Options(order=1)).findings
    beside = NumpyTarget(lambda x, y: x * x + y.sum(), lambda x, y: [np.diag(3 * x)])
    assert examine(beside, three_units, Options(order=1)).findings
    wrong = NumpyTarget(through_denormals, lambda x, y: [1.3 * their_slope(x, y)[0]])
    assert examine(wrong, parse(DENORMALS.format("1e-300"), TORCH), Options(order=1)).findings


REMAINDER = (
    'x = tensor((2,), "float64", listed([-1e-40, 0.7]))\ny = tensor((2,), "float64", listed([{}, 0.4]), grad=False)\nz = torch.mul(x, y)\n'
)


@pytest.mark.parametrize("salt", range(12))  # at some salts the weights are so small that nothing would be left of the smallest number
def test_stairs_that_fall_on_all_numbers_show_at_another_rounding(salt):
    """Every number is a multiple of 5e-324, and not of three times that. A function that rests at all roundings has no slope of one."""
    healthy = NumpyTarget(np.remainder, lambda x, y: [np.eye(2)])
    resting = NumpyTarget(lambda x, y: np.remainder(x, y) * (np.abs(x) > 1e-30), lambda x, y: [np.eye(2)])
    assert not examine(healthy, parse(REMAINDER.format("5e-324"), TORCH), Options(order=1, salt=salt)).findings
    assert examine(resting, parse(REMAINDER.format("5e-324"), TORCH), Options(order=1, salt=salt)).findings


def stairs_beside_jumps(x):
    """As a scan that goes on with a quotient: what is left of it, far away from zero, and what the quotient leaves; here all at a jump."""
    quotient = np.floor(1.0 / x)
    return np.concatenate([np.floor(quotient / 1.0901418572342914), np.fmod(1.0, x), np.fmod(quotient, 1.0901418572342914)])


def test_stairs_are_no_slope_where_another_output_jumps():
    """Half a jump away and less, the first output rests, as AD says; from afar it has a slope, which AD must not get wrong either."""
    x = np.array([1e-8])
    smooth = -1.0 / x**2 / 1.0901418572342914

    def slopes(first):
        return lambda x: [np.stack([first, -np.floor(1.0 / x), 0 * x])]

    for first, found in ((0 * x, False), (1.5 * smooth, True)):
        target = NumpyTarget(stairs_beside_jumps, slopes(first))
        assert any(examine(target, program("full(1e-8)", "(1,)"), Options(order=1, salt=salt)).findings for salt in range(4)) == found
