"""A home-made library, seen through its Adapter: reverse mode, first order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gradfuzz.targets.protocol import Modes, Outcome, Refusal
from gradfuzz.testing.adapters import Adapter
from gradfuzz.testing.library import Function, Unsupported, WrongGradientShape, dtype_name, unavailable

Array = Any


class HomeMade:
    """The Adapter's callables as a Library."""

    version = ""
    highest_order = 1
    forward_mode = False

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.name = adapter.name
        self._kind: type | None = None

    def session(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return function, inputs

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

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        return call(), False

    def reseed(self) -> None:
        pass

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        if modes != ("r",):
            raise unavailable(modes, "an Adapter gives first derivatives in reverse mode")
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

    def classify(self, error: BaseException) -> Refusal:
        if isinstance(error, Unsupported):
            return Refusal("unsupported", str(error))
        return Refusal("error", f"{type(error).__name__}: {error}")


def _takes_argument(backward: Any) -> bool:
    try:
        return bool(inspect.signature(backward).parameters)
    except (TypeError, ValueError):
        return False
