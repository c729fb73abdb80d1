"""Other ways to the same numbers: op by op instead of compiled, batched, through Jacobian rows, linearised and transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import jax
import jax.numpy as jnp

from gradfuzz.targets.jax.bundle import Arrays, Plan
from gradfuzz.targets.jax.scenarios import conjugate, derivative, inner
from gradfuzz.targets.protocol import Modes

Answer = tuple[Any, Any]
Variant = Callable[[Plan, Arrays, Arrays, Modes, Sequence[Arrays], Arrays], Answer]

# How far the batch's other member lies from the point: far enough that mixing the two would show.
NEIGHBOUR = 1.25


def _bound(plan: Plan, fixed: Arrays) -> Callable[..., Any]:
    return lambda *xs: plan.function(xs, fixed)


def eager(plan: Plan, xs: Arrays, fixed: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> Answer:
    """Op by op, each its own little compilation."""
    xs, fixed, v = ([jnp.asarray(a) for a in part] for part in (xs, fixed, v))
    function = _bound(plan, fixed)
    if not modes:
        outputs = function(*xs)
        return outputs, outputs
    return derivative(function, xs, modes, [[jnp.asarray(d) for d in u] for u in us], v)


def batched(plan: Plan, xs: Arrays, fixed: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> Answer:
    """`vmap` over a batch of two: the point, and a neighbour with other numbers throughout."""

    def both(xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> Any:
        def one(xs: Arrays, us: Sequence[Arrays], v: Arrays) -> Any:
            return _plain(_bound(plan, fixed), xs, modes, us, v)

        stacked = jax.tree_util.tree_map(lambda a: jnp.stack([a, (a * NEIGHBOUR).astype(a.dtype)]), (tuple(xs), tuple(us), tuple(v)))
        return jax.tree_util.tree_map(lambda a: a[0], jax.vmap(one)(*stacked))

    return plan.compiled(f"batched {modes}", both, tuple(xs), tuple(fixed), tuple(us), tuple(v))  # type: ignore[no-any-return]


def jacobian(plan: Plan, xs: Arrays, fixed: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> Answer:
    """`vmap` over directions at one point, the way Jacobians are made."""

    def rows(xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> Any:
        def one(us: Sequence[Arrays], v: Arrays) -> Any:
            return _plain(_bound(plan, fixed), xs, modes, us, v)

        stacked = jax.tree_util.tree_map(lambda a: jnp.stack([(a * NEIGHBOUR).astype(a.dtype), a]), (tuple(us), tuple(v)))
        return jax.tree_util.tree_map(lambda a: a[1], jax.vmap(one)(*stacked))

    return plan.compiled(f"jacobian {modes}", rows, tuple(xs), tuple(fixed), tuple(us), tuple(v))  # type: ignore[no-any-return]


def linearized(plan: Plan, xs: Arrays, fixed: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> Answer:
    """Forward through `linearize`; reverse through `linear_transpose` of its linear map."""

    def through(xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> Any:
        outputs, push = jax.linearize(_bound(plan, fixed), *xs)
        if modes == ("f",):
            return outputs, push(*us[0])
        return outputs, (inner(jax.linear_transpose(push, *us[0])(conjugate(v)), us[0]),)

    return plan.compiled(f"linearized {modes}", through, tuple(xs), tuple(fixed), tuple(us), tuple(v))  # type: ignore[no-any-return]


def _plain(function: Callable[..., Any], xs: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> Answer:
    if not modes:
        outputs = function(*xs)
        return outputs, outputs
    return derivative(function, xs, modes, us, v)


VARIANTS: dict[str, Variant] = {"eager": eager, "batched": batched, "jacobian": jacobian, "linearized": linearized}
