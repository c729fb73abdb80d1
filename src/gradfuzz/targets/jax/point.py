"""A Program bound to JAX: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Program, Tensor
from gradfuzz.targets.base.bundle import Args, Arrays, Bundle
from gradfuzz.targets.base.compiled import CompiledPoint, plan_key
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT, UNITS, as_seen
from gradfuzz.targets.base.evaluate import Compiler, Env, run_steps
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes, Scenario
from gradfuzz.targets.jax.bundle import JaxPlan, on_device
from gradfuzz.targets.jax.device import on
from gradfuzz.targets.jax.rules import Rules
from gradfuzz.targets.jax.whole import arrays, floating

Array = Any
BFLOAT16 = jnp.bfloat16.dtype
NUMPY = {name: np.dtype(name) for name in UNITS if name != "bfloat16"}
# Executables hold memory for as long as they may be used again: ten megabytes a Plan, and a batch uses a few.
MOST_PLANS = 32


class JaxPoint(CompiledPoint):
    """One Program at one point. JAX's randomness is a function of its key, and its arrays are immutable."""

    plan: JaxPlan

    def __init__(
        self, program: Program, compiler: Compiler, plans: Plans[JaxPlan], rules: Rules, arrays: list[Array] | None = None
    ) -> None:  # fmt: skip
        super().__init__(program, compiler, arrays)
        self.program, self.compiler = program, compiler
        self._rules, self._plans = rules, plans
        self._there: dict[str, JaxPoint] = {}  # on other devices
        self._key = plan_key(program, plans)
        self.resting = list(self.fixed.values())
        self.unit, self.narrowest = DOUBLE_UNIT, 0.0

    def leaf(self, array: Array, recipe: Tensor) -> Array:
        if array.dtype is NUMPY.get(recipe.dtype):
            return array
        with np.errstate(all="ignore"):
            return np.asarray(array, BFLOAT16 if recipe.dtype == "bfloat16" else recipe.dtype)

    def constant(self, array: Array, recipe: Tensor) -> Any:
        # Many APIs want indices and masks to be known when they are compiled. On the device now: inside a trace it would become part of it.
        return jnp.asarray(array)

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Arrays, fixed: Arrays) -> tuple[Any, ...]:
        """F at xs: the floating outputs, flattened."""
        return flatten(self._result(xs, fixed))

    def whole(self, xs: Arrays, beside: Arrays) -> tuple[Any, ...]:
        """F at xs and at what stands beside them, fixed numbers first: all outputs, whole numbers too."""
        return arrays(self._result(xs, beside[: len(self.fixed)], beside[len(self.fixed) :]))

    def _result(self, xs: Arrays, fixed: Arrays, constants: Arrays | None = None) -> Any:
        env: Env = {**self.constants, **dict(zip(self.names, xs))}
        env.update(zip(self.fixed, fixed))
        if constants is not None:
            env.update(zip(self.constants, constants))
        return run_steps(self.steps, env)

    def choices(self, along: Vec, shift: float) -> list[Array]:
        xs, fixed = ([jnp.asarray(x) for x in arrays] for arrays in (self.shifted(along, shift), self.resting))
        leaves = [leaf for leaf in jax.tree_util.tree_leaves(self._result(xs, fixed)) if hasattr(leaf, "dtype")]
        return [np.asarray(leaf) for leaf in leaves if str(leaf.dtype) not in UNITS]

    def traces(self, most_elements: int) -> bool:
        """Whether F can be traced into floating outputs of at most so many elements: a question that computes nothing."""
        avals = self._planned().avals
        return bool(0 < sum(o.size for o in avals) <= most_elements)

    def _planned(self) -> JaxPlan:
        return JaxPlan(self.function, self.whole, self.leaves, self.resting, tuple(self.constants.values()))

    def untraced(self, ways: Iterable[str]) -> Iterator[tuple[str, Modes, BaseException]]:
        """Ways and modes in which a derivative of order one raises when it is traced, and the plain one does not, with what it raises."""
        self.foreseen()
        if self.plan.eager or not self.plan.avals:
            return
        args = self.args(1, (), None, None, 0.0)
        plain = self.plan.trace("", args)
        for way in ways:
            yield from ((way, modes, error) for modes, error in self.plan.trace(way, args).items() if modes not in plain)

    def foreseen(self) -> Arrays:
        """What the outputs look like. Nothing is computed for it."""
        plan = self._plans.find(self._key)
        if plan is None or plan.eager:  # what needs its numbers may answer in a shape that depends on them
            plan = self._planned()
            if sum(o.size for o in plan.avals) > MAX_ELEMENTS:
                raise ProgramError("the output is larger than a Program may make")
            self._plans.keep(self._key, plan)
        self.plan, self.unit, self.narrowest = plan, plan.unit, plan.narrowest
        return plan.looks

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        if not scenario.device:
            return super().run(scenario, us, v, along, shift)
        with on(scenario.device):
            return self._elsewhere(scenario.device).run(scenario.plain.in_way(scenario.way), us, v, along, shift)

    def _elsewhere(self, device: str) -> JaxPoint:
        """The same Program with plans of its own: what was compiled for one device is of no use to another."""
        if device not in self._there:
            point = self._there[device] = JaxPoint(self.program, self.compiler, Plans(1), self._rules, self.leaves)
            point.foreseen()
        return self._there[device]

    def first(self) -> list[Array]:
        """F at the inputs."""
        self.foreseen()
        return self._first()

    def first_along(self, u: Vec, v: Vec) -> list[Array]:
        """F at the inputs. Its derivatives are compiled apart from it."""
        return self._first()

    def _first(self) -> list[Array]:
        if not self.plan.avals or not self.leaves:
            return list(self.plan.looks)
        return [as_seen(o) for o in self.direct_at(None, 0.0)]

    # The scenarios -------------------------------------------------------------------------------------------------

    def bundle_of(self, scenario: Scenario) -> Bundle:
        return self.plan.bundle(max(1, scenario.order))

    def args(self, order: int, us: Sequence[Vec], v: Vec | None, along: Vec | None, shift: float) -> Args:
        directions = [self.native(u) for u in us] or [self.plan.still] * order
        return Args(self.shifted(along, shift), self.resting, directions, self.plan.zeros if v is None else self.native_like(v))

    def direct_at(self, along: Vec | None, shift: float) -> Arrays:
        given = on_device if self.plan.eager else tuple  # what was compiled takes arrays of NumPy's as they are
        return self.plan.direct(given(self.shifted(along, shift)), given(self.resting))

    def direct_alone(self) -> Arrays:
        self.foreseen()
        return self.direct_at(None, 0.0)

    def shifted(self, along: Vec | None, shift: float) -> list[Array]:
        if along is None:
            return self.leaves
        return [np.asarray(x + (shift * d).astype(x.dtype), x.dtype) for x, d in zip(self.leaves, along.arrays)]

    def native(self, u: Vec) -> tuple[Array, ...]:
        """A direction in input space in the inputs' dtypes."""
        if u.native is None:
            u.native = tuple(np.asarray(a, x.dtype) for a, x in zip(u.arrays, self.leaves))
        return u.native  # type: ignore[no-any-return]

    def native_like(self, v: Vec) -> tuple[Array, ...]:
        """A direction in output space in the outputs' dtypes."""
        if v.native is None:
            v.native = tuple(np.asarray(a, o.dtype) for a, o in zip(v.arrays, self.plan.avals))
        return v.native  # type: ignore[no-any-return]

    def rules(self) -> list[str]:
        """Rules reached by all traces since the last call. JAX remembers traces, so a rule shows where it is first reached."""
        return sorted(self._rules.take())

    def fault(self) -> str:
        return ""  # what a trace reached is known, not what is at work here


def flatten(value: Any) -> tuple[Any, ...]:
    """Floating arrays inside tuples, lists, dicts and JAX's own result types, in order."""
    return floating(arrays(value))
