"""Derivatives of any order by JAX's transforms: forward (`jvp`) and reverse (`vjp`) nested in any order.

Each mode turns a function g of the inputs into another: forward mode along u gives g's tangent; reverse mode gives the
number Re⟨∇⟨w, g⟩, u⟩, where w contracts what g returns. A nesting is a fold over its modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import jax
import jax.numpy as jnp

from gradfuzz.targets.protocol import Modes

Arrays = Sequence[Any]
Function = Callable[..., Any]
# function, xs, modes, us, v -> (outputs, derivative)
Way = Callable[..., tuple[Any, Any]]


def inner(a: Arrays, b: Arrays) -> Any:
    """Re⟨a, b⟩ without conjugation, in double precision: JAX's pullbacks are transposes, not adjoints."""
    total: Any = jnp.zeros((), jnp.float64)
    for x, y in zip(a, b):
        wide = jnp.complex128 if jnp.iscomplexobj(x) or jnp.iscomplexobj(y) else jnp.float64
        total = total + jnp.real(jnp.sum(x.astype(wide) * y.astype(wide)))
    return total


def conjugate(v: Arrays) -> tuple[Any, ...]:
    """The cotangent whose pullback, paired with u, is Re⟨v, J u⟩."""
    return tuple(jnp.conj(w) for w in v)


def derivative(function: Function, xs: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> tuple[Any, Any]:
    """(F's outputs as the mode sees them, the derivative: one array per output, or one number after a reverse mode).

    Nestings have None for outputs: what AD does to them shows at order one already.
    """
    if not modes:
        outputs = function(*xs)
        return outputs, outputs
    if modes == ("f",):
        outputs, tangents = jax.jvp(function, tuple(xs), tuple(us[0]))
        return outputs, tangents
    if modes == ("r",):
        outputs, pull = jax.vjp(function, *xs)
        return outputs, (inner(pull(conjugate(v)), us[0]),)
    current, weights = function, conjugate(v)
    for mode, u in zip(modes, us):
        if mode == "f":
            current = _pushed(current, tuple(u))
        else:
            current, weights = _pulled(current, tuple(u), weights), (jnp.ones((), jnp.float64),)
    return None, tuple(current(*xs))


def _pushed(g: Function, u: tuple[Any, ...]) -> Function:
    return lambda *xs: jax.jvp(g, xs, u)[1]


def _pulled(g: Function, u: tuple[Any, ...], w: tuple[Any, ...]) -> Function:
    def directional(*xs: Any) -> tuple[Any, ...]:
        _, pull = jax.vjp(g, *xs)
        return (inner(pull(w), u),)

    return directional
