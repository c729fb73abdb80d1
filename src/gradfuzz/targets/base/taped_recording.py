"""Recording a running program of a library with a tape: each distinct call of a public function becomes a seed.

Shapes and types are kept, numbers are not. Names that the program imported before (`from library import sin`), methods and operators
are not heard, nor is what modules call inside under other names.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from gradfuzz.program.model import DTYPES, Expr, Name
from gradfuzz.targets.base.callables import callables
from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.recording import CallRecording, Function, Note
from gradfuzz.targets.base.tape import Tape


class TapedRecording(CallRecording):
    """A target gives its tape, and the class of its element types."""

    tape: Tape
    dtype_class: type

    def functions(self) -> Iterator[tuple[str, Any, str, Function]]:
        for path, function in callables(self.language):
            space, _, name = path.rpartition(".")
            if space:
                yield path, importlib.import_module(space), name, function

    def call(self, path: str) -> Note:
        return _Call(path, self)


class _Call(Note):
    def __init__(self, path: str, owner: TapedRecording) -> None:
        super().__init__(path, owner.contents)
        self.owner = owner

    def own(self, value: Any) -> Expr:
        tape = self.owner.tape
        if tape.owns(value):
            return self.array(tuple(value.shape), tape.dtype(value), tape.numbers(value.detach()))
        if isinstance(value, self.owner.dtype_class) and dtype_name(value) in DTYPES:
            return Name(f"{self.path.partition('.')[0]}.{dtype_name(value)}")
        return super().own(value)
