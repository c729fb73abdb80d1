"""Compiled checks, reused: all scenarios of one order in one compilation per (calls, shapes, dtypes).

A new shape costs JAX hundreds of milliseconds, a compiled check some tens of microseconds. So a Plan compiles F with all
derivatives of an order at once, takes inputs and directions as arguments, and serves every mutant that differs in its numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.targets.jax.scenarios import Arrays, Way, derivative
from gradfuzz.targets.jax.variants import VARIANTS
from gradfuzz.targets.protocol import QUICK_STEP, Modes, nestings

# F takes its differentiable inputs and the other floating ones.
Function = Callable[[Arrays, Arrays], tuple[Any, ...]]

UNITS = {"float64": 2.0**-52, "complex128": 2.0**-52, "float32": 2.0**-23, "complex64": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}

# Derivatives of derivatives multiply a computation; above this many characters of lowered text compiling the next order
# takes longer than a mutant may.
DEAR = 400_000

# 0.4.13 crashes when it is told to forget what it has compiled; 0.10 does not, and needs four times the memory.
FORGETS_FROM = (0, 10)

# Errors that say "this needs the numbers themselves": such a function runs op by op, as it does for its users.
NEEDS_NUMBERS = tuple(
    getattr(jax.errors, name)
    for name in ("ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError", "NonConcreteBooleanIndexError")
)


class TooDear(NotImplementedError):
    """Our own bound on compile time."""


class Plan:
    """F at given shapes and dtypes: its outputs' avals, and a compiled bundle for each order asked for."""

    def __init__(self, function: Function, xs: Arrays, fixed: Arrays) -> None:
        self.function = function
        self.direct: Function = jax.jit(function)  # its trace is shared by all direct runs
        self.eager = False
        try:
            self.avals = jax.eval_shape(self.direct, tuple(xs), tuple(fixed))
        except NEEDS_NUMBERS:
            self.eager, self.direct = True, function
            self.avals = tuple(jax.ShapeDtypeStruct(o.shape, o.dtype) for o in function(on_device(xs), on_device(fixed)))
        self.zeros = tuple(np.zeros(o.shape, o.dtype) for o in self.avals)
        self.looks = tuple(z.astype(np.float32) if str(z.dtype) == "bfloat16" else z for z in self.zeros)  # as the oracles see them
        self.still = tuple(np.zeros_like(x) for x in xs)  # the direction that moves nothing
        self.unit = max([UNITS.get(str(a.dtype), 2.0**-52) for a in [*xs, *self.avals]])
        self._bundles: dict[int, Bundle] = {}
        self._variants: dict[str, Bundle] = {}

    def bundle(self, order: int) -> Bundle:
        found = self._bundles.get(order)
        if found is None:
            if order > 1 and self.bundle(order - 1).size > DEAR:
                raise TooDear(f"order {order} is not compiled: order {order - 1} is large already")
            found = self._bundles[order] = Bundle(self, nestings(order), ends=order == 1 and not self.eager)
        return found

    def variant(self, name: str) -> Bundle:
        """The scenarios up to order one in a variant."""
        found = self._variants.get(name)
        if found is None:
            if self.bundle(1).size > DEAR:
                raise TooDear(f"{name} is not compiled: the function is large already")
            found = self._variants[name] = Bundle(self, [(), *nestings(1)], VARIANTS[name], compiled=name != "eager")
        return found


class Bundle:
    """Some scenarios and the direct run as one function. A scenario that cannot be traced keeps its error; the others go on."""

    def __init__(self, plan: Plan, scenarios: Sequence[Modes], way: Way = derivative, compiled: bool = True, ends: bool = False) -> None:
        self.plan, self.scenarios, self.way, self.ends = plan, list(scenarios), way, ends
        self.eager = plan.eager or not compiled
        self.errors: dict[Modes, BaseException] = {}
        self.size = 0
        self._call: Callable[..., Any] | None = None
        self._parts: list[Bundle] = []

    def run(self, xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays, wanted: Modes | None = None) -> dict[str, Any]:
        """Outputs under "direct", and (outputs, derivative) under each scenario's letters.

        With `ends`, the outputs at both ends of the quick central difference come along under "ahead" and "behind".
        Compiled, all of them cost as much as one; op by op only the wanted one is there.
        """
        args = (tuple(xs), tuple(fixed), tuple(map(tuple, us)), tuple(v))
        if self.eager:
            xs, fixed, us, v = jax.tree_util.tree_map(jnp.asarray, args)
            return self._traced(xs, fixed, us, v, [m for m in self.scenarios if m == wanted])
        if self._call is None and not self._parts:
            self._compile(args)
        if self._call is not None:
            return self._call(*args)  # type: ignore[no-any-return]
        found: dict[str, Any] = {}
        for part in self._parts:
            if part.scenarios and part.scenarios[0] in self.errors:
                continue  # what cannot be compiled is not tried again
            try:
                found.update(part.run(*args))
            except Exception as error:
                if not part.scenarios:
                    raise
                self.errors[part.scenarios[0]] = error
            self.errors.update(part.errors)
        return found

    def _compile(self, args: Any) -> None:
        try:
            lowered = jax.jit(self._traced).lower(*args)
            self.size = len(lowered.as_text())
            self._call = lowered.compile()
        except Exception:
            if len(self.scenarios) < 2:
                raise
            # One of them can be traced and not compiled (custom_vjp refuses forward mode that late): find out which.
            self._parts = [Bundle(self.plan, [], ends=self.ends), *(Bundle(self.plan, [modes], self.way) for modes in self.scenarios)]

    def _traced(self, xs: Arrays, fixed: Arrays, us: Any, v: Arrays, scenarios: Sequence[Modes] | None = None) -> dict[str, Any]:
        def function(*inputs: Any) -> tuple[Any, ...]:
            return self.plan.function(inputs, fixed)

        wanted = self.scenarios if scenarios is None else scenarios
        found: dict[str, Any] = {}
        if not scenarios or len(wanted[0]) > 1:
            found["direct"] = self.plan.direct(tuple(xs), tuple(fixed))
        if self.ends:
            for name, step in (("ahead", QUICK_STEP), ("behind", -QUICK_STEP)):
                found[name] = self.plan.direct(tuple(x + (step * u).astype(x.dtype) for x, u in zip(xs, us[0])), tuple(fixed))
        for modes in wanted:
            try:
                found["".join(modes)] = self.way(function, xs, modes, us, v)
            except Exception as error:
                self.errors[modes] = error.with_traceback(None)
        return found


def on_device(arrays: Arrays) -> tuple[Any, ...]:
    """The arrays as JAX's own."""
    return tuple(jnp.asarray(a) for a in arrays)


def forget() -> None:
    """Drop what JAX keeps of functions traced and compiled."""
    if jax.__version_info__ >= FORGETS_FROM:
        jax.clear_caches()
