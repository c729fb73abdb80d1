"""A Program bound to TensorFlow: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.program.model import Program
from gradfuzz.targets.base.bundle import Args, Arrays, Bundle
from gradfuzz.targets.base.compiled import CompiledPoint, plan_key
from gradfuzz.targets.base.dtypes import as_seen
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Vec
from gradfuzz.targets.base.scenario import DIRECT, REVERSE, Scenario
from gradfuzz.targets.tensorflow.function import Function, Inputs, add_weights, build
from gradfuzz.targets.tensorflow.plan import TensorflowPlan
from gradfuzz.targets.tensorflow.rules import Rules
from gradfuzz.targets.tensorflow.tensors import UNITS, leaves_of, tensors

Array = Any
# Graphs hold memory for as long as they may be used again.
MOST_PLANS = 128
# Graphs, each with the function that it was traced from.
Kept = Plans[tuple[TensorflowPlan, Function]]


class TensorflowPoint(Inputs, CompiledPoint):
    """One Program at one point. Tensors are immutable; what draws random numbers without a seed is refused."""

    plan: TensorflowPlan

    def __init__(
        self, program: Program, compiler: Compiler, plans: Kept, rules: Rules, arrays: list[Array] | None = None
    ) -> None:  # fmt: skip
        super().__init__(program, compiler, arrays)
        self.resting = list(self.fixed.values())
        key = plan_key(program, plans)
        found = plans.find(key)
        function = build(self, program) if found is None else found[1]
        add_weights(self, function)
        if found is None:
            found = TensorflowPlan(function, self.leaves, self.resting, rules), function
            plans.keep(key, found)
        self.plan, self._function = found
        self._all = self.leaves
        self._kept = [i for i in range(len(self.leaves)) if i not in self.plan.dead]
        if self.plan.dead:
            self.names = [self.names[i] for i in self._kept]
            self.structures = [self.structures[i] for i in self._kept]
            self.scales = [self.scales[i] for i in self._kept]
            self.leaves = [self._all[i] for i in self._kept]
        self._zeros = [np.zeros_like(x) for x in self._all]

    @property
    def random(self) -> bool:
        """Whether it draws numbers, from whatever seed."""
        return self.plan.draws

    @property
    def unit(self) -> float:
        """The coarsest unit among inputs, outputs and what is computed between them: many kernels know single precision only."""
        return max([self.plan.unit, *(UNITS[tf.as_dtype(x.dtype)] for x in self.leaves)])

    def foreseen(self) -> list[Array]:
        """What the outputs look like. Where that depends on the numbers, they are computed."""
        return [as_seen(o) for o in (self.plan.zeros if self.plan.settled else self._first(DIRECT, (), None))]

    def inferred(self) -> list[list[int | None]]:
        """The outputs' shapes as they are known when F is traced. Raises where not even the number of dimensions is."""
        traced = tf.function(lambda *xs: self._function(xs, tensors(self.resting)), autograph=False)
        signature = [tf.TensorSpec(x.shape, x.dtype) for x in self._all]
        return [o.shape.as_list() for o in traced.get_concrete_function(*signature).structured_outputs]

    def first(self) -> list[Array]:
        """F at the inputs."""
        return [as_seen(o) for o in self._first(DIRECT, (), None)]

    def first_along(self, u: Vec, v: Vec) -> list[Array]:
        """F at the inputs; the derivatives of order one along these directions come with it."""
        return [as_seen(o) for o in (self._first(REVERSE, (u,), v) if self.plan.settled else self._first(DIRECT, (), None))]

    def _first(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Arrays:
        if not self.plan.zeros or not self.leaves:
            return self.plan.zeros
        found: Arrays = self.answers(self.bundle_of(scenario), scenario, us, v)["direct"]
        return found

    # The scenarios -------------------------------------------------------------------------------------------------

    def bundle_of(self, scenario: Scenario) -> Bundle:
        return self.plan.bundle(scenario.order)

    def args(self, order: int, us: Sequence[Vec], v: Vec | None, along: Vec | None, shift: float) -> Args:
        directions = [self.native(u) for u in us]
        if v is None:
            return Args(self.shifted(along, shift), self.resting, directions, [])
        return Args(self.shifted(along, shift), self.resting, directions or [self._zeros], self.native_like(v))

    def direct_at(self, along: Vec | None, shift: float) -> Arrays:
        found: Arrays = self.answers(self.plan.bundle(0), DIRECT, (), None, along, shift)["direct"]
        return found

    def choices(self, along: Vec, shift: float) -> list[Array]:
        result = self._function.result(tensors(self.shifted(along, shift)), tensors(self.resting))
        return [leaf.numpy() for leaf in leaves_of(result) if tf.as_dtype(leaf.dtype) not in UNITS]

    def direct_alone(self) -> Arrays:
        return self.direct_at(None, 0.0)

    def shifted(self, along: Vec | None, shift: float) -> list[Array]:
        if along is None:
            return self._all
        moved = list(self._all)
        for i, d in zip(self._kept, along.arrays):
            x = self._all[i]
            moved[i] = np.asarray(x + (shift * d).astype(x.dtype), x.dtype)
        return moved

    def native(self, u: Vec) -> list[Array]:
        """A direction in input space in the inputs' dtypes; inputs without a declared derivative stay where they are."""
        if u.native is None:
            u.native = list(self._zeros)
            for i, d in zip(self._kept, u.arrays):
                u.native[i] = np.asarray(d, self._all[i].dtype)
        return u.native  # type: ignore[no-any-return]

    def native_like(self, v: Vec) -> list[Array]:
        """A direction in output space in the outputs' dtypes."""
        if v.native is None:
            v.native = [np.asarray(a, o.dtype) for a, o in zip(v.arrays, self.plan.zeros)]
        return v.native  # type: ignore[no-any-return]

    def rules(self) -> list[str]:
        """Registered gradients that ran while the scenarios asked for so far were traced."""
        return sorted(f"reverse:{name}" for name in self.plan.reached | self.plan.nested)

    def fault(self) -> str:
        """The gradient that reverse mode runs here, if there is just one."""
        return next(iter(self.plan.reached)) if len(self.plan.reached) == 1 else ""

    def raised_at(self, scenario: Scenario) -> str:
        bundle = self.plan.in_way(scenario.way, scenario.modes) if scenario.way else self.bundle_of(scenario)
        return bundle.places.get(scenario.modes, "")
