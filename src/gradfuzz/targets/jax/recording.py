"""Listening to a running program: each distinct call of a public JAX function becomes a seed, with shapes and types but no numbers.

JAX has no hook for calls, so while a recording lasts the public functions of its modules stand behind a note of their calls. What
runs inside `jit`, `grad` and `vmap` is heard too: a tracer has a shape and a type, which is all that a seed needs.
Names that the program imported before (`from jax.numpy import sin`), methods and operators are not heard.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from types import TracebackType
from typing import Any, Callable

import jax
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.codec import to_json
from gradfuzz.program.language import language_for
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Let, Name, Program, Ref, Tensor, Values
from gradfuzz.targets.jax.surface import functions
from gradfuzz.targets.recipes import values_of

MOST_ELEMENTS = 2**16
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


class Recording:
    """A context: what runs inside is recorded into `path`, one JSON object a line. The file appears when the context ends."""

    def __init__(self, path: str, contents: bool = False) -> None:
        self.path, self.contents = path, contents
        self.count = 0
        self._language = language_for("jax")
        self._seen: set[str] = set()
        self._depth = 0
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Recording:
        self._file = open(self.path + ".part", "w", encoding="utf-8")
        for path, function in list(functions(self._language)):
            space, _, name = path.rpartition(".")
            module = importlib.import_module(space)
            self._replaced.append((module, name, function))
            setattr(module, name, _Listening(self, path, function))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Whatever ended the program, what was recorded is kept, and JAX's functions are its own again."""
        for module, name, function in self._replaced:
            setattr(module, name, function)
        self._replaced.clear()
        self._file.close()
        os.replace(self.path + ".part", self.path)

    def heard(self, path: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call, and note it unless another public function makes it: that is its own affair."""
        self._depth += 1
        try:
            result = function(*args, **kwargs)
        finally:
            self._depth -= 1
        if not self._depth:
            self._note(path, args, kwargs)
        return result

    def _note(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            program = _Call(path, self.contents).program(args, kwargs)
        except (ProgramError, TypeError, ValueError):
            return
        text = json.dumps(to_json(program))
        if text not in self._seen and any(r.differentiable for r in program.inputs.values()):
            self._seen.add(text)
            self._file.write(json.dumps({"api": program.api, "source": "recorded", "program": to_json(program)}) + "\n")
            self.count += 1


class _Listening:
    """Stands before a function and is like it in every other way: a ufunc keeps its methods."""

    def __init__(self, owner: Recording, path: str, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._owner, self._path, self._function = owner, path, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._owner.heard(self._path, self._function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class _Call:
    """One call being written down: its arrays become inputs, in order."""

    def __init__(self, path: str, contents: bool) -> None:
        self.path, self.contents = path, contents
        self.inputs: list[Let] = []

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        positional = tuple(self.expression(a) for a in args)
        named = tuple((key, self.expression(value)) for key, value in kwargs.items())
        if sum(let.value.elements for let in self.inputs if isinstance(let.value, Tensor)) > MOST_ELEMENTS:
            raise ProgramError("a call too large to be worth its time as a seed")
        return Program((*self.inputs, Let(("y",), Call(self.path, positional, named)))).check()

    def expression(self, value: Any) -> Expr:
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.expression(part) for part in value)
        if isinstance(value, (jax.Array, np.ndarray, jax.core.Tracer)):
            return self._input(value)
        if isinstance(value, (type, np.dtype)) and str(np.dtype(value)) in DTYPES:
            return Name(f"jax.numpy.{np.dtype(value)}")
        raise ProgramError(f"an argument of type {type(value).__name__} is outside the language")

    def _input(self, array: Any) -> Expr:
        dtype = str(array.dtype)
        if dtype not in DTYPES:
            raise ProgramError(f"dtype {dtype} is outside the language")
        wide = _WIDE.get(dtype, dtype)
        name, seed = f"x{len(self.inputs)}", len(self.inputs) + 1
        concrete = None if isinstance(array, jax.core.Tracer) else np.asarray(array)
        if self.contents and concrete is not None:
            values = values_of(concrete.astype(wide), seed, exact=True)
        else:
            values = _numbers(concrete, wide, seed)
        self.inputs.append(Let((name,), Tensor(tuple(array.shape), wide, values, wide not in DISCRETE)))
        return Ref(name)


def _numbers(array: Any, dtype: str, seed: int) -> Values:
    """Other numbers, from the same kind of domain where it can be seen."""
    if dtype in DISCRETE:
        return Values("integers", (0, 2), seed)  # labels and indices that fit any dimension but the smallest
    if array is None or not array.size or dtype.startswith("complex"):
        return Values("normal", (), seed)
    low, high = float(array.min()), float(array.max())
    if low >= 0 and high <= 1:
        return Values("uniform", (0.05, 0.95), seed)
    return Values("uniform", (0.1, 2.0), seed) if low > 0 else Values("normal", (), seed)
