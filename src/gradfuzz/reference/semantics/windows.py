"""Convolution and pooling: sums and maxima over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.reference.arrays import Array, elementwise, full, lift, total, zeros
from gradfuzz.reference.jet import Jet, jet
from gradfuzz.reference.semantics.choice import largest
from gradfuzz.reference.semantics.elementary import power_of_jets
from gradfuzz.reference.semantics.registry import meaning

Sizes = Any


def per_axis(value: Any, rank: int) -> list[int]:
    """One number for each axis, however given."""
    found = [int(n) for n in np.ravel(value)]
    return found * rank if len(found) == 1 else found


def padded(x: Array, pads: list[tuple[int, int]], item: Any = 0) -> Array:
    """The last axes padded; a negative width cuts off."""
    rank = len(pads)
    shape = list(x.shape[:-rank]) + [n + a + b for n, (a, b) in zip(x.shape[-rank:], pads)]
    found = full(shape, item)
    to, of = [slice(None)] * (x.ndim - rank), [slice(None)] * (x.ndim - rank)
    for n, (a, b) in zip(x.shape[-rank:], pads):
        to.append(slice(max(a, 0), max(a, 0) + n - max(-a, 0) - max(-b, 0)))
        of.append(slice(max(-a, 0), n - max(-b, 0)))
    found[tuple(to)] = x[tuple(of)]
    return found


def spaced(x: Array, gaps: list[int]) -> Array:
    """Zeros between the elements of the last axes."""
    rank = len(gaps)
    if all(g == 1 for g in gaps):
        return x
    shape = list(x.shape[:-rank]) + [(n - 1) * g + 1 if n else 0 for n, g in zip(x.shape[-rank:], gaps)]
    found = zeros(shape)
    found[(..., *[slice(None, None, g) for g in gaps])] = x
    return found


def same_pads(size: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    reach = (window - 1) * dilation + 1
    out = -(-size // stride)
    needed = max(0, (out - 1) * stride + reach - size)
    return needed // 2, needed - needed // 2


def pads_of(padding: Any, sizes: Sizes, window: Sizes, stride: Sizes, dilation: Sizes) -> list[tuple[int, int]]:
    rank = len(window)
    if isinstance(padding, str):
        if padding.lower() == "valid":
            return [(0, 0)] * rank
        return [same_pads(*four) for four in zip(sizes, window, stride, dilation)]
    if np.ndim(padding) == 2:
        return [(int(a), int(b)) for a, b in padding]
    return [(p, p) for p in per_axis(padding, rank)]


@meaning
def convolution(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, spacing: Any = 1
) -> Array:  # fmt: skip
    """x as (batch, channels, …), w as (out, channels of a group, …). `spacing`: zeros put between the elements of x."""
    x, w = lift(x), lift(w)
    rank, groups = w.ndim - 2, int(groups)
    single = x.ndim == rank + 1
    x = x[None] if single else x
    stride, dilation, spacing = (per_axis(value, rank) for value in (stride, dilation, spacing))
    x = spaced(x, spacing)
    x = padded(x, pads_of(padding, x.shape[2:], w.shape[2:], stride, dilation))
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
    out = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    found = np.empty((x.shape[0], w.shape[0], *out), object)
    share = w.shape[0] // groups
    flat = w.reshape(w.shape[0], -1)
    for place in np.ndindex(*out):
        window = tuple(slice(p * s, p * s + r, d) for p, s, r, d in zip(place, stride, reach, dilation))
        for n in range(x.shape[0]):
            for g in range(groups):
                patch = x[(n, slice(g * w.shape[1], (g + 1) * w.shape[1]), *window)].ravel()
                for o in range(g * share, (g + 1) * share):
                    found[(n, o, *place)] = total([a * b for a, b in zip(patch, flat[o])])
    if bias is not None:
        found = elementwise(lambda a, b: a + b, found, lift(bias).reshape([-1] + [1] * rank))
    return found[0] if single else found


@meaning
def transposed_convolution(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1
) -> Array:  # fmt: skip
    """w as (channels, out of a group, …)."""
    x, w, groups = lift(x), lift(w), int(groups)
    rank = w.ndim - 2
    stride, padding, more, dilation = (per_axis(value, rank) for value in (stride, padding, output_padding, dilation))
    turned = np.flip(w, tuple(range(2, w.ndim)))
    parts = np.split(turned, groups, 0)
    turned = np.concatenate([np.swapaxes(part, 0, 1) for part in parts], 0)
    pads = [((k - 1) * d - p, (k - 1) * d - p + m) for k, d, p, m in zip(w.shape[2:], dilation, padding, more)]
    return convolution(x, turned, bias, 1, pads, dilation, groups, stride)


def windows(
    x: Array, size: list[int], stride: list[int], pads: list[tuple[int, int]], dilation: list[int], ceil: bool, item: Any
) -> tuple[list[int], Any]:
    """(output sizes, place -> the window's slice of a padded x); with `ceil` windows may hang over the end."""
    out, extended = [], []
    for n, k, s, (a, b), d in zip(x.shape[-len(size) :], size, stride, pads, dilation):
        reach = (k - 1) * d + 1
        room = n + a + b - reach
        count = -(-room // s) + 1 if ceil else room // s + 1
        if ceil and (count - 1) * s >= n + a:
            count -= 1
        out.append(count)
        extended.append((a, max(b, (count - 1) * s + reach - n - a)))
    return out, padded(x, extended, item)


def pooled(x: Any, size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, rank: int, outside: Any, function: Any) -> Array:
    """A function of each window's items; `outside` stands for the padding."""
    x = lift(x)
    size = per_axis(size, rank)
    stride = size if stride is None or (isinstance(stride, (tuple, list)) and not stride) else per_axis(stride, rank)
    dilation = per_axis(dilation, rank)
    pads = pads_of(padding, x.shape[-rank:], size, stride, dilation)
    out, wide = windows(x, size, stride, pads, dilation, bool(ceil), outside)
    found = np.empty((*x.shape[:-rank], *out), object)
    for lead in np.ndindex(*x.shape[:-rank]):
        for place in np.ndindex(*out):
            window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in zip(place, stride, size, dilation))
            spans = [(p * s - a, n + b) for p, s, (a, b), n in zip(place, stride, pads, x.shape[-rank:])]
            found[(*lead, *place)] = function(list(wide[(*lead, *window)].ravel()), spans, size)
    return found


class _Outside(Jet):
    """Padding, which no maximum takes in."""


OUTSIDE = _Outside((jet(0).value,))


@meaning
def max_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil: bool = False, rank: int = 1) -> Array:
    def one(items: list[Jet], *_: Any) -> Jet:
        return largest([item for item in items if not isinstance(item, _Outside)])

    return pooled(x, size, stride, padding, dilation, ceil, int(rank), OUTSIDE, one)


@meaning
def avg_pool(
    x: Any, size: Any, stride: Any = None, padding: Any = 0, ceil: bool = False, count_padding: bool = True, divisor: Any = None,
    rank: int = 1,
) -> Array:  # fmt: skip
    """What hangs over the padded end counts for nothing; the padding itself counts if `count_padding`."""

    def one(items: list[Jet], spans: Any, size: Any) -> Jet:
        inside = [item for item in items if not isinstance(item, _Outside)]
        if divisor is not None:
            return total(inside) / int(divisor)
        count = 1
        for (start, end), k in zip(spans, size):
            count *= min(start + k, end) - start
        return total(inside) / (count if count_padding else len(inside))

    return pooled(x, size, stride, padding, 1, ceil, int(rank), OUTSIDE, one)


@meaning
def lp_pool(x: Any, p: Any, size: Any, stride: Any = None, ceil: bool = False, rank: int = 1) -> Array:
    """The root of the sum of powers as they are: negative ones of an odd power count as such."""
    exponent = jet(float(p))

    def one(items: list[Jet], *_: Any) -> Jet:
        powers = elementwise(power_of_jets, np.array(items, object), exponent)
        return power_of_jets(total(list(powers)), 1 / exponent) if float(p) != 1 else total(items)

    return pooled(x, size, stride, 0, 1, ceil, int(rank), 0, one)


@meaning
def adaptive_pool(x: Any, size: Any, rank: int = 1, kind: str = "avg") -> Array:
    x, rank = lift(x), int(rank)
    wanted = list(size) if isinstance(size, (tuple, list)) else [size] * rank
    out = [n if w is None else int(w) for w, n in zip(wanted, x.shape[-rank:])]
    found = np.empty((*x.shape[:-rank], *out), object)
    for lead in np.ndindex(*x.shape[:-rank]):
        for place in np.ndindex(*out):
            window = tuple(slice(p * n // o, -(-(p + 1) * n // o)) for p, o, n in zip(place, out, x.shape[-rank:]))
            items = list(x[(*lead, *window)].ravel())
            found[(*lead, *place)] = largest(items) if kind == "max" else total(items) / len(items)
    return found


@meaning
def channels_first(x: Any) -> Array:
    return np.moveaxis(lift(x), -1, 1)


@meaning
def channels_last(x: Any) -> Array:
    return np.moveaxis(lift(x), 1, -1)


@meaning
def kernel_first(w: Any) -> Array:
    """(…, in, out) as (out, in, …)."""
    w = lift(w)
    return np.moveaxis(w, (-1, -2), (0, 1))


@meaning
def depthwise_kernel(w: Any) -> Array:
    """(…, in, times) as (in·times, 1, …)."""
    w = lift(w)
    moved = np.moveaxis(w, (-2, -1), (0, 1))
    return moved.reshape(moved.shape[0] * moved.shape[1], 1, *moved.shape[2:])


@meaning
def inner_part(values: Any) -> Any:
    """The middle of (1, …, 1): strides and windows that are given for every axis."""
    return tuple(values)[1:-1] if isinstance(values, (tuple, list)) and len(values) > 2 else values


@meaning
def convolve(a: Any, v: Any, mode: str = "full", flip: bool = True) -> Array:
    """Of vectors."""
    a, v = lift(a), lift(v)
    if len(v) > len(a):
        a, v = v, a
        if not flip:
            raise NotImplementedError("a correlation with what is longer")
    v = v[::-1] if flip else elementwise(lambda x: x.conj, v)
    n = len(v)
    wide = padded(a, [(n - 1, n - 1)])
    out = np.empty(len(wide) - n + 1, object)
    for k in range(len(out)):
        out[k] = total([x * y for x, y in zip(wide[k : k + n], v)])
    if mode == "full":
        return out
    start = (n - 1) // 2 if mode == "same" else n - 1
    length = len(a) if mode == "same" else len(a) - n + 1
    return out[start : start + length]


@meaning
def channels_of(x: Any) -> int:
    return int(np.shape(x)[-1])


@meaning
def odd(radius: int) -> int:
    """The width of a window that reaches so far on both sides."""
    return 2 * int(radius) + 1
