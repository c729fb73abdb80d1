"""What OneFlow's functions take. Those in C++ have no signature that Python could ask for, but say it otherwise.

One with several forms lists them when it is called wrongly; of the others the docstring's first lines tell.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from gradfuzz.targets.base.hints import words_of
from gradfuzz.targets.base.protocol import Overload, Parameter

_LISTED = re.compile(r"^\s*\*\d+: .*?\((.*)\)$", re.M)
_KINDS = {
    "Tensor": "tensor", "TensorTuple": "tensors", "Scalar": "number", "Bool": "bool", "String": "str", "Float": "float", "Double": "float",
    "Int32": "int", "Int64": "int", "Int32List": "ints", "Int64List": "ints", "Shape": "ints", "FloatList": "floats",
}  # fmt: skip
_LEFT_OUT = ("inplace", "device", "dtype", "placement", "sbp", "out", "generator")
# Where nothing tells: one to three tensors, and a tensor with an axis.
UNKNOWN: list[Overload] = [
    *(tuple(Parameter(name, "tensor", True) for name in "xyz"[:count]) for count in (1, 2, 3)),
    (Parameter("x", "tensor", True), Parameter("dim", "int", True)),
]


def overloads(name: str, function: Any) -> list[Overload]:
    """Ways to call a function in C++."""
    return _listed(function) or _documented(name, getattr(function, "__doc__", None) or "") or UNKNOWN


def _listed(function: Any) -> list[Overload]:
    """The forms that it lists when it is given something that fits none."""
    try:
        function(object())
    except TypeError as error:
        return [tuple(map(_parameter, _split(text))) for text in _LISTED.findall(str(error)) if text]
    except Exception:
        pass
    return []


def _split(text: str) -> list[tuple[str, bool]]:
    """The parameters of one form, each with whether it is given by name alone."""
    found, keyword = [], False
    for part in text.split(", "):
        if part == "*":
            keyword = True
        elif not any(re.search(rf"\b{name}\b", part) for name in _LEFT_OUT):
            found.append((part, keyword))
    return found


def _parameter(given: tuple[str, bool]) -> Parameter:
    text, keyword = given
    head, _, default = text.partition("=")
    kind, _, name = head.rpartition(" ")
    return Parameter(name, _KINDS.get(kind.split("[")[0], "other"), not default, keyword, _value(default))


def _documented(name: str, documentation: str) -> list[Overload]:
    """The signature in a docstring: `oneflow.add(input, other, *, alpha=1) -> Tensor`."""
    found = re.search(rf"\b{re.escape(name)}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", documentation)
    if found is None:
        return []
    try:
        arguments = ast.parse(f"def f({found.group(1)}): pass").body[0].args  # type: ignore[attr-defined]
    except SyntaxError:
        return []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [(a, d, False) for a, d in zip(positional, defaults)] + [
        (a, d, True) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    parameters = [_from_text(a, d, keyword, documentation) for a, d, keyword in pairs if a.arg not in _LEFT_OUT]
    return [tuple(parameters)] if parameters else []


def _from_text(argument: ast.arg, default: ast.expr | None, keyword: bool, documentation: str) -> Parameter:
    value = None if default is None else _value(ast.unparse(default))
    by_type = {bool: "bool", int: "int", float: "float", str: "str"}
    kind = "other" if default is not None and value is None else "tensor" if default is None else by_type.get(type(value), "other")
    words = words_of(argument.arg, documentation) if kind == "str" else ()
    return Parameter(argument.arg, kind, default is None, keyword, value, words)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"False": False, "True": True, "false": False, "true": True}.get(text)
