"""JAX for people's own functions: jvp and vjp, nested."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.targets.protocol import Modes, Outcome, Refusal
from gradfuzz.testing.library import Function, Unsupported, dtype_name
from gradfuzz.testing.transforms import Many, nested

Array = Any
_UNSUPPORTED = ("can't apply forward-mode", "not differentiable", "Reverse-mode differentiation does not work")


class JaxLibrary:
    """The installed JAX, in double precision for as long as the check runs."""

    name = "jax"
    version = jax.__version__
    highest_order = 4
    forward_mode = True

    def session(self) -> AbstractContextManager[Any]:
        home = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
        enable: Any = home.enable_x64
        context: AbstractContextManager[Any] = enable(True)
        return context

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return function, inputs

    def owns(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def dtype(self, tensor: Any) -> str:
        return dtype_name(tensor.dtype)

    def tensor(self, array: Array, dtype: str) -> Any:
        return jnp.array(array if dtype_name(array.dtype) == dtype else array.astype(jnp.dtype(dtype)))

    def array(self, tensor: Any) -> Array:
        array = np.asarray(tensor)
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        return call(), False

    def reseed(self) -> None:
        pass

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        one = jnp.ones((), jnp.float64)
        directions = [[d if d.dtype == x.dtype else d.astype(x.dtype) for d, x in zip(u, xs)] for u in us]
        return nested(self, function, xs, modes, directions, v, one, self.array)

    def push(self, function: Many, xs: Sequence[Any], u: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outputs, tangents = jax.jvp(lambda *inputs: tuple(function(inputs)), tuple(xs), tuple(u))
        return list(outputs), list(tangents)

    def pull(self, function: Many, xs: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outputs, back = jax.vjp(lambda *inputs: tuple(function(inputs)), *xs)
        gradients = back(tuple(_conjugate(w if w.dtype == o.dtype else w.astype(o.dtype)) for w, o in zip(weights, outputs)))
        return list(outputs), [_conjugate(g) for g in gradients]

    def inner(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        return sum(jnp.vdot(x, jnp.asarray(y)).real for x, y in zip(a, b))

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).strip()
        if isinstance(error, (Unsupported, NotImplementedError)) or any(text in message for text in _UNSUPPORTED):
            return Refusal("unsupported", message)
        return Refusal("error", f"{type(error).__name__}: {message}")


def _conjugate(tensor: Any) -> Any:
    """JAX's vjp transposes and does not conjugate."""
    return tensor.conj() if jnp.iscomplexobj(tensor) else tensor
