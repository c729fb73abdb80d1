"""Other ways to the same numbers: batched, through Jacobian rows, linearised and transposed; and op by op instead of compiled.

Each has the form of `derivatives.derivative` and takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.jax.derivatives import conjugate, derivative, inner

# How a batch's other member differs from the point: enough that mixing the two would show.
NEIGHBOUR = 1.25


def batched(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over a batch of two: the point, and a neighbour with other numbers throughout."""
    batch = _paired((tuple(xs), tuple(us), tuple(v)))
    return _first(jax.vmap(lambda xs, us, v: derivative(function, xs, modes, us, v))(*batch))


def jacobian(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over directions at one point, the way Jacobians are made."""
    batch = _paired((tuple(us), tuple(v)))
    return _first(jax.vmap(lambda us, v: derivative(function, xs, modes, us, v))(*batch))


def linearized(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Forward through `linearize`; reverse through `linear_transpose` of its linear map."""
    outputs, push = jax.linearize(lambda *inputs: tuple(function(inputs)), *xs)
    if not modes:
        return outputs, outputs
    if modes == ("f",):
        return outputs, push(*us[0])
    weights = tuple(conjugate(w) for w in v)
    return outputs, (inner(jax.linear_transpose(push, *us[0])(weights), us[0]),)


def _paired(arrays: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: jnp.stack([a, (a * NEIGHBOUR).astype(a.dtype)]), arrays)


def _first(answer: Any) -> tuple[Any, Any]:
    outputs, result = jax.tree_util.tree_map(lambda a: a[0], answer)
    return outputs, result


EAGER = "eager"  # the plain way without the compiler around it
WAYS: dict[str, Derivative] = {EAGER: derivative, "batched": batched, "jacobian": jacobian, "linearized": linearized}
