"""The numerical derivative: right within its own error bar, and honest where there is no derivative."""

import math

import numpy as np
import pytest

from gradfuzz.numdiff.ladder import estimate, noise_level

UNIT = 2.0**-52


def at(f, x, scale=1.0):
    line = lambda t: np.array([f(x + t * scale)])  # noqa: E731
    return estimate(line, line(0.0), UNIT)


SMOOTH = [
    (math.sin, math.cos, 1.0),
    (math.exp, math.exp, -3.0),
    (lambda x: 1 / x, lambda x: -1 / x**2, 0.3),
    (lambda x: x**3, lambda x: 3 * x**2, 100.0),
    (lambda x: 5.0, lambda x: 0.0, 1.0),
    (lambda x: math.sin(50 * x), lambda x: 50 * math.cos(50 * x), 0.7),
    (lambda x: 1e6 + x, lambda x: 1.0, 2.0),
]


@pytest.mark.parametrize("f, slope, x", SMOOTH)
def test_smooth_functions_are_right_within_the_error_bar(f, slope, x):
    found = at(f, x, max(1.0, abs(x)))
    wanted = slope(x) * max(1.0, abs(x))
    assert abs(found.value - wanted) <= 8 * found.error + 1e-13 * abs(wanted)
    assert found.error <= 1e-7 * max(abs(wanted), 1e-3)
    assert not found.kink and not found.one_sided


def test_a_kink_shows_in_the_one_sided_slopes():
    found = at(abs, 0.0)
    assert found.kink
    low, high = found.interval()
    assert low == pytest.approx(-1.0, rel=1e-3) and high == pytest.approx(1.0, rel=1e-3)


def test_an_edge_of_the_domain_is_one_sided():
    found = at(lambda x: math.sqrt(x) if x >= 0 else math.nan, 0.0)
    assert found.one_sided and not found.usable


def test_a_function_that_loses_digits_has_a_larger_error_bar():
    def tail(x):
        return 0.5 * (1.0 + math.erf(x / math.sqrt(2)))

    x = -6.0
    found = at(tail, x, 6.0)
    wanted = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * 6.0
    assert abs(found.value - wanted) <= 8 * found.error
    line = lambda t: np.array([tail(x + 6.0 * t)])  # noqa: E731
    assert noise_level(line, line(0.0))[0] > 1e-18


def test_a_line_of_changing_length_settles_nothing():
    found = estimate(lambda t: np.ones(1 if t > 0 else 2), np.ones(2), UNIT)
    assert not found.usable


def test_a_kink_of_an_even_function_at_its_zero_is_a_kink_and_not_noise():
    found = estimate(lambda t: np.array([1.7 * abs(t)]), np.zeros(1), 2.0**-52)
    assert found.usable and found.kink and abs(found.value) < 1e-9
