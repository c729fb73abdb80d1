"""Indices are checked before a Program runs: MLX does not, and what lies outside is read and written all the same.

"Indexing does not perform bounds checking. Indexing out of bounds is undefined behavior." (MLX's documentation, Indexing Arrays.) A mutant
that does so may corrupt its worker, and says nothing about derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Callable

import mlx.core as mx
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Attr, Expr, Item
from gradfuzz.targets.base.evaluate import Compiler, Thunk


class BoundedCompiler(Compiler):
    """Closures that raise ProgramError for an index outside of its axis."""

    def resolve(self, path: str) -> Any:
        found, guard = super().resolve(path), GUARDS.get(path)
        if guard is None:
            return found

        @functools.wraps(found)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            guard(*args, **kwargs)
            return found(*args, **kwargs)

        return guarded

    def closure(self, node: Expr) -> Thunk:
        found = super().closure(node)
        if not isinstance(node, Item):
            return found
        of = node.base.base if isinstance(node.base, Attr) and node.base.name == "at" else node.base  # x.at[i] is an index into x
        base, index = self.closure(of), self.closure(node.index)

        def guarded(env: dict[str, Any]) -> Any:
            _item(base(env), index(env))
            return found(env)

        return guarded


def _inside(indices: Any, size: int) -> None:
    """Whole numbers must be those of places, counted from the front or from the back."""
    if isinstance(indices, bool) or (isinstance(indices, mx.array) and not mx.issubdtype(indices.dtype, mx.integer)):
        return  # masks, and classes' probabilities in the place of their numbers
    try:
        numbers = np.asarray(indices)
    except (RuntimeError, ValueError):
        return  # inside a transform; the direct run has looked
    if numbers.size and not (-size <= numbers.min() and numbers.max() < size):
        raise ProgramError(f"an index is outside of its axis, which has {size} places")


def _item(of: Any, index: Any) -> None:
    """x[i], x[i, j], x[..., i]: the whole numbers among the parts, each for its axis."""
    if not isinstance(of, mx.array):
        return
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(part is Ellipsis for part in parts):
        cut = next(place for place, part in enumerate(parts) if part is Ellipsis)
        taken = sum(part is not None for part in parts) - 1
        parts[cut : cut + 1] = [slice(None)] * (of.ndim - taken)
    for part, size in zip((part for part in parts if part is not None), of.shape):
        if isinstance(part, (int, mx.array)):
            _inside(part, size)


def _along(a: Any, indices: Any, *rest: Any, axis: int | None = None, **named: Any) -> None:
    _inside(indices, a.size if axis is None else a.shape[axis])


def _take(a: Any, indices: Any, axis: int | None = None, **named: Any) -> None:
    _along(a, indices, axis=axis)


def _take_along(a: Any, indices: Any, axis: int | None = -1, **named: Any) -> None:
    _along(a, indices, axis=axis)


def _put_along(a: Any, indices: Any, values: Any, axis: int | None = None, **named: Any) -> None:
    _along(a, indices, axis=axis)


def _classes(inputs: Any, targets: Any, *rest: Any, axis: int = -1, **named: Any) -> None:
    _along(inputs, targets, axis=axis)


def _cross_entropy(logits: Any, targets: Any, weights: Any = None, axis: int = -1, *rest: Any, **named: Any) -> None:
    _along(logits, targets, axis=axis)


def _nll(inputs: Any, targets: Any, axis: int = -1, *rest: Any, **named: Any) -> None:
    _along(inputs, targets, axis=axis)


def _window(a: Any, start: Any, axes: Sequence[int], sizes: Sequence[int]) -> None:
    for first, axis, size in zip(np.asarray(start).reshape(-1).tolist(), axes, sizes):
        if not 0 <= first <= a.shape[axis] - size:
            raise ProgramError(f"a window of {size} at {first} leaves its axis, which has {a.shape[axis]} places")


def _slice(a: Any, start_indices: Any, axes: Sequence[int], slice_size: Sequence[int], **named: Any) -> None:
    _window(a, start_indices, axes, [slice_size[axis] for axis in axes])


def _slice_update(a: Any, update: Any, start_indices: Any, axes: Sequence[int], **named: Any) -> None:
    _window(a, start_indices, axes, [update.shape[axis] for axis in axes])


def _gather_mm(a: Any, b: Any, lhs_indices: Any = None, rhs_indices: Any = None, **named: Any) -> None:
    for of, indices in ((a, lhs_indices), (b, rhs_indices)):
        if indices is not None:
            _inside(indices, int(np.prod(of.shape[:-2])))


# Each takes what its function takes.
GUARDS: dict[str, Callable[..., None]] = {
    "mlx.core.take": _take, "mlx.core.take_along_axis": _take_along, "mlx.core.put_along_axis": _put_along, "mlx.core.slice": _slice,
    "mlx.core.slice_update": _slice_update, "mlx.core.gather_mm": _gather_mm, "mlx.core.fast.cross_entropy": _classes,
    "mlx.nn.losses.cross_entropy": _cross_entropy, "mlx.nn.losses.nll_loss": _nll,
}  # fmt: skip
