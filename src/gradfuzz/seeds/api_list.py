"""Signatures as people list them, one a line: `library.nn.kl_div(input, target, reduction='mean', log_target=False)`."""

from __future__ import annotations

import ast
from dataclasses import asdict
from typing import Any

from gradfuzz.targets.base.protocol import Parameter

_KINDS = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"))


def read_signature(line: str) -> tuple[str, list[dict[str, Any]] | None]:
    """(API, its parameters as JSON); no parameters for a bare name or for what is not a signature."""
    name, bracket, rest = line.strip().partition("(")
    if not bracket:
        return name.strip(), None
    try:
        function = ast.parse(f"def f({rest.rstrip().rstrip(':')}: pass" if rest.rstrip().endswith(")") else f"def f({rest}): pass").body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return name.strip(), None
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = [_parameter(a.arg, d, False) for a, d in zip(positional, defaults, strict=True)]
    if arguments.vararg is not None:
        found.append(Parameter(arguments.vararg.arg, "starred", True))
    found += [_parameter(a.arg, d, True) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return name.strip(), [asdict(p) for p in found if p.name not in ("self", "out", "dtype", "device", "layout", "requires_grad")]


def _parameter(name: str, default: ast.expr | None, keyword: bool) -> Parameter:
    if default is None:
        return Parameter(name, "other", True, keyword)
    try:
        value = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = None
    kind = next((word for python, word in _KINDS if isinstance(value, python)), "other")
    return Parameter(name, kind, False, keyword, value)
