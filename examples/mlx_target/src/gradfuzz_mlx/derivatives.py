"""Derivatives of any order by MLX's transforms: forward (`jvp`) and reverse (`vjp`), folded as everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from gradfuzz.targets.base import nesting
from gradfuzz.targets.base.functions import WrongGradientShape
from gradfuzz.targets.base.nesting import Many, Tensors
from gradfuzz.targets.base.scenario import Modes


class MlxTransforms:
    """MLX's pullbacks are adjoints: nothing needs to be conjugated on the way."""

    def push(self, function: Many, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        outputs, tangents = mx.jvp(lambda *inputs: list(function(inputs)), list(xs), list(u))
        return outputs, alike("tangent", tangents, "output", outputs)

    def pull(self, function: Many, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        outputs, gradients = mx.vjp(lambda *inputs: list(function(inputs)), list(xs), list(weights))
        return outputs, alike("gradient", gradients, "input", xs)

    def inner(self, a: Tensors, b: Tensors) -> Any:
        return inner(a, b)

    def one(self) -> Any:
        return mx.array(1.0, mx.float64)


def inner(a: Tensors, b: Tensors) -> Any:
    """Re⟨a, b⟩ in double precision; MLX's one complex type is a single one, so the parts are multiplied by themselves."""
    total: Any = mx.array(0.0, mx.float64)
    for x, y in zip(a, b):
        total = total + mx.sum(_double(mx.real(x)) * _double(mx.real(y)))
        if x.dtype == mx.complex64 and y.dtype == mx.complex64:
            total = total + mx.sum(_double(mx.imag(x)) * _double(mx.imag(y)))
    return total


def _double(array: Any) -> Any:
    return array.astype(mx.float64)


def alike(what: str, found: Sequence[Any], of: str, wanted: Sequence[Any]) -> Sequence[Any]:
    """The derivatives, if each has the shape and the type of what it is a derivative of."""
    for f, w in zip(found, wanted):
        if f.shape != w.shape or f.dtype != w.dtype:
            raise WrongGradientShape(f"the {what} is {f.dtype}{list(f.shape)}, the {of} {w.dtype}{list(w.shape)}")
    return found


def derivative(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """(F's outputs as the mode sees them, the derivative); see the fold. Nothing is computed before it is looked at."""
    return nesting.derivative(MlxTransforms(), function, xs, modes, us, v)
