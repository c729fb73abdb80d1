"""A Program bound to TensorFlow: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DISCRETE, Program, Tensor
from gradfuzz.program.text import tensor_text
from gradfuzz.program.values import magnitude, materialise, size_of
from gradfuzz.targets.evaluate import Compiler, Env, Thunk
from gradfuzz.targets.plans import Plans
from gradfuzz.targets.protocol import QUICK_STEP, Modes, Outcome, Refusal, Vec
from gradfuzz.targets.tensorflow.bundle import UNITS, Bundle, Plan, tensors
from gradfuzz.targets.tensorflow.modules import Module
from gradfuzz.targets.tensorflow.rules import Rules
from gradfuzz.targets.tensorflow.scenarios import Arrays

Array = Any
BFLOAT16 = tf.bfloat16.as_numpy_dtype
# Graphs hold memory for as long as they may be used again.
MOST_PLANS = 128


class Steps:
    """A Program's calls as a function of its inputs. Layers are made when it is made, and built by its first run."""

    def __init__(
        self, names: list[str], fixed: list[str], constants: dict[str, Array], steps: list[tuple[tuple[str, ...], Thunk]],
        layers: list[tuple[str, Thunk]], floatx: str,
    ) -> None:  # fmt: skip
        self.names, self.fixed, self.constants, self.steps, self.floatx = names, fixed, constants, steps, floatx
        self._precision()
        self.layers = [(name, thunk({})) for name, thunk in layers]
        self.modules: list[Module] = []

    def _precision(self) -> None:
        """Keras makes its constants and weights in the precision of the Program."""
        if tf.keras.backend.floatx() != self.floatx:
            tf.keras.backend.set_floatx(self.floatx)
            tf.keras.mixed_precision.set_global_policy(self.floatx)

    def build(self, xs: Arrays, fixed: Arrays) -> None:
        """Layers make their weights when they first see an input."""
        if self.layers:
            self(tensors(xs), tensors(fixed))
            self.modules = [Module(layer) for _, layer in self.layers]

    def __call__(self, xs: Arrays, fixed: Arrays) -> list[Any]:
        """F at xs: the floating outputs, flattened."""
        self._precision()
        env: Env = {name: tf.constant(value) for name, value in self.constants.items()}
        env.update(zip(self.names, xs))
        env.update(zip(self.fixed, fixed))
        env.update(self.layers)
        value: Any = None
        with contextlib.ExitStack() as stack:
            position = len(self.names)
            for module in self.modules:
                stack.enter_context(module.bound(xs[position : position + len(module.values)]))
                position += len(module.values)
            for names, thunk in self.steps:
                value = thunk(env)
                if len(names) == 1:
                    env[names[0]] = value
                elif names:
                    env.update(zip(names, value))
            return flatten(value)


# Graphs, each with the function that it was traced from.
Kept = Plans[tuple[Plan, Steps]]


class Binding:
    """A Program's inputs as arrays and its calls as closures. Nothing has run yet."""

    def __init__(self, program: Program, compiler: Compiler, plans: Kept, arrays: list[Array] | None = None) -> None:
        self.names: list[str] = []
        self.structures: list[str | None] = []
        self.leaves: list[Array] = []
        self.scales: list[float] = []
        self.fixed: list[Array] = []
        self._fixed_names: list[str] = []
        self._constants: dict[str, Array] = {}
        self._steps: list[tuple[tuple[str, ...], Thunk]] = []
        self._layers: list[tuple[str, Thunk]] = []
        key: list[Any] = []
        self._replaced = replaced = iter(arrays) if arrays is not None else None
        for statement in program.statements:
            value = statement.value
            if not isinstance(value, Tensor):
                _, thunk, constructs = compiler.statement(statement)
                key.append(plans.text(statement))
                if constructs and len(statement.names) == 1:
                    self._layers.append((statement.names[0], thunk))
                else:
                    self._steps.append((statement.names, thunk))
                continue
            name = statement.names[0]
            if value.differentiable:
                array = materialise(value) if replaced is None else next(replaced)
                self._add(name, _of_dtype(array, value.dtype), value.structure, magnitude(value) if replaced is None else size_of(array))
            elif value.dtype in DISCRETE:
                # Indices and masks are part of the function: many APIs want them to be known when it is traced.
                self._constants[name] = materialise(value)
                key.append(tensor_text(value))
                continue
            else:
                self._fixed_names.append(name)
                self.fixed.append(_of_dtype(materialise(value), value.dtype))
            key.append((name, value.shape, value.dtype, value.differentiable))
        if not self._steps:
            raise ProgramError("the Program calls nothing; write at least one call")
        self.key = tuple(key)
        self._floatx = _floatx(program)

    def build(self) -> Steps:
        """The function, with its layers built. Raises what the library raises."""
        function = Steps(list(self.names), self._fixed_names, self._constants, self._steps, self._layers, self._floatx)
        function.build(self.leaves, self.fixed)
        return function

    def add_weights(self, function: Steps) -> None:
        """The layers' weights, as further inputs."""
        for (layer, _), module in zip(function.layers, function.modules):
            for name, value in zip(module.names, module.values):
                array = value if self._replaced is None else _of_dtype(next(self._replaced), str(value.dtype))
                self._add(f"{layer}.{name}", array, None, size_of(array))

    def _add(self, name: str, array: Array, structure: str | None, scale: float) -> None:
        self.names.append(name)
        self.structures.append(structure)
        self.leaves.append(array)
        self.scales.append(scale)


class TensorflowPoint(Binding):
    """One Program at one point."""

    mutates = False  # tensors are immutable
    random = False  # what draws random numbers without a seed is refused

    def __init__(
        self, program: Program, compiler: Compiler, plans: Kept, rules: Rules, classify: Callable[[BaseException], Refusal],
        arrays: list[Array] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(program, compiler, plans, arrays)
        self._classify = classify
        found = plans.find(self.key)
        function = self.build() if found is None else found[1]
        self.add_weights(function)
        if found is None:
            found = Plan(function, self.leaves, self.fixed, rules), function
            plans.keep(self.key, found)
        self.plan = found[0]
        self._all = self.leaves
        self._kept = [i for i in range(len(self.leaves)) if i not in self.plan.dead]
        if self.plan.dead:
            self.names = [self.names[i] for i in self._kept]
            self.structures = [self.structures[i] for i in self._kept]
            self.scales = [self.scales[i] for i in self._kept]
            self.leaves = [self._all[i] for i in self._kept]
        self._zeros = [np.zeros_like(x) for x in self._all]
        self._last: tuple[Any, dict[str, Any]] | None = None
        self._at: Vec | None = None  # along which the ends of the quick central difference are known

    @property
    def unit(self) -> float:
        """The coarsest unit among inputs, outputs and what is computed between them: many kernels know single precision only."""
        return max([self.plan.unit, *(UNITS[tf.as_dtype(x.dtype)] for x in self.leaves)])

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(x) for x in self.leaves]

    def foreseen(self) -> list[Array]:
        """What the outputs look like. Where that depends on the numbers, they are computed."""
        looks = self.plan.zeros if self.plan.settled else self._direct((), None)
        return [to_numpy(o) for o in looks]

    def first(self) -> list[Array]:
        """F at the inputs."""
        return [to_numpy(o) for o in self._direct((), None)]

    def first_along(self, u: Vec, v: Vec) -> list[Array]:
        """F at the inputs; the derivatives of order one along these directions come with it."""
        return [to_numpy(o) for o in (self._direct((u,), v) if self.plan.settled else self._direct((), None))]

    def _direct(self, us: Sequence[Vec], v: Vec | None) -> list[Array]:
        if not self.plan.zeros or not self.leaves:
            return list(self.plan.zeros)
        return list(self._bundled(("r",) * len(us), us, v, None, 0.0)["direct"])

    # The scenarios -------------------------------------------------------------------------------------------------

    def run(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        if not modes:
            outputs = [to_numpy(o) for o in self._end(along, shift)]
            return Outcome(outputs, outputs)
        found = self._bundled(modes, us, v, along, shift)
        return _outcome(self.plan.bundle(len(modes)), found, modes)

    def _end(self, along: Vec | None, shift: float) -> Any:
        """The direct run at a shifted point. The ends of the quick central difference came along with the derivatives."""
        if self._last is not None and abs(shift) == QUICK_STEP and self._at is along is not None and "ahead" in self._last[1]:
            return self._last[1]["ahead" if shift > 0 else "behind"]
        return self._bundled((), (), None, along, shift)["direct"]

    def _bundled(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None, shift: float) -> dict[str, Any]:
        """All scenarios of an order; the last answer is kept, since the next question is mostly about another of them."""
        order = len(modes)
        bundle = self.plan.bundle(order)
        question = (modes if bundle.eager else order, tuple(map(id, us)), id(v), id(along), shift)
        if self._last is not None and self._last[0] == question:
            return self._last[1]
        directions = [self.native(u) for u in us]
        weights = [] if v is None else self.native_like(v)
        found = bundle.run(self.shifted(along, shift), self.fixed, directions, weights, modes)
        self._last = (question, found)
        self._alive = (us, v, along)  # so that their ids stay theirs
        self._at = us[0] if us and along is None else None
        return found

    def run_variant(self, variant: str, modes: Modes, us: Sequence[Vec], v: Vec) -> Outcome:
        """The scenario in another way; its outcome must be the plain one's."""
        bundle = self.plan.variant(variant)
        question = (variant, modes if bundle.eager else (), tuple(map(id, us)), id(v))
        if self._last is None or self._last[0] != question:
            directions = [self.native(u) for u in us] or [self._zeros]
            self._last = (question, bundle.run(self._all, self.fixed, directions, self.native_like(v), modes))
            self._alive, self._at = (us, v, None), None
        return _outcome(bundle, self._last[1], modes)

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
        """Where it raised, if something did that is no refusal; else the gradient that reverse mode runs here, if there is just one."""
        for bundle in self.plan.bundles():
            for modes, error in [*bundle.errors.items(), *bundle.failures.items()]:
                if bundle.places.get(modes) and self._classify(error).kind not in ("unsupported", "invalid"):
                    return bundle.places[modes]
        return next(iter(self.plan.reached)) if len(self.plan.reached) == 1 else ""


def _outcome(bundle: Bundle, found: dict[str, Any], modes: Modes) -> Outcome:
    error = bundle.errors.get(modes) or bundle.failures.get(modes)
    if error is not None:
        raise error
    outputs, result = found["".join(modes) or "plain"]
    return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], "r" in modes)


def flatten(value: Any) -> list[Any]:
    """Floating tensors inside tuples, lists, dicts, sparse and ragged tensors, in order."""
    leaves = [leaf for leaf in tf.nest.flatten(value, expand_composites=True) if hasattr(leaf, "dtype")]
    return [tf.convert_to_tensor(leaf) for leaf in leaves if tf.as_dtype(leaf.dtype) in UNITS]


def _floatx(program: Program) -> str:
    dtypes = [t.dtype.replace("complex128", "float64").replace("complex64", "float32") for t in program.inputs.values()]
    return next((d for d in ("float64", "float32", "float16", "bfloat16") if d in dtypes), "float64")


def _of_dtype(array: Array, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(array, BFLOAT16 if dtype == "bfloat16" else dtype)


def to_numpy(array: Any) -> Array:
    """The array's numbers; bfloat16 comes as float32."""
    found = np.asarray(array)
    return found.astype(np.float32) if found.dtype == BFLOAT16 else found
