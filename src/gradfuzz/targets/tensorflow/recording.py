"""Recording a running program: each distinct call of a public TensorFlow function becomes a seed, with shapes and types but no numbers.

What runs inside `tf.function` is heard while it is traced: a symbolic tensor has a shape and a type, which is all that a seed needs. Keras
layers call public functions, too, and are heard as those.
Names that the program imported before (`from tensorflow.nn import relu`), methods and operators are not heard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DTYPES, Expr, Name, Program
from gradfuzz.targets.base.recording import CallRecording, Function, Note
from gradfuzz.targets.tensorflow.api import members


class Recording(CallRecording):
    """A context that records TensorFlow."""

    def functions(self) -> Iterator[tuple[str, Any, str, Function]]:
        for path, module, name, value in members(self.language):
            if not isinstance(value, type):
                yield path, module, name, value

    def standing_before(self, path: str, function: Function) -> Any:
        listening = super().standing_before(path, function)
        # AutoGraph leaves TensorFlow's own functions as they are, and so it shall leave this one.
        listening.autograph_info__ = {}
        return listening

    def call(self, path: str) -> Note:
        return Call(path, self.contents)


class Call(Note):
    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        return super().program(args, {key: value for key, value in kwargs.items() if key != "name"})

    def own(self, value: Any) -> Expr:
        if isinstance(value, tf.TensorShape):
            return [self.expression(size) for size in value.as_list()]
        if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray)):
            shape = tuple(value.shape)  # raises for an unknown rank
            if None in shape:
                raise ProgramError("a size that is not known while it is traced")
            return self.array(tuple(map(int, shape)), tf.as_dtype(value.dtype).name, _held(value))
        if isinstance(value, tf.DType) and value.name in DTYPES:
            return Name(f"tf.{value.name}")
        return super().own(value)


def _held(value: Any) -> Any:
    """What it holds; nothing where it is a symbol."""
    if isinstance(value, tf.Variable):
        return np.asarray(value) if tf.executing_eagerly() else None
    return np.asarray(value) if isinstance(value, (np.ndarray, ops.EagerTensor)) else None
