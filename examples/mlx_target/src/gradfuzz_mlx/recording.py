"""Recording a running program: each distinct call of a public MLX function becomes a seed, with shapes and types but no numbers.

Names that the program imported before (`from mlx.core import sin`), methods and operators are not heard.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import mlx.nn  # noqa: F401  (a namespace to listen to)

from gradfuzz.program.model import Expr, Name
from gradfuzz.targets.base.callables import callables
from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.recording import CallRecording, Function, Note
from gradfuzz_mlx.arrays import DTYPES, to_numpy


class Recording(CallRecording):
    """A context that records MLX."""

    def functions(self) -> Iterator[tuple[str, Any, str, Function]]:
        for path, function in callables(self.language):
            space, _, name = path.rpartition(".")
            if space:
                yield path, importlib.import_module(space), name, function

    def call(self, path: str) -> Note:
        return Call(path, self.contents)


class Call(Note):
    def own(self, value: Any) -> Expr:
        if isinstance(value, mx.array) and value.dtype != mx.complex64:  # of which there is no double one to make a seed of
            return self.array(tuple(value.shape), dtype_name(value.dtype), _held(value))
        if isinstance(value, mx.Dtype) and value in DTYPES.values():
            return Name(f"mlx.core.{dtype_name(value)}")
        return super().own(value)


def _held(value: Any) -> Any:
    """The numbers; nothing inside `mx.compile`, where there are none yet."""
    try:
        return to_numpy(value)
    except (ValueError, RuntimeError):
        return None
