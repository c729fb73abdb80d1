"""What a PyTorch function takes: from the operators' schemas, else from Python's signatures, with words learnt from docstrings."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.hints import from_signature, words_of
from gradfuzz.targets.base.protocol import Overload, Parameter

# How each namespace's functions are called among operators: torch.linalg.det is aten::linalg_det.
_PREFIXES = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}
_KINDS = {
    "Tensor": "tensor", "Optional[Tensor]": "tensor", "List[Tensor]": "tensors", "List[Optional[Tensor]]": "tensors",
    "int": "int", "Optional[int]": "int", "float": "float", "Optional[float]": "float", "number": "number", "Optional[number]": "number",
    "bool": "bool", "Optional[bool]": "bool", "str": "str", "Optional[str]": "str", "List[int]": "ints", "Optional[List[int]]": "ints",
    "List[float]": "floats", "Optional[List[float]]": "floats",
}  # fmt: skip
_LEFT_OUT = ("device",)
# Schemas say that an element type is a whole number. These stand for all: a wider one, a narrower one, one that has no derivative.
_TYPE = "dtype"
_TYPES = ("torch.complex128", "torch.float32", "torch.int64")

_KNOWN: dict[str, list[Overload]] = {}


def overloads(path: str, language: Language) -> list[Overload]:
    """Ways to call an API; none where nothing is known. A method's first parameter is the tensor itself."""
    found = _KNOWN.get(path)
    if found is None:
        try:
            found = _KNOWN[path] = _overloads(path, resolve(path, language))
        except (ProgramError, RuntimeError, AttributeError):
            found = _KNOWN[path] = []
    return found


def _overloads(path: str, found: Any) -> list[Overload]:
    if path.startswith("torch.ops."):
        return [_from_schema(schema, "") for schema in getattr(found, "_schemas", {}).values()] or [_from_schema(found._schema, "")]
    documentation = inspect.getdoc(found) or ""
    if isinstance(found, type):
        return from_signature(getattr(found, "__init__"), documentation, 1, (*_LEFT_OUT, _TYPE))  # noqa: B009
    return [_typed(way) for way in from_signature(found, documentation, 0, _LEFT_OUT)] or _from_operators(path, documentation)


def _typed(overload: Overload) -> Overload:
    """The same with its element type as one; that of a module is what its parameters have, and no part of the function."""
    return tuple(replace(p, kind="type", words=_TYPES) if p.name == _TYPE else p for p in overload)


def _from_operators(path: str, documentation: str) -> list[Overload]:
    space, _, name = path.rpartition(".")
    ways = []
    for operator in (_PREFIXES.get(space, "") + name, name):
        try:
            schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
        except RuntimeError:
            continue
        ways += [_from_schema(schema, documentation) for schema in schemas if _callable_from_python(schema)]
        if ways:
            break
    return ways


def _callable_from_python(schema: Any) -> bool:
    """Not an `out` form, and no named dimensions."""
    return not any(a.name == "out" or "Dimname" in str(a.type) for a in schema.arguments)


def _from_schema(schema: Any, documentation: str) -> Overload:
    parameters = []
    for argument in schema.arguments:
        kind = _KINDS.get(str(argument.type), "other")
        required = not argument.has_default_value()
        default = argument.default_value if argument.has_default_value() else None
        words = words_of(argument.name, documentation) if kind == "str" else ()
        nothing = str(argument.type) == "Optional[Tensor]"
        parameters.append(Parameter(argument.name, kind, required, bool(argument.kwarg_only), default, words, nothing))
    return _typed(tuple(parameters))
