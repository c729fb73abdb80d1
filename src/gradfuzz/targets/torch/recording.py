"""Recording a running program: each distinct PyTorch call becomes a seed, with shapes and types but without its numbers.

A mode of PyTorch's own sees every outermost call. A call that looks like one seen before costs a look into a set; only new ones are
written down. What a tensor held is not kept, only what a seed needs to run again: the range of its numbers, and whether they were
probabilities, in order, or a symmetric or triangular matrix.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch

from gradfuzz.errors import ProgramError, TargetError
from gradfuzz.program.codec import to_json
from gradfuzz.program.language import Language
from gradfuzz.program.model import DISCRETE, Let, Program, Tensor
from gradfuzz.targets.base.domains import values_like
from gradfuzz.targets.torch.tensors import to_numpy
from gradfuzz.targets.torch.transcribe import Transcriber

MOST_ELEMENTS = 2**16

_Mode: Any = getattr(torch.overrides, "TorchFunctionMode", None)


class Recording:
    """A context: what runs inside is recorded into `path`, one JSON object a line. The file appears when the context ends."""

    def __init__(self, language: Language, path: str, contents: bool = False) -> None:
        if _Mode is None or not hasattr(_Mode, "__enter__") or not hasattr(torch._C, "_len_torch_function_stack"):
            raise TargetError(f"recording needs PyTorch 2.0 or newer; this is {torch.__version__}")
        self.path, self.contents = path, contents
        self.count = 0
        self._language = language
        self._seen: set[Any] = set()
        self._mode = _listener(self)

    def __enter__(self) -> Recording:
        self._file = open(self.path + ".part", "w", encoding="utf-8")
        self._mode.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Whatever ended the program, what was recorded is kept."""
        self._mode.__exit__(kind, error, trace)
        self._file.close()
        os.replace(self.path + ".part", self.path)

    def heard(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """A call was made."""
        if not isinstance(result, (torch.Tensor, tuple, list)) or isinstance(result, torch.Size):
            return
        key = (func, _looks(args), _looks(kwargs) if kwargs else ())
        try:
            if key in self._seen:
                return
            self._seen.add(key)
        except TypeError:
            return  # an argument without a hash: nothing that a Program could say
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                program = self._program(func, args, kwargs or {})
        except (ProgramError, RuntimeError, TypeError, ValueError, AttributeError):
            return
        if any(r.differentiable for r in program.inputs.values()):
            row = {"api": program.api, "source": "recorded", "program": to_json(program)}
            self._file.write(json.dumps(row) + "\n")
            self.count += 1

    def _program(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Program:
        transcriber = Transcriber(self._language, exact=self.contents)
        call = transcriber.expression(func, args, kwargs)
        inputs = [self._input(let, transcriber) for let in transcriber.inputs]
        if sum(let.value.elements for let in inputs) > MOST_ELEMENTS:
            raise ProgramError("a call too large to be worth its time as a seed")
        return Program((*inputs, Let(("y",), call))).check()

    def _input(self, let: Let, transcriber: Transcriber) -> Let:
        """The recipe in double precision, with numbers of its own unless contents were asked for."""
        recipe: Tensor = let.value
        tensor = transcriber.originals[let.names[0]]
        if recipe.dtype not in DISCRETE:
            dtype = "complex128" if recipe.dtype.startswith("complex") else "float64"
            recipe = replace(recipe, dtype=dtype, grad=True)
        if not self.contents:
            values, structure = values_like(to_numpy(tensor.detach()), len(transcriber.inputs))
            recipe = replace(recipe, values=values, structure=structure)
        return Let(let.names, recipe)


def _listener(owner: Recording) -> Any:
    class Listener(_Mode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **kwargs) if kwargs else func(*args)
            owner.heard(func, args, kwargs, result)
            return result

    return Listener()


def _looks(value: Any) -> Any:
    """What tells one call from another: shapes and types of tensors, and the other arguments but for floating numbers.

    A learning rate or a bias correction is another number at every step; it is data, like what tensors hold.
    """
    if isinstance(value, torch.Tensor):
        return (value.shape, value.dtype, value.requires_grad)
    if isinstance(value, float):
        return float
    if isinstance(value, (tuple, list)):
        return tuple([_looks(part) for part in value])
    if isinstance(value, dict):
        return tuple([(key, _looks(part)) for key, part in value.items()])
    if isinstance(value, slice):
        return (value.start, value.stop, value.step)
    return value
