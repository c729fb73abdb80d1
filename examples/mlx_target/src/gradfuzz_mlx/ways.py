"""Other ways to the same numbers: compiled, and batched. Each has the form of `derivatives.derivative` and takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.base.scenario import Modes
from gradfuzz_mlx.derivatives import derivative

# How a batch's other member differs from the point: enough that mixing the two would show.
NEIGHBOUR = 1.25


def compiled(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`mx.compile`: elementwise operations become kernels of their own, which a C++ compiler builds on the spot."""
    return _found(mx.compile(lambda xs, us, v: derivative(function, xs, modes, us, v))(*_lists(xs, us, v)))


def batched(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`mx.vmap` over a batch of two: the point, and a neighbour with other numbers throughout."""
    xs, us, v = _lists(xs, us, v)
    mapped = mx.vmap(lambda xs, us, v: derivative(function, xs, modes, us, v))
    outputs, result = mapped(_paired(xs), [_paired(u) for u in us], _paired(v))
    return [o[0] for o in outputs], [r[0] for r in result]


def _lists(xs: Tensors, us: Sequence[Tensors], v: Tensors) -> tuple[list[Any], list[list[Any]], list[Any]]:
    return list(xs), [list(u) for u in us], list(v)


def _paired(arrays: Tensors) -> list[Any]:
    return [mx.stack([a, (a * NEIGHBOUR).astype(a.dtype)]) for a in arrays]


def _found(answer: Any) -> tuple[Any, Any]:
    outputs, result = answer
    return outputs, result


WAYS: dict[str, Derivative] = {"compiled": compiled, "batched": batched}
