"""A library of one's own, seen through its Adapter: reverse mode, first order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.functions import Array, Function, Functions, Unsupported, WrongGradientShape
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.testing.adapters import Adapter


class Adapted(Functions):
    """The Adapter's callables as a library. Its errors are all errors: nobody has written down what it refuses."""

    version = ""
    highest_order = 1
    forward_mode = False

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.name = adapter.name
        self.refusals = Refusals({})
        self._kind: type | None = None

    def owns(self, value: Any) -> bool:
        if self._kind is None:
            self._kind = type(self.adapter.tensor(np.ones(1)))
        return isinstance(value, self._kind)

    def dtype(self, tensor: Any) -> str:
        return dtype_name(self.array(tensor).dtype)

    def tensor(self, array: Array, dtype: str) -> Any:
        return self.adapter.tensor(np.asarray(array, dtype))

    def array(self, tensor: Any) -> Array:
        return np.asarray(self.adapter.array(tensor))

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        if scenario != REVERSE:
            raise Unsupported(f"{scenario.name}: an Adapter gives first derivatives in reverse mode")
        outputs = function(xs)
        seen = [self.array(o).copy() for o in outputs]
        total = 0.0
        for position, weight in enumerate(v):
            if position:  # a graph may be used up by backward: each output gets its own
                xs = [self.adapter.tensor(self.array(x).copy()) for x in xs]
                outputs = function(xs)
            total += self._directional(outputs[position], weight, xs, us[0])
        return Outcome(seen, [np.float64(total)], True)

    def _directional(self, output: Any, weight: Array, xs: Sequence[Any], u: list[Array]) -> float:
        single = weight.size == 1
        self.run_backward(output, np.ones(weight.shape, weight.dtype) if single else weight)
        total = 0.0
        for position, (x, direction) in enumerate(zip(xs, u)):
            gradient = self.gradient(x)
            if gradient is None:
                continue
            if gradient.shape != direction.shape:
                raise WrongGradientShape(f"the gradient of input {position} has shape {gradient.shape}, the input {direction.shape}")
            total += float(np.vdot(gradient, direction).real)
        return total * float(weight.reshape(())) if single else total

    def gradient(self, tensor: Any) -> Array | None:
        found = self.adapter.gradient(tensor)
        if found is None:
            return None
        return self.array(found) if self.owns(found) and not isinstance(found, np.ndarray) else np.asarray(found)

    def run_backward(self, output: Any, seed: Array) -> None:
        if self.adapter.backward is not None:
            self.adapter.backward(output, seed)
        elif _takes_argument(output.backward):
            output.backward(seed)
        elif seed.size == 1:
            output.backward()
        else:
            (output * self.adapter.tensor(seed)).sum().backward()

    def training_step(self, call: Function, arrays: Sequence[Array], dtypes: Sequence[str]) -> Callable[[], Any]:
        own = [self.tensor(np.array(a), d) for a, d in zip(arrays, dtypes)]

        def step() -> Any:
            outputs = call(own)
            for output in outputs:
                self.run_backward(output, np.ones(self.array(output).shape))
            return outputs

        return step


def _takes_argument(backward: Any) -> bool:
    try:
        return bool(inspect.signature(backward).parameters)
    except (TypeError, ValueError):
        return False
