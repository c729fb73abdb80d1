"""A Program's calls under one mode, op by op, with nothing run before them: what may well refuse them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.evaluate import run_steps
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.jax.bundle import on_device
from gradfuzz.targets.jax.point import JaxPoint, flatten


def bare(point: JaxPoint, scenario: Scenario) -> str:
    """What comes out of the calls; the derivative of what is floating is computed, too."""
    xs, fixed = on_device(point.leaves), on_device(point.resting)
    seen: list[Any] = []

    def function(*inputs: Any) -> tuple[Any, ...]:
        result = run_steps(point.steps, {**point.constants, **dict(zip(point.names, inputs)), **dict(zip(point.fixed, fixed))})
        seen[:] = [leaf for leaf in jax.tree_util.tree_leaves(result) if hasattr(leaf, "dtype")]
        return flatten(result)

    if scenario.modes == ("r",):
        outputs, back = jax.vjp(function, *xs)
        found = back(tuple(jnp.ones_like(o) for o in outputs))
    elif scenario.modes == ("f",):
        found = jax.jvp(function, xs, tuple(jnp.ones_like(x) for x in xs))
    else:
        found = function(*xs)
    jax.tree_util.tree_map(jax.device_get, found)  # nothing has failed before it was computed
    return ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in seen) or "nothing"
