"""JAX's compiled checks: a new shape costs hundreds of milliseconds, a compiled check some tens of microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.targets.base.bundle import Answers, Args, Arrays, Bundle, Plan, TooDear, key_of
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT, UNITS, as_seen
from gradfuzz.targets.base.nesting import Derivative
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.jax.derivatives import derivative
from gradfuzz.targets.jax.ways import BY_HAND, COMPUTING, WAYS
from gradfuzz.targets.jax.whole import Whole

# F takes its differentiable inputs and the other floating ones.
Function = Callable[[Arrays, Arrays], tuple[Any, ...]]

# Above this many characters of lowered text compiling the next order takes longer than a mutant may.
DEAR = 400_000

# 0.4.13 crashes when it is told to forget what it has compiled; 0.10 does not, and needs four times the memory.
FORGETS_FROM = (0, 10)

FIRST: list[Modes] = [("f",), ("r",)]

# Errors that say "this needs the numbers themselves": such a function runs op by op, as it does for its users.
NEEDS_NUMBERS = tuple(
    getattr(jax.errors, name)
    for name in ("ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError", "NonConcreteBooleanIndexError")
)


class JaxPlan(Plan):
    """F at given shapes and types, with what is known of its outputs before it runs."""

    def __init__(self, function: Function, whole: Function, xs: Arrays, fixed: Arrays, constants: Arrays) -> None:
        """`whole`: F of its inputs and of all that stands beside them, with all that it gives."""
        super().__init__()
        self.function, self.whole, self.constants = function, whole, tuple(constants)
        self.direct: Function = jax.jit(function)  # its trace is shared by all direct runs
        try:
            traced, self.avals = jax.make_jaxpr(self.direct, return_shape=True)(tuple(xs), tuple(fixed))
            self.narrowest = narrowed(traced.jaxpr)
        except NEEDS_NUMBERS:
            self.eager, self.direct, self.narrowest = True, function, 0.0
            self.avals = tuple(jax.ShapeDtypeStruct(o.shape, o.dtype) for o in function(on_device(xs), on_device(fixed)))
        self.zeros = tuple(np.zeros(o.shape, o.dtype) for o in self.avals)
        self.looks = tuple(as_seen(z) for z in self.zeros)
        self.still = tuple(np.zeros_like(x) for x in xs)  # the direction that moves nothing
        self.unit = max([_unit(a) for a in [*xs, *self.avals]])

    def most(self, order: int) -> int:
        return DEAR

    def make(self, scenarios: list[Modes], order: int) -> Bundle:
        return JaxBundle(self, scenarios)

    def make_way(self, way: str, scenarios: list[Modes]) -> Bundle:
        if self.bundle(1).size > DEAR:
            raise TooDear(f"{way} is not compiled: the function is large already")
        return JaxBundle(self, scenarios, WAYS[way], eager=way in BY_HAND)

    def trace(self, way: str, args: Args) -> dict[Modes, BaseException]:
        """What derivatives of order one raise when they are traced in a way, or plainly. Nothing is computed."""
        if way in COMPUTING:
            return {}
        bundle = JaxBundle(self, FIRST, WAYS[way] if way else derivative)
        try:
            jax.eval_shape(bundle._traced, *_tuples(args))
        except Exception:  # not of a scenario: what is not to be had plainly either
            return {}
        return bundle.errors


class JaxBundle(Bundle):
    """Some scenarios as one compiled function. F itself is compiled once, apart: each copy of it would cost as much again."""

    def __init__(self, plan: JaxPlan, scenarios: Sequence[Modes], way: Derivative = derivative, eager: bool = False) -> None:
        super().__init__(scenarios, plan.eager or eager)
        self.plan, self.way = plan, way

    def alone(self, scenarios: list[Modes]) -> Bundle:
        return JaxBundle(self.plan, scenarios, self.way)

    def without_scenarios(self, args: Args) -> Answers:
        return {}

    def compile(self, args: Args) -> Any:
        lowered = jax.jit(self._traced).lower(*_tuples(args))
        self.size = len(lowered.as_text())
        return lowered.compile()

    def call(self, compiled: Any, args: Args) -> Answers:
        return compiled(*_tuples(args))  # type: ignore[no-any-return]

    def op_by_op(self, args: Args, scenarios: Sequence[Modes]) -> Answers:
        xs, fixed, us, v = jax.tree_util.tree_map(jnp.asarray, _tuples(args))
        return self._traced(xs, fixed, us, v, scenarios)

    def _traced(self, xs: Arrays, fixed: Arrays, us: Any, v: Arrays, scenarios: Sequence[Modes] | None = None) -> Answers:
        function = Whole(self.plan.whole, (*fixed, *self.plan.constants))
        found: Answers = {}
        for modes in self.scenarios if scenarios is None else scenarios:
            try:
                found[key_of(modes)] = self.way(function, xs, modes, us, v)
                self.errors.pop(modes, None)  # of other numbers, where it runs op by op
            except Exception as error:
                self.errors[modes] = error.with_traceback(None)
        return found


def _tuples(args: Args) -> tuple[Any, Any, Any, Any]:
    return tuple(args.xs), tuple(args.fixed), tuple(map(tuple, args.us)), tuple(args.v)


def _unit(array: Any) -> float:
    return UNITS.get(str(array.dtype), DOUBLE_UNIT)


def narrowed(jaxpr: Any) -> float:
    """The coarsest rounding unit of a type that floating numbers are narrowed to on the way, as those of a softmax in single precision are
    in the middle of an attention; 0 where none are."""
    found = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "convert_element_type":
            given, made = equation.invars[0].aval, equation.outvars[0].aval
            if str(given.dtype) in UNITS and _unit(made) > _unit(given):
                found = max(found, _unit(made))
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    found = max(found, narrowed(inner))
    return found


def on_device(arrays: Arrays) -> tuple[Any, ...]:
    """The arrays as JAX's own."""
    return tuple(jnp.asarray(a) for a in arrays)


def release() -> None:
    """Drop what JAX keeps of functions traced and compiled."""
    if jax.__version_info__ >= FORGETS_FROM:
        jax.clear_caches()
