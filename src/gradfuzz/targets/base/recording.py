"""Recording a running program where the library has no hook for calls: its public functions stand behind a note of their calls.

A target says which functions those are and how its arrays are written down; the rest is the same for all.
"""

from __future__ import annotations

import functools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Callable

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.codec import to_json
from gradfuzz.program.language import Language
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Let, Program, Ref, Tensor, Values
from gradfuzz.targets.base.domains import values_like
from gradfuzz.targets.base.dtypes import wide
from gradfuzz.targets.base.recipes import values_of

Function = Callable[..., Any]
MOST_ELEMENTS = 2**16


class CallRecording(ABC):
    """A context: what runs inside is recorded into `path`, one JSON object a line. The file appears when the context ends."""

    def __init__(self, language: Language, path: str, contents: bool = False) -> None:
        self.language, self.path, self.contents = language, path, contents
        self.count = 0
        self._seen: set[str] = set()
        self._depth = 0
        self._replaced: list[tuple[Any, str, Function]] = []

    @abstractmethod
    def functions(self) -> Iterable[tuple[str, Any, str, Function]]:
        """(path, module, name, function) for every public name to listen to."""

    @abstractmethod
    def call(self, path: str) -> Note:
        """A sheet to write a call down on."""

    def standing_before(self, path: str, function: Function) -> Any:
        """What takes the function's place."""
        return functools.wraps(function)(lambda *args, **kwargs: self.heard(path, function, args, kwargs))

    def __enter__(self) -> CallRecording:
        self._file = open(self.path + ".part", "w", encoding="utf-8")
        for path, module, name, function in list(self.functions()):
            self._replaced.append((module, name, function))
            setattr(module, name, self.standing_before(path, function))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Whatever ended the program, what was recorded is kept, and the library's functions are its own again."""
        for module, name, function in self._replaced:
            setattr(module, name, function)
        self._replaced.clear()
        self._file.close()
        os.replace(self.path + ".part", self.path)

    def heard(self, path: str, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
            program = self.call(path).program(args, kwargs)
        except (ProgramError, TypeError, ValueError):
            return
        text = json.dumps(to_json(program))
        if text not in self._seen and any(r.differentiable for r in program.inputs.values()):
            self._seen.add(text)
            self._file.write(json.dumps({"api": program.api, "source": "recorded", "program": to_json(program)}) + "\n")
            self.count += 1


class Note:
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
        return self.own(value)

    def own(self, value: Any) -> Expr:
        """The library's own things: arrays, types; members of enumerations that are numbers or words, and NumPy's numbers, are what they
        are worth. Raises ProgramError for what is outside the language."""
        kinds: tuple[Any, ...] = (int, float, complex, str)
        for kind in kinds:
            if isinstance(value, kind):
                return kind(value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return value.item()
        raise ProgramError(f"an argument of type {type(value).__name__} is outside the language")

    def array(self, shape: tuple[int, ...], dtype: str, held: Any) -> Expr:
        """An array as the next input; `held`: its numbers as NumPy has them, or None where it is a symbol."""
        if dtype not in DTYPES:
            raise ProgramError(f"dtype {dtype} is outside the language")
        dtype = wide(dtype)  # seeds are in double precision; edits make them coarser
        name, seed = f"x{len(self.inputs)}", len(self.inputs) + 1
        if self.contents and held is not None:
            values, structure = values_of(held.astype(dtype), seed, exact=True), None
        elif held is None:
            values, structure = Values("integers", (0, 2), seed) if dtype in DISCRETE else Values("normal", (), seed), None
        else:
            values, structure = values_like(held.astype(dtype), seed)
        self.inputs.append(Let((name,), Tensor(shape, dtype, values, dtype not in DISCRETE, structure=structure)))
        return Ref(name)
