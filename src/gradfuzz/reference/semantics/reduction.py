"""Sums, products, means, variances, norms, and what runs along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from gradfuzz.reference.arrays import Array, along, axes_of, box, elementwise, lift, lines, total
from gradfuzz.reference.jet import Jet, jet
from gradfuzz.reference.semantics.choice import largest, size_of, smallest
from gradfuzz.reference.semantics.elementary import exp, log, power, sqrt
from gradfuzz.reference.semantics.registry import meaning


@meaning
def sum_(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), total)


def product(items: list[Jet]) -> Jet:
    found = jet(1)
    for item in items:
        found = found * item
    return found


@meaning
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), product)


@meaning
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), average)


def average(items: list[Jet]) -> Jet:
    return total(items) / len(items)


def spread(items: list[Jet], ddof: Any = 0) -> Jet:
    """The variance."""
    centre = average(items)
    squares = []
    for item in items:
        off = item - centre
        squares.append(off.real * off.real + off.imag * off.imag if off.complex else off * off)
    return total(squares) / jet(max(0, len(items) - ddof))


@meaning
def var(x: Any, axis: Any = None, keepdims: bool = False, ddof: Any = 0) -> Array:
    return along(x, axis, bool(keepdims), lambda items: spread(items, ddof))


@meaning
def std(x: Any, axis: Any = None, keepdims: bool = False, ddof: Any = 0) -> Array:
    return along(x, axis, bool(keepdims), lambda items: spread(items, ddof).apply(sqrt))


@meaning
def weighted_mean(x: Any, weights: Any, axis: Any = None) -> Array:
    if weights is None:
        return mean(x, axis)
    shared = lift(weights)
    x = lift(x)
    if shared.ndim == 1 and x.ndim > 1:
        shared = shared.reshape([-1 if a in axes_of(axis, x.ndim) else 1 for a in range(x.ndim)])
    shared = np.broadcast_to(shared, x.shape)
    weighted = elementwise(lambda a, b: a * b, x, shared)
    return elementwise(lambda a, b: a / b, sum_(weighted, axis), sum_(shared, axis))


def log_sum_exp(items: list[Jet]) -> Jet:
    """Around one of the largest: which one does not matter to the result."""
    top = max(items, key=lambda item: float(item.value.real.mid()))
    return total([(item - top).apply(exp) for item in items]).apply(log) + top


@meaning
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    return along(x, axis, bool(keepdims), log_sum_exp)


def norm_of(items: list[Jet], order: Any = 2) -> Jet:
    """A vector's norm of any order."""
    sizes = [size_of(item) for item in items]
    if order == np.inf:
        return largest(sizes)
    if order == -np.inf:
        return smallest(sizes)
    if order == 0:
        return total([item.with_slopes(arb(int(not item.value.is_zero())), arb(0)) for item in items])
    if order == 1:
        return total(sizes)
    if order == 2:
        squares = [item.real * item.real + item.imag * item.imag if item.complex else item * item for item in items]
        return total(squares).apply(sqrt)
    p = jet(order)
    powers = [power(box(size), box(p))[()] for size in sizes]
    return power(box(total(powers)), box(1 / p))[()]


@meaning
def norm(x: Any, order: Any = 2, axis: Any = None, keepdims: bool = False) -> Array:
    order = 2 if order is None else float(order)
    return along(x, axis, bool(keepdims), lambda items: norm_of(items, order))


def running(step: Any) -> Any:
    def function(items: list[Jet]) -> list[Jet]:
        found = items[:1]
        for item in items[1:]:
            found.append(step(found[-1], item))
        return found

    return function


@meaning
def cumsum(x: Any, axis: Any = 0, reverse: bool = False, exclusive: bool = False) -> Array:
    return _cumulative(x, axis, lambda a, b: a + b, 0, reverse, exclusive)


@meaning
def cumprod(x: Any, axis: Any = 0, reverse: bool = False, exclusive: bool = False) -> Array:
    return _cumulative(x, axis, lambda a, b: a * b, 1, reverse, exclusive)


@meaning
def logcumsumexp(x: Any, axis: Any = 0, reverse: bool = False) -> Array:
    return _cumulative(x, axis, lambda a, b: log_sum_exp([a, b]), 0, reverse, False)


def _cumulative(x: Any, axis: Any, step: Any, first: int, reverse: bool, exclusive: bool) -> Array:
    x = lift(x)
    if axis is None:
        x, axis = x.reshape(-1), 0

    def function(items: list[Jet]) -> list[Jet]:
        items = items[::-1] if reverse else items
        if exclusive:
            items = [jet(first), *items[:-1]]
        found: list[Jet] = running(step)(items)
        return found[::-1] if reverse else found

    return lines(x, int(axis), function)


@meaning
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    parts = [lift(p) for p in (prepend, x, append) if p is not None]
    x = np.concatenate(parts, axis=int(axis)) if len(parts) > 1 else parts[0]
    for _ in range(int(n)):
        x = lines(x, int(axis), lambda items: [b - a for a, b in zip(items, items[1:])])
    return x


@meaning
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, cumulative: bool = False) -> Array:
    y = lift(y)
    if x is None:
        widths = np.broadcast_to(lift(dx), np.moveaxis(y, axis, -1)[..., 1:].shape)
    else:
        x = lift(x)
        x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
        widths = elementwise(lambda a, b: b - a, x[..., :-1], x[..., 1:])
    rows = np.moveaxis(y, axis, -1)
    parts = elementwise(lambda a, b, w: (a + b) * w / 2, rows[..., :-1], rows[..., 1:], widths)
    return np.moveaxis(cumsum(parts, -1), -1, axis) if cumulative else sum_(parts, -1)


@meaning
def cov(x: Any, ddof: Any = 1) -> Array:
    """Of variables in rows."""
    x = lift(x)
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    off = elementwise(lambda a, b: a - b, rows, mean(rows, 1, True))
    n = rows.shape[1]
    found = np.empty((len(rows), len(rows)), object)
    for i, j in np.ndindex(*found.shape):
        found[i, j] = total([a * b.conj for a, b in zip(off[i], off[j])]) / (n - int(ddof))
    return found if x.ndim == 2 else found.reshape(())


@meaning
def corrcoef(x: Any) -> Array:
    found = cov(x)
    if found.ndim == 0:
        return elementwise(lambda a: a / a, found)
    scales = [found[i, i].real.apply(sqrt) for i in range(len(found))]
    result = np.empty(found.shape, object)
    for i, j in np.ndindex(*found.shape):
        result[i, j] = found[i, j] / scales[i] / scales[j]
    return result


@meaning
def pairwise_norm(a: Any, b: Any, p: Any = 2) -> Array:
    """Distances between the rows of two (batches of) matrices."""
    a, b = lift(a), lift(b)
    off = elementwise(lambda x, y: x - y, a[..., :, None, :], b[..., None, :, :])
    return norm(off, p, -1)


@meaning
def condensed_norm(x: Any, p: Any = 2) -> Array:
    """Distances between the rows of a matrix, each pair once."""
    found = pairwise_norm(x, x, p)
    first, second = np.triu_indices(len(found), 1)
    return found[first, second]


@meaning
def ddof_of(unbiased: Any, correction: Any) -> Any:
    """What is taken off the count: said as a number, or as whether one is."""
    return correction if correction is not None else int(bool(unbiased))


@meaning
def sum_to(x: Any, shape: Any) -> Array:
    """Summed over what broadcasting would have added to the shape."""
    x = lift(x)
    shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + k for k, n in enumerate(shape) if n == 1 and x.shape[lead + k] != 1)
    return sum_(x, axes, True).reshape(shape) if axes else x.reshape(shape)
