"""Arrays of jets: NumPy object arrays, with broadcasting by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from flint import acb

from gradfuzz.reference.jet import ZERO, Jet, jet, together

Array = Any  # an object array of jets, or a plain array of whole numbers and truth values

_lift = np.frompyfunc(jet, 1, 1)


def is_jets(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and (value.size == 0 or isinstance(value.flat[0], Jet))


def lift(value: Any) -> Array:
    """Numbers, however given, as an array of jets. Jets stay what they are."""
    if is_jets(value):
        return value
    if isinstance(value, Jet):
        return box(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufcO":
        raise TypeError(f"{type(value).__name__} is no number")
    return box(_lift(array)) if array.ndim == 0 else _lift(array).astype(object)


def box(item: Any) -> Array:
    """One thing as an array of no dimensions: NumPy likes to unpack them."""
    if isinstance(item, np.ndarray):
        return item
    found = np.empty((), object)
    found[()] = item
    return found


def elementwise(function: Callable[..., Any], *arrays: Any) -> Array:
    """The function of jets at each element of the arrays, broadcast together."""
    return box(np.frompyfunc(function, len(arrays), 1)(*[lift(a) for a in arrays]))


def zeros(shape: Any) -> Array:
    found = np.empty(shape, object)
    found.fill(Jet((ZERO,)))
    return found


def full(shape: Any, item: Any) -> Array:
    found = np.empty(shape, object)
    found.fill(jet(item))
    return found


def total(items: Iterable[Jet]) -> Jet:
    """The sum of jets, empty or not."""
    result = Jet((ZERO,))
    for item in items:
        result = result + item
    return result


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes as whole numbers from 0; all of them where none is named."""
    if axis is None or (isinstance(axis, (tuple, list)) and not axis):
        return tuple(range(rank))
    named = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(int(a) for a in named)
    if any(not -max(rank, 1) <= a < max(rank, 1) for a in found):
        raise IndexError(f"no axis {axis}")
    return tuple(a % max(rank, 1) for a in found) if rank else ()


def along(array: Array, axis: Any, keepdims: bool, function: Callable[[list[Jet]], Any]) -> Array:
    """A function of all the jets along the axes, for each place on the others."""
    x = lift(array)
    axes = axes_of(axis, x.ndim)
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose([*rest, *axes]).reshape([x.shape[a] for a in rest] + [-1] if x.size else [x.shape[a] for a in rest] + [0])
    found = np.empty(moved.shape[:-1], object)
    for place in np.ndindex(*found.shape):
        found[place] = function(list(moved[place]))
    return found.reshape([1 if a in axes else n for a, n in enumerate(x.shape)]) if keepdims else found


def lines(array: Array, axis: int, function: Callable[[list[Jet]], list[Jet]]) -> Array:
    """A function from jets to jets on every line along an axis."""
    x = lift(array)
    if x.ndim == 0:
        return box(function([x[()]])[0])
    moved = np.moveaxis(x, axis, -1)
    rows = [function(list(moved[place])) for place in np.ndindex(*moved.shape[:-1])]
    length = len(rows[0]) if rows else moved.shape[-1]
    found = np.empty((*moved.shape[:-1], length), object)
    for place, row in zip(np.ndindex(*moved.shape[:-1]), rows):
        for k, item in enumerate(row):
            found[(*place, k)] = item
    return np.moveaxis(found, -1, axis)


def real_pair(array: Array) -> tuple[Array, Array]:
    return elementwise(lambda x: x.real, array), elementwise(lambda x: x.imag, array)


def as_complex(real: Array, imag: Array) -> Array:
    return elementwise(together, real, imag)


def values(array: Array) -> Array:
    """The values as ordinary numbers, rounded: for printing and for finding candidates, never for deciding."""
    plain = [complex(x.value) if isinstance(x.value, acb) else float(x.value) for x in lift(array).ravel()]
    return np.array(plain).reshape(np.shape(array))
