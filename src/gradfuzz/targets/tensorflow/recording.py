"""Listening to a running program: each distinct call of a public TensorFlow function becomes a seed, with shapes and types but no numbers.

TensorFlow has no hook for calls, so while a recording lasts the public functions of its modules stand behind a note of their calls. What
runs inside `tf.function` is heard while it is traced: a symbolic tensor has a shape and a type, which is all that a seed needs. Keras
layers call public functions, too, and are heard as those.
Names that the program imported before (`from tensorflow.nn import relu`), methods and operators are not heard.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Callable

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from gradfuzz.errors import ProgramError
from gradfuzz.program.codec import to_json
from gradfuzz.program.language import Language, language_for
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Let, Name, Program, Ref, Tensor, Values
from gradfuzz.targets.recipes import values_of
from gradfuzz.targets.tensorflow.recorder import WIDE
from gradfuzz.targets.tensorflow.surface import members

MOST_ELEMENTS = 2**16
Function = Callable[..., Any]


class Recording:
    """A context: what runs inside is recorded into `path`, one JSON object a line. The file appears when the context ends."""

    def __init__(self, path: str, contents: bool = False) -> None:
        self.path, self.contents = path, contents
        self.count = 0
        self._seen: set[str] = set()
        self._depth = 0
        self._replaced: list[tuple[Any, str, Function]] = []

    def __enter__(self) -> Recording:
        self._file = open(self.path + ".part", "w", encoding="utf-8")
        for path, module, name, function in list(functions(language_for("tensorflow"))):
            self._replaced.append((module, name, function))
            setattr(module, name, self._listening(path, function))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Whatever ended the program, what was recorded is kept, and TensorFlow's functions are its own again."""
        for module, name, function in self._replaced:
            setattr(module, name, function)
        self._replaced.clear()
        self._file.close()
        os.replace(self.path + ".part", self.path)

    def _listening(self, path: str, function: Function) -> Function:
        @functools.wraps(function)
        def listening(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth -= 1
            if not self._depth:  # what one public function asks of another is its own affair
                self._note(path, args, kwargs)
            return result

        # AutoGraph leaves TensorFlow's own functions as they are, and so it shall leave this one.
        listening.autograph_info__ = {}  # type: ignore[attr-defined]
        return listening

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


def functions(language: Language) -> Iterator[tuple[str, Any, str, Function]]:
    """(path, module, name, function) for every public name of a function."""
    for path, module, name, value in members(language):
        if not isinstance(value, type):
            yield path, module, name, value


class _Call:
    """One call being written down: its tensors become inputs, in order."""

    def __init__(self, path: str, contents: bool) -> None:
        self.path, self.contents = path, contents
        self.inputs: list[Let] = []

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        positional = tuple(self.expression(a) for a in args)
        named = tuple((key, self.expression(value)) for key, value in kwargs.items() if key != "name")
        if sum(let.value.elements for let in self.inputs if isinstance(let.value, Tensor)) > MOST_ELEMENTS:
            raise ProgramError("a call too large to be worth its time as a seed")
        return Program((*self.inputs, Let(("y",), Call(self.path, positional, named)))).check()

    def expression(self, value: Any) -> Expr:
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        if isinstance(value, tf.TensorShape):
            return [self.expression(size) for size in value.as_list()]
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.expression(part) for part in value)
        if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray)):
            return self._input(value)
        if isinstance(value, tf.DType) and value.name in DTYPES:
            return Name(f"tf.{value.name}")
        raise ProgramError(f"an argument of type {type(value).__name__} is outside the language")

    def _input(self, value: Any) -> Expr:
        dtype = tf.as_dtype(value.dtype).name
        if dtype not in DTYPES:
            raise ProgramError(f"dtype {dtype} is outside the language")
        shape = tuple(value.shape)  # raises for an unknown rank
        if None in shape:
            raise ProgramError("a size that is not known while it is traced")
        wide = WIDE.get(dtype, dtype)
        name, seed = f"x{len(self.inputs)}", len(self.inputs) + 1
        held = _held(value)
        if self.contents and held is not None:
            values = values_of(held.astype(wide), seed, exact=True)
        else:
            values = _numbers(held, wide, seed)
        self.inputs.append(Let((name,), Tensor(tuple(map(int, shape)), wide, values, wide not in DISCRETE)))
        return Ref(name)


def _held(value: Any) -> Any:
    """What it holds; nothing where it is a symbol."""
    if isinstance(value, tf.Variable):
        return np.asarray(value) if tf.executing_eagerly() else None
    return np.asarray(value) if isinstance(value, (np.ndarray, ops.EagerTensor)) else None


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
