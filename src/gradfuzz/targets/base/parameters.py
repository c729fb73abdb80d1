"""What a function takes, as its signature and docstring say it: edits of arguments learn from this."""

from __future__ import annotations

import inspect
import re
from typing import Any

from gradfuzz.targets.base.protocol import Overload, Parameter

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# The docstring's lines on one parameter: its own, and those below that are blank or indented further.
_ENTRY = r"^( *){} ?:.*(?:\n(?:\1 +.*| *(?=\n)))*"
# How annotations call what a tensor may be given for.
_TENSOR = re.compile(r"\b(?:Array|ArrayLike|Tensor|TensorLike|TensorType)\b")
_WORD = re.compile(r"[\"'`]([a-zA-Z_][\w-]*)[\"'`]")


def overloads(function: Any) -> list[Overload]:
    """The one way to call a function; nothing where it does not say."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    found = []
    for p in parameters:
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        required = p.default is p.empty
        kind = "tensor" if required else _KINDS.get(type(p.default), "other")
        if p.default is None:
            kind = next((k for annotation, k in _UNLESS_NONE.items() if annotation.match(_annotation(p))), kind)
        if kind == "other":
            kind = _SAID_BY_NAME.get(p.name, kind) if p.default is None else _of_several(p.default)
        words = _words(p.name, getattr(function, "__doc__", None) or "", p.default) if kind == "str" else ()
        keyword = p.kind == inspect.Parameter.KEYWORD_ONLY
        nothing = p.default is None and kind == "other" and _TENSOR.search(_annotation(p)) is not None
        kind = "tensor" if nothing else kind
        found.append(Parameter(p.name, kind, required, keyword, None if required else p.default, words, nothing))
    return [tuple(found)]


_KINDS = {bool: "bool", int: "int", float: "float", str: "str"}
# What an option may be whose default is None, by how its annotation begins.
_UNLESS_NONE = {
    re.compile(r"(?:Optional\[)?bool\b"): "bool",
    re.compile(r"(?:Optional\[)?int\b"): "int",
    re.compile(r"(?:Optional\[)?float\b"): "float",
    re.compile(r"(?:Optional\[)?(?:\S+ \| )?str\b"): "str",
}
# What an option is whose default is None and that has no annotation, where its name says it in every library. "All of them" is the default
# of reductions, one of them the option.
_SAID_BY_NAME = {
    "axis": "int", "keepdims": "bool", "keep_dims": "bool", "fft_length": "ints", "axes": "ints", "strides": "ints", "dilations": "ints",
    "output_padding": "ints", "epsilon": "float", "max_value": "float", "rcond": "float", "initial": "float", "norm": "str",
}  # fmt: skip


def _of_several(default: Any) -> str:
    """What an option is whose default is several numbers: strides, dilations."""
    several = isinstance(default, (tuple, list)) and len(default) > 0 and all(type(n) is int for n in default)
    return "ints" if several else "other"


def _annotation(parameter: inspect.Parameter) -> str:
    """What stands behind the colon, as text; libraries write it as text or as objects."""
    return "" if parameter.annotation is parameter.empty else str(parameter.annotation)


def _words(name: str, doc: str, default: str) -> tuple[str, ...]:
    """Words in quotes where the documentation speaks of the parameter."""
    entry = re.search(_ENTRY.format(re.escape(name)), doc, re.MULTILINE)
    found = dict.fromkeys(_WORD.findall(entry.group())) if entry else {}
    return tuple(found) if len(found) > 1 or (found and default not in found) else ()
