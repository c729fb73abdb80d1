"""JAX for people's own functions: the derivatives and the refusals of campaigns, in double precision for as long as a check runs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.functions import Array, Function, Functions
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.jax.derivatives import JaxTransforms, derivative
from gradfuzz.targets.jax.refusals import JaxRefusals
from gradfuzz.targets.jax.ways import BY_HAND, EAGER, WAYS

JIT = "jit"  # people's own functions run op by op plainly


class JaxFunctions(Functions):
    """The installed JAX."""

    version = jax.__version__
    way_names = (JIT, *(name for name in WAYS if name != EAGER))

    def read_refusals(self, data: dict[str, Any]) -> Refusals:
        return JaxRefusals(data)

    def session(self) -> AbstractContextManager[Any]:
        home = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
        enable: Any = home.enable_x64
        context: AbstractContextManager[Any] = enable(True)
        return context

    def owns(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def tensor(self, array: Array, dtype: str) -> Any:
        return jnp.array(array if dtype_name(array.dtype) == dtype else array.astype(jnp.dtype(dtype)))

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        directions = [[jnp.asarray(d, x.dtype) for d, x in zip(u, xs)] for u in us]
        outputs, result = derivative(function, xs, scenario.modes, directions, [jnp.asarray(w) for w in v])
        return self.outcome(scenario, outputs, result)

    def beside(self, function: Function, xs: Sequence[Any], u: list[Array]) -> Outcome:
        def value(inputs: Any) -> Any:
            return jax.vjp(lambda *parts: tuple(function(parts)), *inputs)[0]

        outputs, tangents = JaxTransforms().push(value, xs, [jnp.asarray(d, x.dtype) for d, x in zip(u, xs)])
        return Outcome([self.array(o) for o in outputs], [self.array(t) for t in tangents])

    def in_way(
        self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array], random: bool
    ) -> Outcome:  # fmt: skip
        directions = tuple(tuple(jnp.asarray(d, x.dtype) for d, x in zip(u, xs)) for u in us)
        way: Any = WAYS.get(scenario.way, derivative)

        def run(xs: Any, us: Any, v: Any) -> Any:
            return way(function, xs, scenario.modes, us, v)

        made: Any = run if scenario.way in BY_HAND else jax.jit(run)
        outputs, result = made(tuple(xs), directions, tuple(jnp.asarray(w) for w in v))
        return self.outcome(scenario, outputs, result)
