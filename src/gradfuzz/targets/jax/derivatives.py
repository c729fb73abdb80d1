"""Derivatives of any order by JAX's transforms: forward (`jvp`) and reverse (`vjp`), folded as everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from gradfuzz.targets.base import nesting
from gradfuzz.targets.base.nesting import Many, Tensors
from gradfuzz.targets.base.scenario import Modes


class JaxTransforms:
    """JAX's pullbacks are transposes, not adjoints: weights and gradients are conjugated on the way."""

    def push(self, function: Many, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        outputs, tangents = jax.jvp(lambda *inputs: tuple(function(inputs)), tuple(xs), tuple(u))
        return outputs, tangents

    def pull(self, function: Many, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        outputs, back = jax.vjp(lambda *inputs: tuple(function(inputs)), *xs)
        gradients = back(tuple(conjugate(w if w.dtype == o.dtype else w.astype(o.dtype)) for w, o in zip(weights, outputs)))
        return outputs, [conjugate(g) for g in gradients]

    def inner(self, a: Tensors, b: Tensors) -> Any:
        return inner([conjugate(x) for x in a], b)

    def one(self) -> Any:
        return jnp.ones((), jnp.float64)


def inner(a: Tensors, b: Tensors) -> Any:
    """The real part of the plain product with a direction or weights b, in double precision. Where b is zero, a says nothing, be it NaN."""
    total: Any = jnp.zeros((), jnp.float64)
    for x, y in zip(a, b):
        wide = jnp.complex128 if jnp.iscomplexobj(x) or jnp.iscomplexobj(y) else jnp.float64
        total = total + jnp.real(jnp.sum(jnp.where(y != 0, x, 0).astype(wide) * y.astype(wide)))
    return total


def conjugate(array: Any) -> Any:
    return jnp.conj(array) if jnp.iscomplexobj(array) else array


def derivative(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """(F's outputs as the mode sees them, the derivative); see the fold."""
    return nesting.derivative(JaxTransforms(), function, xs, modes, us, v)
