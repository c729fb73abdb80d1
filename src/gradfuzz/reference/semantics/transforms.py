"""Discrete Fourier transforms, as the sums they are, and complex numbers as pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb, arb

from gradfuzz.reference.arrays import Array, as_complex, elementwise, lift, lines, real_pair, total
from gradfuzz.reference.jet import Jet, jet, together
from gradfuzz.reference.semantics.elementary import cos, sin
from gradfuzz.reference.semantics.registry import meaning
from gradfuzz.reference.semantics.windows import padded


def _turns(n: int, sign: int) -> list[acb]:
    """The n-th roots of one."""
    return [acb(arb(2 * sign * k) / n).exp_pi_i() if n else acb(1) for k in range(n)]


def _scale(n: int, norm: Any, inverse: bool) -> Any:
    if norm == "ortho":
        return 1 / arb(n).sqrt()
    divides = norm == "forward" if not inverse else norm != "forward"
    return arb(1) / n if divides else arb(1)


def _transform(items: list[Jet], sign: int, scale: Any) -> list[Jet]:
    n = len(items)
    turns = [Jet((root * scale,)) for root in _turns(n, sign)]
    return [total([item * turns[(j * k) % n] for j, item in enumerate(items)]) for k in range(n)]


def _cut(x: Array, n: Any, axis: int) -> Array:
    x = np.moveaxis(lift(x), axis, -1)
    if n is not None and int(n) != x.shape[-1]:
        x = padded(x, [(0, int(n) - x.shape[-1])])
    return np.moveaxis(x, -1, axis)


@meaning
def fft(x: Any, n: Any = None, axis: int = -1, norm: Any = None, inverse: bool = False) -> Array:
    x = _cut(x, n, int(axis))
    return lines(x, int(axis), lambda items: _transform(items, 1 if inverse else -1, _scale(len(items), norm, inverse)))


@meaning
def rfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Array:
    found = np.moveaxis(fft(x, n, axis, norm), axis, -1)
    return np.moveaxis(found[..., : found.shape[-1] // 2 + 1], -1, axis)


def _whole(items: list[Jet], n: int) -> list[Jet]:
    """A half spectrum made whole; the first, and the middle of an even one, are read as real."""
    half = [*items[: n // 2 + 1]] + [jet(0)] * max(0, n // 2 + 1 - len(items))
    half[0] = half[0].real
    if n % 2 == 0:
        half[n // 2] = half[n // 2].real
    return half + [half[n - k].conj for k in range(n // 2 + 1, n)]


@meaning
def irfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Array:
    x = lift(x)
    size = int(n) if n is not None else 2 * (x.shape[int(axis)] - 1)

    def one(items: list[Jet]) -> list[Jet]:
        return [item.real for item in _transform(_whole(items, size), 1, _scale(size, norm, True))]

    return lines(x, int(axis), one)


@meaning
def hfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Array:
    x = lift(x)
    size = int(n) if n is not None else 2 * (x.shape[int(axis)] - 1)

    def one(items: list[Jet]) -> list[Jet]:
        return [item.real for item in _transform(_whole(items, size), -1, _scale(size, norm, False))]

    return lines(x, int(axis), one)


@meaning
def ihfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Array:
    x = _cut(x, n, int(axis))
    found = np.moveaxis(fft(x, None, axis, norm, True), axis, -1)
    return np.moveaxis(found[..., : found.shape[-1] // 2 + 1], -1, axis)


def _axes(x: Array, sizes: Any, axes: Any) -> tuple[list[int], list[Any]]:
    if axes is None:
        axes = range(x.ndim) if sizes is None else range(x.ndim - len(np.ravel(sizes)), x.ndim)
    axes = [int(a) for a in (axes if not isinstance(axes, int) else [axes])]
    sizes = [None] * len(axes) if sizes is None else [int(s) for s in np.ravel(sizes)]
    return axes, [None if s == -1 else s for s in sizes]


@meaning
def fftn(x: Any, sizes: Any = None, axes: Any = None, norm: Any = None, inverse: bool = False) -> Array:
    x = lift(x)
    for axis, n in zip(*_axes(x, sizes, axes)):
        x = fft(x, n, axis, norm, inverse)
    return x


@meaning
def rfftn(x: Any, sizes: Any = None, axes: Any = None, norm: Any = None) -> Array:
    x = lift(x)
    named, lengths = _axes(x, sizes, axes)
    x = rfft(x, lengths[-1], named[-1], norm)
    for axis, n in zip(named[:-1], lengths[:-1]):
        x = fft(x, n, axis, norm)
    return x


@meaning
def irfftn(x: Any, sizes: Any = None, axes: Any = None, norm: Any = None) -> Array:
    x = lift(x)
    named, lengths = _axes(x, sizes, axes)
    for axis, n in zip(named[:-1], lengths[:-1]):
        x = fft(x, n, axis, norm, True)
    return irfft(x, lengths[-1], named[-1], norm)


@meaning
def as_pairs(x: Any) -> Array:
    return np.stack(real_pair(x), -1)


@meaning
def from_pairs(x: Any) -> Array:
    x = lift(x)
    return as_complex(x[..., 0], x[..., 1])


@meaning
def polar(r: Any, angle: Any) -> Array:
    return elementwise(lambda a, b: together(a * b.apply(cos), a * b.apply(sin)), r, angle)
