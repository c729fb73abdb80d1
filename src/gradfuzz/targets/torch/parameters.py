"""What a PyTorch function takes: from the operators' schemas, else from Python's signatures, with words learnt from docstrings."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any

import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.protocol import Overload, Parameter

# How each namespace's functions are called among operators: torch.linalg.det is aten::linalg_det.
_PREFIXES = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}
_KINDS = {
    "Tensor": "tensor", "Optional[Tensor]": "tensor", "List[Tensor]": "tensors", "List[Optional[Tensor]]": "tensors",
    "int": "int", "Optional[int]": "int", "float": "float", "Optional[float]": "float", "number": "number", "Optional[number]": "number",
    "bool": "bool", "Optional[bool]": "bool", "str": "str", "Optional[str]": "str", "List[int]": "ints", "Optional[List[int]]": "ints",
    "List[float]": "floats", "Optional[List[float]]": "floats",
}  # fmt: skip
_WORDS = re.compile(r"[\"'`]([a-z][a-z0-9_\-]{1,20})[\"'`]")
MOST_WORDS = 12


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
        return _from_python(getattr(found, "__init__"), documentation, skip=1)  # noqa: B009
    return _from_python(found, documentation) or _from_operators(path, documentation)


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
        words = _words(argument.name, documentation) if kind == "str" else ()
        parameters.append(Parameter(argument.name, kind, required, bool(argument.kwarg_only), default, words))
    return tuple(parameters)


def _from_python(function: Any, documentation: str, skip: int = 0) -> list[Overload]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # annotations name what their module has not imported
        hints = {}
    parameters = []
    for parameter in list(signature.parameters.values())[skip:]:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name in ("device", "dtype"):
            continue
        starred = parameter.kind is parameter.VAR_POSITIONAL
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        kind = "starred" if starred else _kind(hints.get(parameter.name), default)
        words = _words(parameter.name, documentation) if kind == "str" else ()
        parameters.append(Parameter(parameter.name, kind, required, parameter.kind is parameter.KEYWORD_ONLY, default, words))
    return [tuple(parameters)] if parameters and not all(p.kind == "starred" for p in parameters) else []


def _kind(hint: Any, default: Any) -> str:
    if isinstance(default, bool):
        return "bool"
    for kind, name in ((int, "int"), (float, "float"), (str, "str")):
        if isinstance(default, kind):
            return name
    text = str(hint)
    for word, name in (("List[torch.Tensor", "tensors"), ("Tensor", "tensor"), ("List[int", "ints"), ("Tuple[int", "ints"),
                       ("bool", "bool"), ("int", "int"), ("float", "float"), ("str", "str")):  # fmt: skip
        if word in text:
            return name
    return "other"


def _words(name: str, documentation: str) -> tuple[str, ...]:
    """Quoted words in the docstring's paragraph on a parameter: reduction (str): 'none' | 'mean' | 'sum'."""
    paragraph = re.search(rf"^\s*\**{re.escape(name)}\**\s*\(.*?(?=^\s*\w+\s*\(|\n\s*\n|\Z)", documentation, re.S | re.M)
    if paragraph is None:
        return ()
    found = dict.fromkeys(word for word in _WORDS.findall(paragraph.group()) if word != name)
    return tuple(found)[:MOST_WORDS]
