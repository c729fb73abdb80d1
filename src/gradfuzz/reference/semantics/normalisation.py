"""Normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.reference.arrays import Array, elementwise, full, lift, total
from gradfuzz.reference.jet import Jet, jet
from gradfuzz.reference.semantics.choice import larger
from gradfuzz.reference.semantics.elementary import power, rsqrt
from gradfuzz.reference.semantics.reduction import mean, norm, var
from gradfuzz.reference.semantics.registry import meaning


def centred(x: Array, axes: Any, eps: Any) -> Array:
    """(x - mean)/√(variance + eps) over the axes."""
    return elementwise(lambda a, m, v: (a - m) * (v + eps).apply(rsqrt), x, mean(x, axes, True), var(x, axes, True))


def scaled(x: Array, weight: Any, bias: Any) -> Array:
    if weight is not None:
        x = elementwise(lambda a, w: a * w, x, weight)
    return x if bias is None else elementwise(lambda a, b: a + b, x, bias)


@meaning
def layer_norm(x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Array:
    x = lift(x)
    count = 1 if isinstance(shape, int) else len(shape)
    return scaled(centred(x, tuple(range(x.ndim - count, x.ndim)), eps), weight, bias)


@meaning
def rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Array:
    x = lift(x)
    count = 1 if isinstance(shape, int) else len(shape)
    axes = tuple(range(x.ndim - count, x.ndim))
    squares = mean(elementwise(lambda a: a * a, x), axes, True)
    small = np.finfo(np.float64).eps if eps is None else eps
    return scaled(elementwise(lambda a, s: a * (s + small).apply(rsqrt), x, squares), weight, None)


def channels(x: Any, rank: int, axis: int = 1) -> Any:
    """One number for each channel, which is the second axis unless another one is named."""
    return None if x is None else lift(x).reshape([-1 if k == axis else 1 for k in range(rank)])


@meaning
def per_channel(x: Any, number: Any) -> Array:
    """The same number for each channel: what running statistics begin with."""
    return full(lift(x).shape[1], number)


@meaning
def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Array:
    x = lift(x)
    grouped = x.reshape(x.shape[0], int(groups), -1)
    found = centred(grouped, (2,), eps).reshape(x.shape)
    return scaled(found, channels(weight, x.ndim), channels(bias, x.ndim))


@meaning
def batch_norm(
    x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False, eps: Any = 1e-5
) -> Array:  # fmt: skip
    x = lift(x)
    if training or running_mean is None:
        found = centred(x, tuple(k for k in range(x.ndim) if k != 1), eps)
    else:
        centre, spread = channels(running_mean, x.ndim), channels(running_var, x.ndim)
        found = elementwise(lambda a, m, v: (a - m) * (v + eps).apply(rsqrt), x, centre, spread)
    return scaled(found, channels(weight, x.ndim), channels(bias, x.ndim))


@meaning
def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5, space: Any = None) -> Array:
    """Each channel of each example by itself. `space`: how many axes it has; then there may be one example and no axis for it."""
    x = lift(x)
    first = 2 if space is None else x.ndim - space
    found = centred(x, tuple(range(first, x.ndim)), eps)
    return scaled(found, channels(weight, x.ndim, first - 1), channels(bias, x.ndim, first - 1))


@meaning
def batch_normalised(x: Any, centre: Any, spread: Any, offset: Any = None, scale: Any = None, eps: Any = 0.0) -> Array:
    """With moments that are given, and broadcast as they are."""
    found = elementwise(lambda a, m, v: (a - m) * (v + eps).apply(rsqrt), x, centre, spread)
    return scaled(found, scale, offset)


@meaning
def standardised(x: Any, axis: Any = -1, eps: Any = 1e-5) -> Array:
    return centred(lift(x), axis, eps)


@meaning
def normalised(x: Any, p: Any = 2.0, axis: Any = 1, eps: Any = 1e-12) -> Array:
    return elementwise(lambda a, n: a / larger(n, jet(eps)), x, norm(x, p, axis, True))


@meaning
def l2_normalised(x: Any, axis: Any = None, eps: Any = 1e-12) -> Array:
    """With a floor under the sum of squares."""
    squares = elementwise(lambda n: n * n, norm(x, 2, axis, True))
    return elementwise(lambda a, s: a * larger(s, jet(eps)).apply(rsqrt), x, squares)


@meaning
def local_response_norm(
    x: Any, size: int, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0, axis: int = 1, averaged: bool = True
) -> Array:
    """Over so many neighbouring channels; `averaged`: alpha is divided by their number."""
    x, size = lift(x), int(size)
    moved = np.moveaxis(x, axis, -1)
    before = size // 2
    found = np.empty(moved.shape, object)
    for place in np.ndindex(*moved.shape):
        c = place[-1]
        near = moved[place[:-1]][max(0, c - before) : c - before + size]
        squares = total([item * item for item in near]) * jet(alpha)
        base = squares / size + jet(k) if averaged else squares + jet(k)
        found[place] = moved[place] / _power(base, beta)
    return np.moveaxis(found, -1, axis)


def _power(a: Jet, exponent: Any) -> Jet:
    found: Jet = power(lift(a), exponent)[()]
    return found
