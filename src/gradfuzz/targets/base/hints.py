"""What a Python function takes, by its annotations: kinds of parameters, and the words that its docstring lists for strings."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any

from gradfuzz.targets.base.protocol import Overload, Parameter

# By what an annotation's text says, first match wins.
_KINDS = [
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"([Ll]ist|[Tt]uple|Sequence)\[[\w.]*Tensor", "tensors"),
        (r"Tensor", "tensor"),
        (r"Union\[int|^int \|", "int"),  # one number serves for all, where several are taken too
        (r"([Ll]ist|[Tt]uple|Sequence)\[int|ShapeLike|Size\d", "ints"),
        (r"([Ll]ist|[Tt]uple|Sequence)\[float", "floats"),
        (r"bool", "bool"),
        (r"int", "int"),
        (r"float", "float"),
        (r"str|Literal", "str"),
    )
]
_WORDS = re.compile(r"[\"'`]([a-z][a-z0-9_\-]{1,20})[\"'`]")
MOST_WORDS = 12
LEFT_OUT = ("device", "dtype", "name", "out", "place")  # where a result goes, and what it is called: no part of the function


def from_signature(function: Any, documentation: str, skip: int = 0, left_out: tuple[str, ...] = LEFT_OUT) -> list[Overload]:
    """The one way to call a function, without its first `skip` parameters; nothing where it does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    hints = _hints(function, signature)
    parameters = []
    for parameter in list(signature.parameters.values())[skip:]:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name in left_out:
            continue
        starred = parameter.kind is parameter.VAR_POSITIONAL
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        kind = "starred" if starred else _kind(hints.get(parameter.name), default)
        words = words_of(parameter.name, documentation) if kind == "str" else ()
        nothing = kind == "tensor" and parameter.default is None
        parameters.append(Parameter(parameter.name, kind, required, parameter.kind is parameter.KEYWORD_ONLY, default, words, nothing))
    return [tuple(parameters)] if parameters and not all(p.kind == "starred" for p in parameters) else []


def _hints(function: Any, signature: inspect.Signature) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # annotations name what their module has imported for the type checker alone
        return {name: p.annotation for name, p in signature.parameters.items() if isinstance(p.annotation, str)}


def _kind(hint: Any, default: Any) -> str:
    if isinstance(default, bool):
        return "bool"
    for kind, name in ((int, "int"), (float, "float"), (str, "str")):
        if isinstance(default, kind):
            return name
    return next((name for pattern, name in _KINDS if pattern.search(str(hint))), "other")


def words_of(name: str, documentation: str) -> tuple[str, ...]:
    """Quoted words in the docstring's paragraph on a parameter: reduction (str): 'none' | 'mean' | 'sum'."""
    paragraph = re.search(rf"^\s*\**{re.escape(name)}\**\s*\(.*?(?=^\s*\w+\s*\(|\n\s*\n|\Z)", documentation, re.S | re.M)
    if paragraph is None:
        return ()
    found = dict.fromkeys(word for word in _WORDS.findall(paragraph.group()) if word != name)
    return tuple(found)[:MOST_WORDS]
