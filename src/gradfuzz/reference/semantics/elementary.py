"""Elementary functions: arithmetic, powers, exponentials, logarithms, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from flint import acb, arb

from gradfuzz.reference.arrays import elementwise
from gradfuzz.reference.jet import NAN, ZERO, Ball, Jet, jet, reciprocal, together
from gradfuzz.reference.semantics.registry import analytic, each, meaning
from gradfuzz.reference.taylor import (
    below_one,
    beyond_one,
    by_own_slope,
    by_series,
    by_slope,
    imaginary_beyond_one,
    negative_reals,
    off_the_cut,
)


@meaning
def add(*arrays: Any) -> Any:
    return elementwise(lambda *items: sum(items[1:], items[0]), *arrays)


@each
def subtract(a: Jet, b: Jet) -> Jet:
    return a - b


@each
def multiply(a: Jet, b: Jet) -> Jet:
    return a * b


@each
def divide(a: Jet, b: Jet) -> Jet:
    return a / b


@each
def negative(a: Jet) -> Jet:
    return -a


@each
def square(a: Jet) -> Jet:
    return a * a


exp = by_series(lambda s: s.exp(), lambda x: x.exp())
log = off_the_cut(by_series(lambda s: s.log(), lambda x: x.log()), negative_reals)
sqrt_away = off_the_cut(by_series(lambda s: s.sqrt(), lambda x: x.sqrt()), negative_reals)


def sqrt(x: Ball, n: int) -> Any:
    """At zero the value is zero and there is no slope."""
    return [x, *[NAN] * n] if x == 0 else sqrt_away(x, n)


rsqrt = off_the_cut(by_series(lambda s: s.rsqrt(), lambda x: x.rsqrt()), negative_reals)
log1p = off_the_cut(by_slope(lambda x: x.log1p(), lambda s: (1 + s).inv()), lambda re, im: negative_reals(1 + re, im))
expm1 = by_slope(lambda x: x.expm1(), lambda s: s.exp())
sinh = by_series(lambda s: (s.exp() - (-s).exp()) / 2, lambda x: x.sinh())
cosh = by_series(lambda s: (s.exp() + (-s).exp()) / 2, lambda x: x.cosh())


def tanh_slope(s: Any) -> Any:
    """1/cosh², written so that neither tail cancels."""
    e = (-2 * s).exp() if _positive(s) else (2 * s).exp()
    return 4 * e / ((1 + e) * (1 + e))


def _positive(s: Any) -> bool:
    first = s.coeffs()[:1]
    return bool(first) and bool((first[0].real if isinstance(first[0], acb) else first[0]) > 0)


tanh = by_slope(lambda x: x.tanh(), tanh_slope)
sin = by_series(lambda s: s.sin(), lambda x: x.sin())
cos = by_series(lambda s: s.cos(), lambda x: x.cos())
tan = by_series(lambda s: s.tan(), lambda x: x.tan())
asin = off_the_cut(by_slope(lambda x: x.asin(), lambda s: (1 - s).rsqrt() * (1 + s).rsqrt()), beyond_one)
acos = off_the_cut(by_slope(lambda x: x.acos(), lambda s: -((1 - s).rsqrt()) * (1 + s).rsqrt()), beyond_one)
atan = off_the_cut(by_slope(lambda x: x.atan(), lambda s: (1 + s * s).inv()), imaginary_beyond_one)
asinh = off_the_cut(by_slope(lambda x: x.asinh(), lambda s: (1 + s * s).rsqrt()), imaginary_beyond_one)
acosh = off_the_cut(by_slope(lambda x: x.acosh(), lambda s: (s - 1).rsqrt() * (s + 1).rsqrt()), below_one)
atanh = off_the_cut(by_slope(lambda x: x.atanh(), lambda s: (1 - s * s).inv()), beyond_one)

for _name, _taylor in {
    "exp": exp, "log": log, "sqrt": sqrt, "rsqrt": rsqrt, "log1p": log1p, "expm1": expm1, "sinh": sinh, "cosh": cosh, "tanh": tanh,
    "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan, "asinh": asinh, "acosh": acosh, "atanh": atanh,
    "reciprocal": reciprocal,
}.items():  # fmt: skip
    analytic(_name, _taylor)


@each
def log2(a: Jet) -> Jet:
    return a.apply(log) / arb(2).log()


@each
def log10(a: Jet) -> Jet:
    return a.apply(log) / arb(10).log()


@each
def exp2(a: Jet) -> Jet:
    return (a * arb(2).log()).apply(exp)


@each
def radians(a: Jet) -> Jet:
    return a * (arb.pi() / 180)


@each
def degrees(a: Jet) -> Jet:
    return a * (180 / arb.pi())


@each
def logaddexp(a: Jet, b: Jet) -> Jet:
    """Around the larger one, so that nothing overflows: which one that is does not matter to the result."""
    if a.complex or b.complex or (b.value - a.value) > 0:
        a, b = b, a
    return a + (b - a).apply(exp).apply(log1p)


def whole(x: Ball) -> int | None:
    """The whole number that a ball is, exactly."""
    if isinstance(x, acb):
        return whole(x.real) if x.imag == 0 else None
    found = x.unique_fmpz()
    return int(found) if found is not None and x.is_exact() else None


MOST_POWER = 4096  # whole powers up to this are products: exact for negative numbers and at zero


def power_of(a: Jet, n: int) -> Jet:
    """A whole power."""
    if n < 0:
        return power_of(a, -n).apply(reciprocal)
    result, square_ = jet(1), a
    while n:
        if n & 1:
            result = result * square_
        n >>= 1
        if n:
            square_ = square_ * square_
    return result


def power_of_jets(a: Jet, b: Jet) -> Jet:
    n = whole(b.value)
    if b.constant and n is not None and abs(n) <= MOST_POWER:
        return power_of(a, n)
    if not a.complex and not b.complex and a.value == 0 and b.value > 0:
        # The slope along b is zero. Along a it is zero where b is large enough for all the orders asked for.
        flat = a.constant or (b.constant and b.value > len(a.c).bit_length() - 1)
        longer = a if len(a.c) > len(b.c) else b
        return longer.with_slopes(ZERO, ZERO if flat else NAN)
    if a.complex and a.value == 0:
        return a.with_slopes(ZERO, NAN)
    return (b * a.apply(log)).apply(exp)


@each
def power(a: Jet, b: Jet) -> Jet:
    return power_of_jets(a, b)


@each
def hypot(a: Jet, b: Jet) -> Jet:
    return (a * a + b * b).apply(sqrt)


def atan2_of(y: Jet, x: Jet) -> Jet:
    """The angle of x + iy. Its cut is the negative half of the x axis."""
    if y.constant and x.constant:
        return Jet((arb.atan2(y.value, x.value),))
    found = together(x, y).apply(off_the_cut(by_series(lambda s: s.log()), negative_reals)).imag
    return Jet((arb.atan2(y.value, x.value), *found.c[1:]))


@each
def atan2(y: Jet, x: Jet) -> Jet:
    return atan2_of(y, x)


@each
def sinc(a: Jet) -> Jet:
    """sin(πx)/(πx), by its power series around zero."""
    x = a * arb.pi()
    if a.value == 0:
        return _sinc_at_zero(x)
    return x.apply(sin) / x


def _sinc_at_zero(x: Jet) -> Jet:
    squared, term, total = x * x, jet(1), jet(1)
    for k in range(1, 4):
        term = term * squared / (-2 * k * (2 * k + 1))
        total = total + term
    return total


def _cube_root(x: Ball, n: int) -> Any:
    if isinstance(x, acb):
        raise NotImplementedError("complex cube roots")
    if x < 0:
        return [-c * (-1) ** k for k, c in enumerate(_cube_root(-x, n))]
    if x == 0:
        return [x, *[NAN] * n]
    return by_own_slope(lambda y: y.root(3), lambda s, f: f / (3 * s))(x, n)


analytic("cube_root", _cube_root)


@meaning
def pi() -> Any:
    return arb.pi()
