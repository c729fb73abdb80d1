"""Jets: a number and its derivatives along several directions at once, each coefficient a ball that holds the true one.

A jet is a polynomial in ε₁ … εₖ with εᵢ² = 0, one ε for each differentiation. The coefficient of ε₁⋯εₖ of F(x + ε₁u₁ + … + εₖuₖ) is the
k-th derivative of F along u₁ … uₖ. So one multiplication rule and the Taylor coefficients of functions of one number give derivatives
of any order, complex numbers included: the directions are real, and nothing need be holomorphic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from flint import acb, arb

Ball = Any  # arb, or acb for complex numbers
# (x, n) -> the Taylor coefficients 0 … n of a function at x
Taylor = Callable[[Ball, int], Sequence[Ball]]

ZERO, ONE, NAN = arb(0), arb(1), arb("nan")


class Depth:
    """How many directions there are, like FLINT's own precision a setting of the process."""

    order = 0


def kinked(value: Ball) -> Jet:
    """A number that has no slope."""
    return Jet((value, *[NAN] * (2**Depth.order - 1)))


class Jet:
    """Coefficients by the set of ε they belong to, as bits; a constant has the first alone."""

    __slots__ = ("c",)

    def __init__(self, c: tuple[Ball, ...]) -> None:
        self.c = c

    @property
    def value(self) -> Ball:
        return self.c[0]

    @property
    def constant(self) -> bool:
        return len(self.c) == 1

    @property
    def top(self) -> Ball:
        """The derivative along all the directions; a constant has none."""
        return self.c[-1]

    def map(self, function: Callable[[Ball], Ball]) -> Jet:
        """A real-linear function of each coefficient."""
        return Jet(tuple([function(x) for x in self.c]))

    def __neg__(self) -> Jet:
        return Jet(tuple([-x for x in self.c]))

    def __add__(self, other: Any) -> Jet:
        a, b = self.c, jet(other).c
        if len(a) < len(b):
            a, b = b, a
        if len(b) == 1:
            return Jet((a[0] + b[0], *a[1:]))
        return Jet(tuple([x + y for x, y in zip(a, b)]))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + -jet(other)

    def __rsub__(self, other: Any) -> Jet:
        return jet(other) + -self

    def __mul__(self, other: Any) -> Jet:
        a, b = self.c, jet(other).c
        if len(a) < len(b):
            a, b = b, a
        if len(b) == 1:
            y = b[0]
            return Jet(tuple([x * y for x in a]))
        if len(a) == 2:
            return Jet((a[0] * b[0], a[0] * b[1] + a[1] * b[0]))
        return Jet(tuple([sum([a[s] * b[t] for s, t in pairs[1:]], a[pairs[0][0]] * b[pairs[0][1]]) for pairs in _splits(len(a))]))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        return self * jet(other).apply(reciprocal)

    def __rtruediv__(self, other: Any) -> Jet:
        return jet(other) * self.apply(reciprocal)

    def apply(self, taylor: Taylor) -> Jet:
        """f of this jet, by the Taylor coefficients of f at its value."""
        c = self.c
        if len(c) == 1:
            return Jet((taylor(c[0], 0)[0],))
        order = len(c).bit_length() - 1
        a = taylor(c[0], order)
        rest = Jet((ZERO, *c[1:]))
        total = Jet((a[0], *[a[1] * x for x in c[1:]]))
        power = rest
        for m in range(2, order + 1):
            power = power * rest
            total = total + power * Jet((a[m],))
        return total

    def with_slopes(self, value: Ball, slope: Ball) -> Jet:
        """The given value; every derivative of it is `slope` (zero for what is constant nearby, NaN for what has none)."""
        return Jet((value, *[slope] * (len(self.c) - 1)))

    @property
    def complex(self) -> bool:
        return any(isinstance(x, acb) for x in self.c)

    @property
    def real(self) -> Jet:
        return self.map(_real)

    @property
    def imag(self) -> Jet:
        return self.map(_imag)

    @property
    def conj(self) -> Jet:
        return self.map(lambda x: x.conjugate() if isinstance(x, acb) else x)


def jet(number: Any) -> Jet:
    """A number as a constant, exactly."""
    if isinstance(number, Jet):
        return number
    if isinstance(number, (arb, acb)):
        return Jet((number,))
    if isinstance(number, complex) or (hasattr(number, "dtype") and number.dtype.kind == "c"):
        return Jet((acb(float(number.real), float(number.imag)),))
    return Jet((arb(int(number)) if isinstance(number, int) else arb(float(number)),))


def variable(value: Any, slopes: Sequence[Any]) -> Jet:
    """The number x + Σ slopesᵢ εᵢ; a constant where all the slopes are zero."""
    if not any(slopes):
        return jet(value)
    c = [jet(value).value] + [ZERO] * (2 ** len(slopes) - 1)
    for i, slope in enumerate(slopes):
        c[1 << i] = jet(slope).value
    return Jet(tuple(c))


def by_gradient(value: Ball, slopes: Sequence[tuple[Jet, Jet]]) -> Jet:
    """A function of several numbers by its value and its partial derivatives, each an argument with the derivative along it.

    The coefficient of ε₁⋯εₖ is that of ε₂⋯εₖ in the derivative along ε₁, which the chain rule gives.
    """
    c = [value]
    for mask in range(1, max(len(argument.c) for argument, _ in slopes)):
        bit = mask & -mask
        terms = [(slope * _along(argument, bit)).c for argument, slope in slopes if not argument.constant]
        rest = [term[mask ^ bit] for term in terms]
        c.append(sum(rest[1:], rest[0]))
    return Jet(tuple(c))


def _along(number: Jet, bit: int) -> Jet:
    """The derivative of a jet along one ε: what is left of the coefficients that it belongs to."""
    return Jet(tuple([ZERO if mask & bit else number.c[mask | bit] for mask in range(len(number.c))]))


def together(real: Jet, imag: Jet) -> Jet:
    """real + i·imag"""
    return real + imag * Jet((acb(0, 1),))


def reciprocal(x: Ball, n: int) -> list[Ball]:
    inverse = 1 / x
    found = [inverse]
    for _ in range(n):
        found.append(-found[-1] * inverse)
    return found


@lru_cache(maxsize=8)
def _splits(size: int) -> list[list[tuple[int, int]]]:
    """For each set of ε, the ways to split it in two."""
    return [[(s, mask ^ s) for s in range(mask + 1) if s & mask == s] for mask in range(size)]


def _real(x: Ball) -> Ball:
    return x.real if isinstance(x, acb) else x


def _imag(x: Ball) -> Ball:
    return x.imag if isinstance(x, acb) else ZERO * 0
