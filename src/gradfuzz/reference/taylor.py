"""Taylor coefficients of functions of one number: FLINT's series where it has them, a value and the series of the slope elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import acb, acb_series, arb, arb_series

from gradfuzz.reference.jet import NAN, Ball, Taylor

Series = Any
_MORE = 1  # a series has to be a term longer than the last coefficient's number


def _identity(x: Ball, terms: int) -> Series:
    return (acb_series if isinstance(x, acb) else arb_series)([x, 1], prec=terms)


def coefficients(series: Series, n: int) -> list[Ball]:
    found = series.coeffs() if isinstance(series, (arb_series, acb_series)) else [series]
    return list(found[: n + 1]) + [arb(0)] * (n + 1 - len(found))


def by_series(function: Callable[[Series], Series], value: Callable[[Ball], Ball] | None = None) -> Taylor:
    """A function that FLINT knows as a series. `value`: by itself, where that is sharper or cheaper."""

    def taylor(x: Ball, n: int) -> list[Ball]:
        if n == 0 and value is not None:
            return [value(x)]
        return coefficients(function(_identity(x, n + _MORE)), n)

    return taylor


def by_slope(value: Callable[[Ball], Ball], slope: Callable[[Series], Series]) -> Taylor:
    """A function by its value, and the series of its derivative."""

    def taylor(x: Ball, n: int) -> list[Ball]:
        found = [value(x)]
        if n:
            found += [c / m for m, c in enumerate(coefficients(slope(_identity(x, n)), n - 1), 1)]
        return found

    return taylor


def by_own_slope(value: Callable[[Ball], Ball], slope: Callable[[Series, Series], Series]) -> Taylor:
    """A function f with f′ = slope(x, f): an inverse function, most often."""

    def taylor(x: Ball, n: int) -> list[Ball]:
        found = [value(x)]
        for m in range(1, n + 1):
            kind = acb_series if isinstance(x, acb) else arb_series
            so_far = kind(found, prec=m)
            found.append(coefficients(slope(_identity(x, m), so_far), m - 1)[m - 1] / m)
        return found

    return taylor


def by_derivatives(derivative: Callable[[int, Ball], Ball]) -> Taylor:
    """A function whose derivatives are known one by one."""

    def taylor(x: Ball, n: int) -> list[Ball]:
        factorial, found = 1, []
        for m in range(n + 1):
            factorial *= m or 1
            found.append(derivative(m, x) / factorial)
        return found

    return taylor


def off_the_cut(taylor: Taylor, cut: Callable[[arb, arb], bool]) -> Taylor:
    """No derivative on a branch cut, nor where it cannot be told whether the number lies on it; real numbers have none to speak of."""

    def guarded(x: Ball, n: int) -> Any:
        found = taylor(x, n)
        if n and isinstance(x, acb) and cut(x.real, x.imag):
            return [found[0], *[NAN] * n]
        return found

    return guarded


def negative_reals(re: arb, im: arb) -> bool:
    return bool(im.contains(0)) and not re > 0


def beyond_one(re: arb, im: arb) -> bool:
    return bool(im.contains(0)) and not abs(re) < 1


def imaginary_beyond_one(re: arb, im: arb) -> bool:
    return bool(re.contains(0)) and not abs(im) < 1


def below_one(re: arb, im: arb) -> bool:
    return bool(im.contains(0)) and not re > 1
