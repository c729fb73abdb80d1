"""Recording a running program: each distinct call of a public JAX function becomes a seed, with shapes and types but no numbers.

What runs inside `jit`, `grad` and `vmap` is heard too: a tracer has a shape and a type, which is all that a seed needs.
Names that the program imported before (`from jax.numpy import sin`), methods and operators are not heard.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from gradfuzz.program.model import DTYPES, Expr, Name
from gradfuzz.targets.base.recording import CallRecording, Function, Note
from gradfuzz.targets.jax.api import functions


class Recording(CallRecording):
    """A context that records JAX."""

    def functions(self) -> Iterator[tuple[str, Any, str, Function]]:
        for path, function in functions(self.language):
            space, _, name = path.rpartition(".")
            yield path, importlib.import_module(space), name, function

    def standing_before(self, path: str, function: Function) -> Any:
        return _Alike(self, path, function)

    def call(self, path: str) -> Note:
        return Call(path, self.contents)


class _Alike:
    """Stands before a function and is like it in every other way: a ufunc keeps its methods."""

    def __init__(self, owner: Recording, path: str, function: Function) -> None:
        functools.update_wrapper(self, function, updated=())
        self._owner, self._path, self._function = owner, path, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._owner.heard(self._path, self._function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class Call(Note):
    def own(self, value: Any) -> Expr:
        if isinstance(value, (jax.Array, np.ndarray, jax.core.Tracer)):
            held = None if isinstance(value, jax.core.Tracer) else np.asarray(value)
            return self.array(tuple(value.shape), str(value.dtype), held)
        if isinstance(value, (type, np.dtype)) and str(np.dtype(value)) in DTYPES:
            return Name(f"jax.numpy.{np.dtype(value)}")
        return super().own(value)
