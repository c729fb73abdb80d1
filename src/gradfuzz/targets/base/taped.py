"""A Program bound to a library with a tape: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.values import size_of
from gradfuzz.targets.base.binding import Binding
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT, UNITS
from gradfuzz.targets.base.evaluate import Compiler, Env, run_steps
from gradfuzz.targets.base.functions import Unsupported
from gradfuzz.targets.base.modules import Module
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes, Scenario
from gradfuzz.targets.base.tape import Array, Function, Tape, Tensors, derivative

# Another function in F's place, by the name of the way: it is given the point, and differentiated as F is.
Ways = Mapping[str, Callable[["TapedPoint"], Function]]


class TapedPoint(Binding):
    """One Program at one point. A target gives its tape, its ways and how it makes a module's parameters the Program's own."""

    tape: Tape
    ways: Ways

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        self.program, self.compiler, self.arrays = program, compiler, arrays
        self.mutates = self.random = False
        self._dtypes: set[str] = set()
        self.taped: list[Any] = []  # outputs of the last reverse run that hang on the tape
        self.ran: set[Modes] = set()
        self._bind()

    def build_module(self, made: Any, dtype: str) -> Module:
        """A module in a precision, with distinct numbers for parameters."""
        raise NotImplementedError

    def _bind(self) -> None:
        """Make the inputs and the modules anew, and the steps between them."""
        super().__init__(self.program, self.compiler, self.arrays)
        self.plain_names = list(self.names)
        self.resting: dict[str, Any] = {**self.fixed, **self.constants}  # everything that is not differentiated
        self.modules: list[tuple[str, Module]] = []
        for name, thunk in self.constructors:
            module = self.resting[name] = self.build_module(thunk(self.resting), self._module_dtype())
            self.modules.append((name, module))
        for name, module in self.modules:
            for parameter, tensor in module.parameters.items():
                if self.arrays is not None:
                    tensor = self.tape.tensor(self.replacement(None), self.tape.dtype(tensor))
                self.add_leaf(f"{name}.{parameter}", tensor, None, size_of(self.tape.numbers(tensor)))

    def leaf(self, array: Array, recipe: Tensor) -> Any:
        return self.tape.tensor(array, recipe.dtype, recipe.layout)

    def _module_dtype(self) -> str:
        tensors = [t for t in [*self.leaves, *self.resting.values()] if self.tape.owns(t)]
        return next((d for d in map(self.tape.dtype, tensors) if d in UNITS), "float64")

    @property
    def unit(self) -> float:
        return max([UNITS.get(d, DOUBLE_UNIT) for d in self._dtypes | {self.tape.dtype(x) for x in self.leaves}], default=DOUBLE_UNIT)

    @property
    def inputs(self) -> list[Array]:
        return [self.tape.numbers(x) for x in self.leaves]

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Tensors) -> list[Any]:
        """F at xs: the floating outputs, flattened."""
        if self.random:
            self.tape.seed()
        return floating(self.tape, run_steps(self.steps, self.environment(xs)))

    def environment(self, xs: Tensors) -> Env:
        """What F's steps start from."""
        env = dict(zip(self.plain_names, xs))
        env.update(self.resting)
        if self.mutates:
            env.update((name, self.tape.clone(value)) for name, value in env.items() if self.tape.owns(value))
        position = len(self.plain_names)
        for name, module in self.modules:
            count = len(module.parameters)
            env[name] = module.bound(xs[position : position + count])
            position += count
        return env

    def first(self) -> list[Array]:
        """F at the inputs, and what that run teaches, remembered for the calls: whether F writes to its inputs or draws random numbers."""
        key = tuple([id(thunk) for _, thunk in self.steps])
        known = None if self.modules else self.compiler.traits.get(key)
        with self.tape.recording(False):
            if known is not None:
                self.mutates, self.random = known
                outputs = self.function(self.leaves)
            else:
                outputs = self._learn()
                self.compiler.traits[key] = (self.mutates, self.random)
        arrays = [self.tape.numbers(o) for o in outputs]
        if sum(a.size for a in arrays) > MAX_ELEMENTS:
            raise ProgramError("the output is larger than a Program may make")
        self._dtypes = {self.tape.dtype(o) for o in outputs}
        return arrays

    def _learn(self) -> list[Any]:
        tensors = self.leaves + [value for value in self.resting.values() if self.tape.owns(value)]
        before, drawn = [(self.tape.written(t), tuple(t.shape)) for t in tensors], self.tape.drawn()
        outputs = self.function(self.leaves)
        self.random = self.tape.drawn() != drawn
        self.mutates = [(self.tape.written(t), tuple(t.shape)) for t in tensors] != before
        if self.mutates:
            self._bind()
        return self.function(self.leaves) if self.mutates or self.random else outputs

    # The scenarios -------------------------------------------------------------------------------------------------

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        xs = self.leaves
        if along is not None:
            xs = [self.tape.tensor(_shifted(self.tape.numbers(x), d, shift), self.tape.dtype(x)) for x, d in zip(xs, along.arrays)]
        function = self.ways[scenario.way](self) if scenario.way else self.function
        outcome = self.differentiated(function, xs, scenario, us, v)
        if not scenario.way:
            self.ran.add(scenario.modes)
        return outcome

    def differentiated(self, function: Function, xs: Tensors, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        """The scenario's modes of a function in F's place."""
        if not scenario.modes:
            with self.tape.recording(False):
                outputs = [self.tape.numbers(o) for o in function(xs)]
            return Outcome(outputs, outputs)
        assert v is not None
        taken = derivative(self.tape, function, xs, scenario.modes, [u.arrays for u in us], self._weights(v))
        if not scenario.way:
            self.taped = [o for o, alive in zip(taken.outputs, taken.live) if alive]
        live = taken.live if scenario.order == 1 else None
        return Outcome([self.tape.numbers(o) for o in taken.outputs], taken.result, "r" in scenario.modes, live)

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        self.first()
        return self.run(scenario, us, v)

    def bare(self, scenario: Scenario) -> str:
        """The calls directly or in reverse mode, with nothing run before them: what comes out, as far as it is floating."""
        if "f" in scenario.modes:
            raise Unsupported("the library has no forward mode of its own")
        leaves = [self.tape.leaf(x) for x in self.leaves] if scenario.modes else self.leaves
        with self.tape.recording(bool(scenario.modes)):
            outputs = self.function(leaves)
            live = [o for o in outputs if scenario.modes and self.tape.recorded(o)]
            if live:
                ones = [self.tape.tensor(np.ones(tuple(o.shape)), self.tape.dtype(o)) for o in live]
                self.tape.gradients(live, leaves, ones, False)
        return ", ".join(f"{self.tape.dtype(o)}{list(o.shape)}" for o in outputs) or "nothing floating"

    def _weights(self, v: Vec) -> Tensors:
        if v.native is None:
            v.native = [self.tape.tensor(a, str(a.dtype)) for a in v.arrays]
        weights: Tensors = v.native
        return weights

    def rules(self) -> list[str]:
        return []

    def fault(self) -> str:
        return ""


def _shifted(x: Array, d: Array, shift: float) -> Array:
    """x + shift·d, rounded once."""
    return x + shift * d


def floating(tape: Tape, value: Any) -> list[Any]:
    """The floating tensors of a result, flattened."""
    if tape.owns(value):
        return [value] if tape.dtype(value) in UNITS else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for part in parts for tensor in floating(tape, part)]
