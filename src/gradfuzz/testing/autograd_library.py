"""HIPS autograd for people's own functions: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import make_jvp, make_vjp
from autograd.extend import primitive

from gradfuzz.targets.protocol import Modes, Outcome, Refusal
from gradfuzz.testing.library import Function, Unsupported, dtype_name
from gradfuzz.testing.transforms import Many, nested

Array = Any
assert callable(primitive)  # tells HIPS autograd from other packages of the name


class AutogradLibrary:
    """The installed HIPS autograd."""

    name = "autograd"
    version = version("autograd")
    highest_order = 4
    forward_mode = True

    @contextmanager
    def session(self) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Output seems independent of input")  # then the derivative is zero, as it should be
            yield

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return function, inputs

    def owns(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.floating)) or type(value).__name__ == "ArrayBox"

    def dtype(self, tensor: Any) -> str:
        return dtype_name(tensor.dtype)

    def tensor(self, array: Array, dtype: str) -> Any:
        return np.asarray(array, dtype)

    def array(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        return call(), False

    def reseed(self) -> None:
        pass

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        return nested(self, function, xs, modes, us, v, np.float64(1.0), self.array)

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
        return sum(anp.real(anp.sum(anp.conj(x) * y)) for x, y in zip(a, b))

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).strip()
        if isinstance(error, (Unsupported, NotImplementedError)):
            return Refusal("unsupported", message)
        return Refusal("error", f"{type(error).__name__}: {message}")


def _one(function: Many, xs: list[Any], place: int, position: int, x: Any) -> Any:
    """One output as a function of one input."""
    return function([*xs[:place], x, *xs[place + 1 :]])[position]
