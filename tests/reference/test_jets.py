"""Jets: derivatives of any order, by identities that need no other library."""

import pytest
from flint import acb, arb, ctx

from gradfuzz.reference.jet import Depth, jet, together, variable
from gradfuzz.reference.semantics import meanings
from gradfuzz.reference.semantics.elementary import exp, log
from gradfuzz.reference.semantics.registry import FUNCTIONS

INVERSES = {
    "exp": "log",
    "sinh": "asinh",
    "tan": "atan",
    "tanh": "atanh",
    "expm1": "log1p",
    "erf": "erfinv",
    "sigmoid": "logit",
    "ndtr": "ndtri",
}
TWICE = {
    "sin": ("cos", 1),
    "sinh": ("cosh", 1),
    "i0": ("i1", 1),
    "j0": ("j1", -1),
    "k0": ("k1", -1),
    "lgamma": ("digamma", 1),
    "digamma": ("trigamma", 1),
}


@pytest.fixture(autouse=True)
def third_order():
    ctx.prec, Depth.order = 200, 3
    meanings()


def point(x):
    return variable(x, (1.0, 1.0, 1.0))


def of(name, x):
    return FUNCTIONS[name](x)[()]


def close(a, b):
    return bool(abs(a - b) < arb(2) ** -150)


@pytest.mark.parametrize("name", INVERSES)
def test_a_function_after_its_inverse_is_the_identity_in_every_order(name):
    x = point(0.37)
    back = of(INVERSES[name], of(name, x))
    assert all(close(a, b) for a, b in zip(back.c, x.c))


@pytest.mark.parametrize("name", TWICE)
def test_the_derivative_of_a_function_is_the_function_that_it_is_known_to_be(name):
    other, sign = TWICE[name]
    whole, slope = of(name, point(0.9)), of(other, point(0.9))
    assert close(whole.c[1], sign * slope.c[0]) and close(whole.c[3], sign * slope.c[1]) and close(whole.c[7], sign * slope.c[3])


def test_mixed_derivatives_of_a_product_are_those_of_its_factors():
    Depth.order = 2
    x, y = variable(3.0, (1.0, 0.0)), variable(5.0, (0.0, 1.0))
    found = x * x * y
    assert [float(c) for c in found.c] == [45.0, 30.0, 9.0, 6.0]


def test_a_function_of_two_numbers_by_its_gradient_keeps_its_identity_in_every_order():
    """Owen's T at (h, a) and at (ah, 1/a) together are what normal distributions are, whichever of the two moves along which direction."""
    h, a = variable(0.8, (1.0, 0.0, 1.0)), variable(1.7, (0.0, 1.0, 0.3))
    wide, narrow = (of("ndtr", x) for x in (h, a * h))
    both = FUNCTIONS["owens_t"](h, a)[()] + FUNCTIONS["owens_t"](a * h, 1 / a)[()]
    assert all(close(x, y) for x, y in zip(both.c, ((wide + narrow) / 2 - wide * narrow).c))


def test_constants_stay_constants_and_cost_nothing():
    assert (jet(2) * jet(3)).constant and variable(1.0, (0.0, 0.0)).constant


def test_complex_numbers_along_real_directions_need_not_be_holomorphic():
    Depth.order = 1
    z = together(variable(3.0, (1.0,)), jet(4.0))
    size = of("absolute", z)
    assert close(size.c[0], arb(5)) and close(size.c[1], arb(3) / 5)
    assert of("conjugate", z).c[0].imag == -4


def test_there_is_no_derivative_on_a_branch_cut():
    Depth.order = 1
    on = together(variable(-1.0, (1.0,)), variable(0.0, (1.0,))) * jet(acb(1, 0))
    off = together(variable(-1.0, (1.0,)), jet(0.5))
    assert not on.apply(log).c[1].is_finite() and off.apply(log).c[1].is_finite()


def test_far_out_exponentials_do_not_overflow():
    ctx.prec = 2048
    assert of("sigmoid", point(1e300)).c[0] > 0.99 and point(-1e300).apply(exp).c[0] < 1e-300
