"""A Program bound to JAX: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DISCRETE, MAX_ELEMENTS, Program, Tensor
from gradfuzz.program.text import tensor_text
from gradfuzz.program.values import magnitude, materialise, size_of
from gradfuzz.targets.evaluate import Compiler, Env, Thunk
from gradfuzz.targets.jax.bundle import UNITS, Bundle, Plan
from gradfuzz.targets.jax.rules import Rules
from gradfuzz.targets.jax.scenarios import Arrays
from gradfuzz.targets.plans import Plans
from gradfuzz.targets.protocol import QUICK_STEP, Modes, Outcome, Vec

Array = Any
BFLOAT16 = jnp.bfloat16.dtype
NUMPY = {name: np.dtype(name) for name in UNITS if name != "bfloat16"}
# Executables hold memory for as long as they may be used again: ten megabytes a Plan, and a batch uses a few.
MOST_PLANS = 32


class JaxPoint:
    """One Program at one point."""

    random = False  # JAX's randomness is a function of its key
    mutates = False  # arrays are immutable

    def __init__(self, program: Program, compiler: Compiler, plans: Plans[Plan], rules: Rules, arrays: list[Array] | None = None) -> None:
        self._rules, self._plans = rules, plans
        self.unit = 2.0**-52
        self.names: list[str] = []
        self.structures: list[str | None] = []
        self.leaves: list[Array] = []
        self.scales: list[float] = []
        self.fixed: list[Array] = []
        self._fixed_names: list[str] = []
        self._constants: dict[str, Array] = {}
        self._steps: list[tuple[tuple[str, ...], Thunk]] = []
        key: list[Any] = []
        replaced = iter(arrays) if arrays is not None else None
        for statement in program.statements:
            value = statement.value
            if not isinstance(value, Tensor):
                self._steps.append((statement.names, compiler.statement(statement)[1]))
                key.append(plans.text(statement))
                continue
            name = statement.names[0]
            if value.differentiable:
                array = materialise(value) if replaced is None else next(replaced)
                self.names.append(name)
                self.structures.append(value.structure)
                self.leaves.append(_of_dtype(array, value.dtype))
                self.scales.append(magnitude(value) if replaced is None else size_of(array))
            elif value.dtype in DISCRETE:
                # Indices and masks are part of the function: many APIs want them to be known when it is compiled.
                # On the device now: inside a trace it would become part of it.
                self._constants[name] = jnp.asarray(materialise(value))
                key.append(tensor_text(value))
                continue
            else:
                self._fixed_names.append(name)
                self.fixed.append(_of_dtype(materialise(value), value.dtype))
            key.append((name, value.shape, value.dtype, value.differentiable))
        if not self._steps:
            raise ProgramError("the Program calls nothing; write at least one call")
        self._key = tuple(key)
        self._last: tuple[Any, dict[str, Any]] | None = None
        self._at: Vec | None = None  # the direction whose ends the last answer holds

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(x) for x in self.leaves]

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Arrays, fixed: Arrays) -> tuple[Any, ...]:
        """F at xs: the floating outputs, flattened."""
        env: Env = {**self._constants, **dict(zip(self.names, xs))}
        env.update(zip(self._fixed_names, fixed))
        value: Any = None
        for names, thunk in self._steps:
            value = thunk(env)
            if len(names) == 1:
                env[names[0]] = value
            elif names:
                env.update(zip(names, value))
        return flatten(value)

    def traces(self, most_elements: int) -> bool:
        """Whether F can be traced into floating outputs of at most so many elements: a question that computes nothing."""
        avals = Plan(self.function, self.leaves, self.fixed).avals
        return bool(0 < sum(o.size for o in avals) <= most_elements)

    def foreseen(self) -> Arrays:
        """What the outputs look like. Nothing is computed for it."""
        plan = self._plans.find(self._key)
        if plan is None or plan.eager:  # what needs its numbers may answer in a shape that depends on them
            plan = Plan(self.function, self.leaves, self.fixed)
            if sum(o.size for o in plan.avals) > MAX_ELEMENTS:
                raise ProgramError("the output is larger than a Program may make")
            self._plans.keep(self._key, plan)
        self.plan, self.unit = plan, plan.unit
        return plan.looks

    def first(self) -> list[Array]:
        """F at the inputs."""
        self.foreseen()
        return self._direct((), None)

    def first_along(self, u: Vec, v: Vec) -> list[Array]:
        """F at the inputs; the derivatives of order one along these directions come with it."""
        return self._direct((), None) if self.plan.eager else self._direct((u,), v)

    def _direct(self, us: Sequence[Vec], v: Vec | None) -> list[Array]:
        if not self.plan.avals or not self.leaves:
            return list(self.plan.looks)
        return [to_numpy(o) for o in self._bundled(("r",) * len(us), us, v, None, 0.0)["direct"]]

    # The scenarios -------------------------------------------------------------------------------------------------

    def run(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        bundle = self.plan.bundle(max(1, len(modes)))
        if not modes:
            found, name = self._end(along, shift)
            outputs = [to_numpy(o) for o in found[name]]
            return Outcome(outputs, outputs)
        found = self._bundled(modes, us, v, along, shift)
        outputs, result = _answer(bundle, found, modes)
        return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], "r" in modes)

    def _end(self, along: Vec | None, shift: float) -> tuple[dict[str, Any], str]:
        """The direct run at a shifted point. The ends of the quick central difference came along with the derivatives."""
        if self._last is not None and abs(shift) == QUICK_STEP and self._at is along and "ahead" in self._last[1]:
            return self._last[1], "ahead" if shift > 0 else "behind"
        if along is None or self.plan.eager:
            return self._bundled((), (), None, along, shift), "direct"
        # The ladder's evaluations are many: F alone, compiled for the Plans that need them, is several times as quick as the bundle.
        return {"direct": self.plan.direct(tuple(self.shifted(along, shift)), tuple(self.fixed))}, "direct"

    def _bundled(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None, shift: float) -> dict[str, Any]:
        """All scenarios of an order; the last answer is kept, since the next question is mostly about another of them."""
        order = max(1, len(modes))
        bundle = self.plan.bundle(order)
        question = (modes if bundle.eager else order, tuple(map(id, us)), id(v), id(along), shift)
        if self._last is not None and self._last[0] == question:
            return self._last[1]
        xs = self.shifted(along, shift)
        directions = [self.native(u) for u in us] or [self.plan.still] * order
        weights = self.plan.zeros if v is None else self.native_like(v)
        found = bundle.run(xs, self.fixed, directions, weights, modes)
        self._last = (question, found)
        self._kept = (us, v, along)  # alive, so that their ids stay theirs
        self._at = us[0] if us and along is None else None
        return found

    def run_variant(self, variant: str, modes: Modes, us: Sequence[Vec], v: Vec) -> Outcome:
        """The scenario in another way; its outcome must be the plain one's."""
        bundle = self.plan.variant(variant)
        question = (variant, modes if bundle.eager else (), tuple(map(id, us)), id(v))
        if self._last is None or self._last[0] != question:
            directions = [self.native(u) for u in us] or [self.plan.still]
            self._last, self._at = (question, bundle.run(self.leaves, self.fixed, directions, self.native_like(v), modes)), None
        outputs, result = _answer(bundle, self._last[1], modes)
        return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], "r" in modes)

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


def _answer(bundle: Bundle, found: dict[str, Any], modes: Modes) -> tuple[Any, Any]:
    if modes in bundle.errors:
        raise bundle.errors[modes]
    outputs, result = found["".join(modes)]
    return found["direct"] if outputs is None else outputs, result


def flatten(value: Any) -> tuple[Any, ...]:
    """Floating arrays inside tuples, lists, dicts and JAX's own result types, in order."""
    leaves = [leaf for leaf in jax.tree_util.tree_leaves(value) if hasattr(leaf, "dtype")]
    return tuple(jnp.asarray(leaf) for leaf in leaves if _floating(leaf.dtype))


def _floating(dtype: Any) -> bool:
    return str(dtype) in UNITS


def _of_dtype(array: Array, dtype: str) -> Array:
    if array.dtype is NUMPY.get(dtype):
        return array
    with np.errstate(all="ignore"):
        return np.asarray(array, BFLOAT16 if dtype == "bfloat16" else dtype)


def to_numpy(array: Any) -> Array:
    """The array's numbers; bfloat16 comes as float32."""
    found = np.asarray(array)
    return found.astype(np.float32) if found.dtype == BFLOAT16 else found
