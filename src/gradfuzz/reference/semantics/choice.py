"""Choices: comparisons, maxima, clamps, rounding, sorting. Decided by rigorous comparison; an undecided one is a kink and has no slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from gradfuzz.reference.arrays import Array, along, axes_of, box, elementwise, is_jets, lift, lines
from gradfuzz.reference.jet import NAN, ZERO, Ball, Jet, jet, kinked, together
from gradfuzz.reference.semantics.elementary import atan2_of, sqrt
from gradfuzz.reference.semantics.registry import each, meaning


@dataclass(frozen=True)
class Edge:
    """A truth value that the slightest move may change; `flag` None: it cannot be told at all."""

    flag: bool | None


def real(x: Jet) -> Ball:
    return x.value.real


def fixed(a: Jet) -> bool:
    return a.constant or all(x == 0 for x in a.c[1:])


def sign_of(a: Jet) -> int | None:
    """-1, 0 or 1; None where it cannot be told."""
    x = real(a)
    return 1 if x > 0 else -1 if x < 0 else 0 if x == 0 else None


def alike(a: Jet, b: Jet) -> bool:
    """Whether two jets are the same number moving alike."""
    if a is b:
        return True
    difference = a - b
    return all(x == 0 for x in difference.c)


def choose(flag: Any, a: Jet, b: Jet) -> Jet:
    if isinstance(flag, Edge):
        if alike(a, b):
            return a
        if flag.flag is None:
            value = a.value.union(b.value)
        else:
            value = (a if flag.flag else b).value
        return kinked(value)
    return a if flag else b


@meaning
def where(condition: Any, a: Any = None, b: Any = None) -> Array:
    flags = condition if isinstance(condition, np.ndarray) and not is_jets(condition) else truth(condition)
    flags, x, y = np.broadcast_arrays(np.asarray(flags, object), lift(a), lift(b))
    found = np.empty(flags.shape, object)
    for place in np.ndindex(*flags.shape):
        found[place] = choose(flags[place], jet(x[place]), jet(y[place]))
    return found


@meaning
def rows(x: Any, index: Any) -> Array:
    """The rows that whole numbers choose."""
    return lift(x)[np.asarray(index)]


@meaning
def truth(x: Any) -> Array:
    """Numbers as truth values."""
    if is_jets(x):
        return _compared(x, 0, lambda s: s != 0)
    return np.asarray(x).astype(bool)


def _compared(a: Any, b: Any, decide: Any) -> Array:
    if not is_jets(a) and not is_jets(b) and not isinstance(a, Jet) and not isinstance(b, Jet):
        plain_a, plain_b = np.asarray(a), np.asarray(b)
        if plain_a.dtype.kind in "biuf" and plain_b.dtype.kind in "biuf":
            return np.vectorize(decide, otypes=[object])(np.sign(plain_a * 1.0 - plain_b * 1.0))

    def one(x: Jet, y: Jet) -> Any:
        difference = x - y
        sign = sign_of(difference)
        if sign is None:
            return Edge(None)
        return decide(sign) if sign or fixed(difference) else Edge(bool(decide(0)))

    return elementwise(one, a, b)


@meaning
def greater(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s > 0)


@meaning
def greater_equal(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s >= 0)


@meaning
def less(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s < 0)


@meaning
def less_equal(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s <= 0)


@meaning
def equal(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s == 0)


@meaning
def not_equal(a: Any, b: Any) -> Array:
    return _compared(a, b, lambda s: s != 0)


@meaning
def logical(word: str, a: Any, b: Any = False) -> Array:
    """and, or, xor of two truth values, or `not` of one, as numbers: a number is true that is not zero."""
    true = {"and": ((1, 1),), "or": ((0, 1), (1, 0), (1, 1)), "xor": ((0, 1), (1, 0)), "not": ((0, 0),)}[word]

    def one(x: Any, y: Any) -> Jet:
        edge = any(isinstance(flag, Edge) for flag in (x, y))
        return kinked(ZERO.union(ZERO + 1)) if edge else jet(int((bool(x), bool(y)) in true))

    flags = np.broadcast_arrays(*(np.asarray(truth(x), object) for x in (a, b)))
    return np.frompyfunc(one, 2, 1)(*flags)


def larger(a: Jet, b: Jet) -> Jet:
    sign = sign_of(a - b)
    return a if sign == 1 else b if sign == -1 else choose(Edge(True if sign == 0 else None), a, b)


def smaller(a: Jet, b: Jet) -> Jet:
    return -larger(-a, -b)


@each
def maximum(a: Jet, b: Jet) -> Jet:
    return larger(a, b)


@each
def minimum(a: Jet, b: Jet) -> Jet:
    return smaller(a, b)


def size_of(a: Jet) -> Jet:
    """The absolute value."""
    if a.complex:
        return (a.real * a.real + a.imag * a.imag).apply(sqrt)
    sign = sign_of(a)
    if sign is None:
        return kinked(abs(a.value))
    return a if sign > 0 else -a if sign < 0 else choose(Edge(True), a, -a)


@each
def absolute(a: Jet) -> Jet:
    return size_of(a)


@each
def sign(a: Jet) -> Jet:
    """x/|x|, zero at zero."""
    if a.complex:
        return a.with_slopes(ZERO, NAN) if a.value == 0 else a / size_of(a)
    found = sign_of(a)
    if found is None:
        return a.with_slopes(a.value.sgn(), NAN)
    return a.with_slopes(arb(found), ZERO if found or fixed(a) else NAN)


@meaning
def clip(x: Any, low: Any = None, high: Any = None) -> Array:
    found = lift(x)
    if low is not None:
        found = elementwise(larger, found, low)
    if high is not None:
        found = elementwise(smaller, found, high)
    return found


def _stepped(step: Any, jumps_at_halves: bool = False) -> Any:
    """A function that is constant between whole numbers, or between the halves of odd ones."""

    def function(a: Jet) -> Jet:
        if a.complex:
            raise TypeError("no rounding of complex numbers")
        x = a.value
        shifted = x + arb(0.5) if jumps_at_halves else x
        if shifted.contains_integer() and not fixed(a):
            value = step(x)
            return a.with_slopes(value, NAN)
        return a.with_slopes(step(x), ZERO)

    return function


def nearest(x: Any) -> Any:
    """To the nearest whole number, halves to the even one."""
    below = (x + arb(0.5)).floor()
    if x + arb(0.5) == below and (below / 2).floor() * 2 != below:
        return below - 1
    return below


floor_of: Callable[[Jet], Jet] = _stepped(lambda x: x.floor())
trunc_of: Callable[[Jet], Jet] = _stepped(lambda x: x.floor() if x >= 0 else x.ceil() if x < 0 else x * NAN)


@each
def floor(a: Jet) -> Jet:
    return floor_of(a)


@each
def ceil(a: Jet) -> Jet:
    return -floor_of(-a)


@each
def trunc(a: Jet) -> Jet:
    return trunc_of(a)


@each
def rint(a: Jet) -> Jet:
    result: Jet = _stepped(nearest, jumps_at_halves=True)(a)
    return result


@each
def fmod(a: Jet, b: Jet) -> Jet:
    """The remainder with the sign of a."""
    return a - b * trunc_of(a / b)


@each
def remainder(a: Jet, b: Jet) -> Jet:
    """The remainder with the sign of b."""
    return a - b * floor_of(a / b)


@each
def copysign(a: Jet, b: Jet) -> Jet:
    found = sign_of(b)
    if not found:
        return a.with_slopes(NAN, NAN)
    return size_of(a) * found


@each
def heaviside(a: Jet, b: Jet) -> Jet:
    found = sign_of(a)
    if found == 0:
        return choose(Edge(True), b, a) if not fixed(a) else b
    return a.with_slopes(NAN if found is None else arb(int(found > 0)), ZERO if found else NAN)


@each
def stop(a: Jet) -> Jet:
    """The number, declared to be constant."""
    return Jet((a.value,))


@each
def conjugate(a: Jet) -> Jet:
    return a.conj


@each
def real_part(a: Jet) -> Jet:
    return a.real


@each
def imag_part(a: Jet) -> Jet:
    return a.imag


@each
def complex_(a: Jet, b: Jet) -> Jet:
    return together(a, b)


# Orders ------------------------------------------------------------------------------------------------------------------


def ranked(items: list[Jet], descending: bool = False) -> list[Jet]:
    """Sorted by value. Where two cannot be told apart neither has a slope, unless they move alike."""
    keys = sorted(range(len(items)), key=lambda i: float(real(items[i]).mid()), reverse=descending)
    found = [items[i] for i in keys]
    for _ in range(len(found)):  # the middles may mislead; neighbours that are certainly in the wrong order change places
        moved = False
        for i in range(len(found) - 1):
            first, second = (found[i + 1], found[i]) if descending else (found[i], found[i + 1])
            if real(first) > real(second):
                found[i], found[i + 1] = found[i + 1], found[i]
                moved = True
        if not moved:
            break
    clean = list(found)
    for i in range(len(found) - 1):
        if sign_of(found[i] - found[i + 1]) in (0, None) and not alike(found[i], found[i + 1]):
            for j in (i, i + 1):
                clean[j] = kinked(found[j].value)
    return clean


def largest(items: list[Jet]) -> Jet:
    found = items[0]
    for item in items[1:]:
        found = larger(found, item)
    return found


def smallest(items: list[Jet]) -> Jet:
    return -largest([-item for item in items])


@meaning
def max_(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), largest)


@meaning
def min_(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), smallest)


@meaning
def sort(x: Any, axis: int = -1, descending: bool = False) -> Array:
    return lines(x, axis, lambda items: ranked(items, bool(descending)))


@meaning
def distinct(*arrays: Any, first: bool = False) -> Array:
    """All numbers of several arrays in order, or those of the first; known where no two of all are equal, which would be told once."""
    parts = [list(lift(x).ravel()) for x in arrays]
    ordered = ranked([item for part in parts for item in part])
    if any(sign_of(b - a) != 1 for a, b in zip(ordered, ordered[1:])):
        raise NotImplementedError("equal numbers")
    return np.array(ranked(parts[0]) if first else ordered, object)


@meaning
def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> Array:
    return lines(x, axis, lambda items: ranked(items, bool(largest))[: int(k)])


@meaning
def kth(x: Any, k: int, axis: int = -1, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), lambda items: ranked(items)[int(k) - 1])


@meaning
def lower_median(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), lambda items: ranked(items)[(len(items) - 1) // 2])


@meaning
def median(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    def middle(items: list[Jet]) -> Jet:
        placed, n = ranked(items), len(items)
        return placed[n // 2] if n % 2 else (placed[n // 2 - 1] + placed[n // 2]) / 2

    return along(x, axis, bool(keepdims), middle)


@meaning
def quantile(x: Any, q: Any, axis: Any = None, keepdims: bool = False, method: str = "linear") -> Array:
    """For one q or a list of them, which come first."""
    shares = lift(q)
    if method != "linear" or shares.ndim > 1:
        raise NotImplementedError("this way to interpolate")

    def at(share: Jet) -> Array:
        def one(items: list[Jet]) -> Jet:
            placed = ranked(items)
            place = share * (len(items) - 1)
            low = floor_of(place)
            index = int(low.value.unique_fmpz())
            weight = place - low
            return placed[index] + (placed[min(index + 1, len(items) - 1)] - placed[index]) * weight

        return along(x, axis, bool(keepdims), one)

    if shares.ndim == 0:
        return at(shares[()])
    return np.stack([at(share) for share in shares])


@meaning
def cummax(x: Any, axis: int = 0) -> Array:
    def running(items: list[Jet]) -> list[Jet]:
        found = items[:1]
        for item in items[1:]:
            found.append(larger(found[-1], item))
        return found

    return lines(x, axis, running)


@meaning
def cummin(x: Any, axis: int = 0) -> Array:
    return elementwise(lambda a: -a, cummax(elementwise(lambda a: -a, x), axis))


@meaning
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return elementwise(lambda a, b: a - b, max_(x, axis, keepdims), min_(x, axis, keepdims))


@meaning
def rank_of(x: Any) -> int:
    return int(lift(x).ndim)


@meaning
def size_along(x: Any, axis: Any = None) -> int:
    shape = np.shape(x)
    return int(np.prod([shape[a] for a in axes_of(axis, len(shape))], dtype=int))


@meaning
def scalar(x: Any) -> Array:
    return box(jet(x)) if not is_jets(x) else x


@each
def floor_divide(a: Jet, b: Jet) -> Jet:
    return floor_of(a / b)


@each
def same(a: Jet) -> Jet:
    return a


@meaning
def angle(x: Any) -> Array:
    def one(a: Jet) -> Jet:
        if a.complex:
            return atan2_of(a.imag, a.real)
        found = sign_of(a)
        if found is None:
            return kinked(NAN)
        return a.with_slopes(ZERO if found >= 0 else arb.pi(), ZERO if found or fixed(a) else NAN)

    return elementwise(one, x)


@meaning
def is_whole(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


@meaning
def nothing() -> Any:
    """What is not known."""
    raise NotImplementedError("not known")
