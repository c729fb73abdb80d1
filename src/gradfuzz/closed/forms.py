"""Closed forms: functions with their first and second derivatives, as exactly as asked, by mpmath.

A form gives (f, f′, f″) at a number. Formulas may cancel: they are evaluated with more and more digits until two evaluations agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradfuzz.errors import GradfuzzError

try:
    from mpmath import mp, mpf
except ImportError:
    mp = mpf = None

Number = Any
Form = Callable[[Number], tuple[Number, Number, Number]]

# Digits to begin with, and for each decade that x is away from 1: a formula may cancel up to the fourth power of x, and two
# precisions that both lose everything would agree. Then twice as many, and so on; two in a row that agree to AGREED digits settle it.
DIGITS, DIGITS_PER_DECADE, DOUBLINGS = 40, 4, 3
AGREED = 22


def exact(name: str, x: float) -> tuple[Number, Number, Number] | None:
    """f, f′ and f″ at x, good to more digits than a double has; None outside the domain and where no precision settles."""
    if mp is None:
        raise GradfuzzError("closed forms need mpmath; install it with: pip install 'gradfuzz[accuracy]'")
    before: tuple[Number, ...] | None = None
    first = DIGITS + DIGITS_PER_DECADE * abs(math.log10(abs(x)))
    for doubling in range(DOUBLINGS + 1):
        with mp.workdps(int(first * 2**doubling)):
            try:
                now = tuple(mpf(part) for part in FORMS[name](mpf(x)))
            except (ValueError, ZeroDivisionError, TypeError, OverflowError, ArithmeticError):
                return None
            if before is not None and all(_agree(a, b) for a, b in zip(before, now)):
                return now[0], now[1], now[2]
            before = now
    return None


def _agree(a: Number, b: Number) -> bool:
    return bool(mp.isfinite(b) and abs(a - b) <= abs(b) * mpf(10) ** -AGREED)


def _gauss(x: Number) -> Number:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _erf(x: Number) -> tuple[Number, Number, Number]:
    slope = 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)
    return mp.erf(x), slope, -2 * x * slope


def _erfc(x: Number) -> tuple[Number, Number, Number]:
    slope = -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)
    return mp.erfc(x), slope, -2 * x * slope


def _erfcx(x: Number) -> tuple[Number, Number, Number]:
    value = mp.exp(x * x) * mp.erfc(x)
    slope = 2 * x * value - 2 / mp.sqrt(mp.pi)
    return value, slope, 2 * value + 2 * x * slope


def _erfinv(x: Number) -> tuple[Number, Number, Number]:
    _inside(-1 < x < 1)
    value = mp.erfinv(x)
    slope = mp.sqrt(mp.pi) / 2 * mp.exp(value * value)
    return value, slope, 2 * value * slope * slope


def _lgamma(x: Number) -> tuple[Number, Number, Number]:
    return mp.re(mp.loggamma(x)), _psi(0, x), _psi(1, x)


def _psi(order: int, x: Number) -> Number:
    """ψ of an order up to four. Below zero by reflection: a recurrence would take as many steps as x is large."""
    if x > 0:
        return mp.psi(order, x)
    _inside(x != mp.floor(x))
    cot, csc2 = 1 / mp.tan(mp.pi * x), 1 / mp.sin(mp.pi * x) ** 2
    reflected = (
        -mp.pi * cot,
        mp.pi**2 * csc2,
        -2 * mp.pi**3 * cot * csc2,
        2 * mp.pi**4 * (csc2**2 + 2 * cot**2 * csc2),
        -8 * mp.pi**5 * (2 * csc2**2 * cot + cot**3 * csc2),
    )[order]
    return (-1) ** order * mp.psi(order, 1 - x) + reflected


def _polygamma(order: int) -> Form:
    return lambda x: (_psi(order, x), _psi(order + 1, x), _psi(order + 2, x))


def _zeta(s: Number) -> Form:
    def form(x: Number) -> tuple[Number, Number, Number]:
        _inside(x > 0)
        return mp.zeta(s, x), -s * mp.zeta(s + 1, x), s * (s + 1) * mp.zeta(s + 2, x)

    return form


def _i0(x: Number) -> tuple[Number, Number, Number]:
    zero, one = mp.besseli(0, x), mp.besseli(1, x)
    return zero, one, zero - one / x


def _i1(x: Number) -> tuple[Number, Number, Number]:
    zero, one = mp.besseli(0, x), mp.besseli(1, x)
    slope = zero - one / x
    return one, slope, one + one / x**2 - slope / x


def _scaled(bessel: Form) -> Form:
    """exp(-|x|) times a form."""

    def form(x: Number) -> tuple[Number, Number, Number]:
        value, slope, bend = bessel(x)
        sign, small = mp.sign(x), mp.exp(-abs(x))
        return small * value, small * (slope - sign * value), small * (bend - 2 * sign * slope + value)

    return form


def _ndtr(x: Number) -> tuple[Number, Number, Number]:
    return mp.erfc(-x / mp.sqrt(2)) / 2, _gauss(x), -x * _gauss(x)


def _log_ndtr(x: Number) -> tuple[Number, Number, Number]:
    below = mp.erfc(-x / mp.sqrt(2)) / 2
    ratio = _gauss(x) / below
    return mp.log(below), ratio, -ratio * (x + ratio)


def _ndtri(x: Number) -> tuple[Number, Number, Number]:
    _inside(0 < x < 1)
    value = mp.sqrt(2) * mp.erfinv(2 * x - 1)
    slope = 1 / _gauss(value)
    return value, slope, value * slope * slope


def _sinc(x: Number) -> tuple[Number, Number, Number]:
    p = mp.pi * x
    sine, cosine = mp.sin(p), mp.cos(p)
    slope = (cosine - sine / p) / x
    return sine / p, slope, -(mp.pi**2) * sine / p - 2 * slope / x


def _entr(x: Number) -> tuple[Number, Number, Number]:
    _inside(x > 0)
    return -x * mp.log(x), -mp.log(x) - 1, -1 / x


def _rsqrt(x: Number) -> tuple[Number, Number, Number]:
    _inside(x > 0)
    root = 1 / mp.sqrt(x)
    return root, -root / (2 * x), 3 * root / (4 * x * x)


def _log1p(x: Number) -> tuple[Number, Number, Number]:
    _inside(x > -1)
    return mp.log(1 + x), 1 / (1 + x), -1 / (1 + x) ** 2


def _tanh(x: Number) -> tuple[Number, Number, Number]:
    slope = 1 / mp.cosh(x) ** 2
    return mp.tanh(x), slope, -2 * mp.tanh(x) * slope


def _sigmoid(x: Number) -> tuple[Number, Number, Number]:
    value, rest = 1 / (1 + mp.exp(-x)), 1 / (1 + mp.exp(x))
    return value, value * rest, value * rest * (rest - value)


def _softplus(x: Number) -> tuple[Number, Number, Number]:
    value, slope, _ = _sigmoid(x)
    return mp.log(1 + mp.exp(x)), value, slope


def _logsigmoid(x: Number) -> tuple[Number, Number, Number]:
    value, slope, bend = _softplus(-x)
    return -value, slope, -bend


def _gelu(x: Number) -> tuple[Number, Number, Number]:
    below, dense, _ = _ndtr(x)
    return x * below, below + x * dense, dense * (2 - x * x)


def _silu(x: Number) -> tuple[Number, Number, Number]:
    value, slope, bend = _sigmoid(x)
    return x * value, value + x * slope, 2 * slope + x * bend


def _atanh(x: Number) -> tuple[Number, Number, Number]:
    _inside(-1 < x < 1)
    return mp.atanh(x), 1 / (1 - x * x), 2 * x / (1 - x * x) ** 2


def _asinh(x: Number) -> tuple[Number, Number, Number]:
    root = mp.sqrt(1 + x * x)
    return mp.asinh(x), 1 / root, -x / root**3


def _acosh(x: Number) -> tuple[Number, Number, Number]:
    _inside(x > 1)
    root = mp.sqrt(x * x - 1)
    return mp.acosh(x), 1 / root, -x / root**3


def _inside(domain: bool) -> None:
    if not domain:
        raise ValueError("outside the domain")


FORMS: dict[str, Form] = {
    "digamma": _polygamma(0),
    "polygamma 1": _polygamma(1),
    "polygamma 2": _polygamma(2),
    "lgamma": _lgamma,
    "zeta 2.5": lambda x: _zeta(mpf(5) / 2)(x),
    "erf": _erf,
    "erfc": _erfc,
    "erfcx": _erfcx,
    "erfinv": _erfinv,
    "i0": _i0,
    "i0e": _scaled(_i0),
    "i1": _i1,
    "i1e": _scaled(_i1),
    "ndtr": _ndtr,
    "log_ndtr": _log_ndtr,
    "ndtri": _ndtri,
    "sinc": _sinc,
    "entr": _entr,
    "reciprocal": lambda x: (1 / x, -1 / x**2, 2 / x**3),
    "rsqrt": _rsqrt,
    "expm1": lambda x: (mp.exp(x) - 1, mp.exp(x), mp.exp(x)),
    "log1p": _log1p,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "logsigmoid": _logsigmoid,
    "gelu": _gelu,
    "silu": _silu,
    "atanh": _atanh,
    "asinh": _asinh,
    "acosh": _acosh,
}
