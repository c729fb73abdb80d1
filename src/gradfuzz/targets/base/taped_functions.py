"""People's own functions of a library with a tape: the derivatives of campaigns."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable

import numpy as np

from gradfuzz.targets.base.functions import Array, Function, Functions
from gradfuzz.targets.base.modules import call_with
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.tape import NoGradient, Tape, derivative


class TapedFunctions(Functions):
    """A target gives its tape, its release, and the class of its modules."""

    tape: Tape
    module_class: type
    own_integers = True
    marks_inputs = True

    @contextmanager
    def session(self) -> Iterator[None]:
        """Nothing is recorded but where a tape is asked for."""
        with self.tape.recording(False):
            yield

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A module's parameters are inputs like any other."""
        if not isinstance(function, self.module_class):
            return function, inputs
        module: Any = function
        parameters = {name: p.detach() for name, p in module.named_parameters()}
        if not parameters:
            return function, inputs

        def call(parameters: dict[str, Any], *rest: Any) -> Any:
            return call_with(module, parameters, rest, {})

        own = inspect.Parameter("parameters", inspect.Parameter.POSITIONAL_ONLY)
        rest = [p.replace(kind=own.kind, default=own.default) for p in inspect.signature(module.forward).parameters.values()]
        call.__name__ = type(module).__name__
        call.__signature__ = inspect.Signature([own, *rest])  # type: ignore[attr-defined]
        return call, (parameters, *inputs)

    def owns(self, value: Any) -> bool:
        return self.tape.owns(value)

    def dtype(self, tensor: Any) -> str:
        return self.tape.dtype(tensor)

    def tensor(self, array: Array, dtype: str) -> Any:
        return self.tape.tensor(array, dtype)

    def array(self, tensor: Any) -> Array:
        return self.tape.numbers(tensor)

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        before = self.tape.drawn()
        return call(), self.tape.drawn() != before

    def reseed(self) -> None:
        self.tape.seed()

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        def on_copies(tensors: Sequence[Any]) -> list[Any]:
            """A function that writes to its inputs may do so, as it may write to any tensor that is not a leaf."""
            return function([self.tape.clone(t) for t in tensors])

        weights = [self.tape.tensor(np.asarray(a), str(np.asarray(a).dtype)) for a in v]
        try:
            taken = derivative(self.tape, on_copies, xs, scenario.modes, us, weights, declared=False)
        except NoGradient:  # in people's own code no declaration: the derivative counts as zero
            outputs = [self.array(o) for o in function(xs)]
            contracted = "r" in scenario.modes
            return Outcome(outputs, [np.float64(0.0)] if contracted else [np.zeros_like(o) for o in outputs], contracted)
        return Outcome([self.array(o) for o in taken.outputs], taken.result, "r" in scenario.modes)

    def training_step(self, call: Function, arrays: Sequence[Array], dtypes: Sequence[str]) -> Callable[[], Any]:
        leaves = [self.tape.leaf(self.tensor(np.array(a), d)) for a, d in zip(arrays, dtypes)]

        def step() -> Any:
            with self.tape.recording(True):
                outputs = call(leaves)
                hanging = [o for o in outputs if self.tape.recorded(o)]
                self.tape.gradients(hanging, leaves, [self.tensor(np.ones(tuple(o.shape)), self.dtype(o)) for o in hanging], False)
            return outputs

        return step
