"""HIPS autograd for people's own functions: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import make_jvp, make_vjp
from autograd.extend import primitive

from gradfuzz.targets.base.functions import Array, Function, Functions
from gradfuzz.targets.base.nesting import Many, derivative
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import Scenario

assert callable(primitive)  # tells HIPS autograd from other packages of the name


class AutogradFunctions(Functions):
    """The installed HIPS autograd."""

    version = version("autograd")

    @contextmanager
    def session(self) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Output seems independent of input")  # then the derivative is zero, as it should be
            yield

    def home_of(self, function: Any) -> str | None:
        return super().home_of(getattr(function, "fun", function))  # a primitive says `autograd.tracer`

    def owns(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.floating)) or type(value).__name__ == "ArrayBox"

    def tensor(self, array: Array, dtype: str) -> Any:
        return np.asarray(array, dtype)

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        outputs, result = derivative(self, function, xs, scenario.modes, us, v)
        return self.outcome(scenario, outputs, result)

    def push(self, function: Many, xs: Sequence[Any], u: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # One output and one input at a time: autograd's tangents of tuples are not part of its public face.
        outputs = function(xs)
        tangents = []
        for position, output in enumerate(outputs):
            total: Any = anp.zeros(anp.shape(output))
            for place, direction in enumerate(u):
                pushed = make_jvp(functools.partial(_one, function, list(xs), place, position))(xs[place])
                total = total + pushed(direction)[1]
            tangents.append(total)
        return outputs, tangents

    def pull(self, function: Many, xs: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outputs: list[Any] = []
        gradients: list[Any] = []
        for place, x in enumerate(xs):
            total: Any = anp.zeros(anp.shape(x))
            for position, weight in enumerate(weights):
                back, output = make_vjp(functools.partial(_one, function, list(xs), place, position))(x)
                total = total + anp.conj(back(anp.conj(weight)))
                if not place:
                    outputs.append(output)
            gradients.append(total)
        return outputs, gradients

    def inner(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        return sum(anp.real(anp.sum(anp.conj(anp.where(y != 0, x, 0)) * y)) for x, y in zip(a, b))

    def one(self) -> Any:
        return np.float64(1.0)


def _one(function: Many, xs: list[Any], place: int, position: int, x: Any) -> Any:
    """One output as a function of one input."""
    return function([*xs[:place], x, *xs[place + 1 :]])[position]
