"""What an MLX function takes. Most are built-in ones that Python cannot ask: their docstrings begin with their signatures.

take(a: array, /, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

from gradfuzz.targets.base.protocol import Overload, Parameter

# Where a thing is computed is not a Program's affair, nor is the type of the result.
LEFT_OUT = ("stream", "dtype")
# The first of these words in an annotation says what kind a parameter is of.
_KINDS = (
    (r"(Sequence|list|tuple)\[(mlx\.core\.)?array", "tensors"), (r"\barray\b", "tensor"), (r"Literal|\bstr\b", "str"),
    (r"\bbool\b", "bool"), (r"(^|[| ])int\b(?!\])", "int"), (r"\bint\b", "ints"), (r"\bfloat\b|\bscalar\b", "float"),
)  # fmt: skip
_WORD = re.compile(r"[\"'`]([a-z][a-z0-9_\-]{1,20})[\"'`]")
_EMPTY = object()


def documented_name(function: Any) -> str:
    """What the docstring calls the function: of `acos` it is that of `arccos`. Nothing where it does not say."""
    return next((node.name for node in _signatures(function)), "")


def overloads(function: Any) -> list[Overload]:
    """The ways to call a function; none where neither Python nor its docstring says. A method's first parameter is the array itself."""
    documentation = inspect.getdoc(function) or ""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [_from_docstring(node.args, documentation) for node in _signatures(function)]
    found = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD or p.name in LEFT_OUT:
            continue
        annotation = "" if p.annotation is p.empty else inspect.formatannotation(p.annotation)
        default = _EMPTY if p.default is p.empty else p.default
        starred = p.kind is p.VAR_POSITIONAL
        found.append(_parameter(p.name, annotation, default, p.kind is p.KEYWORD_ONLY, documentation, starred))
    return [tuple(found)]


def _signatures(function: Any) -> Iterator[ast.FunctionDef]:
    """The lines before the first empty one, as far as they are signatures."""
    for line in (getattr(function, "__doc__", None) or "").strip().split("\n"):
        try:
            (node,) = ast.parse(f"def {line}: ...").body
        except (SyntaxError, ValueError):
            return
        if not isinstance(node, ast.FunctionDef):
            return
        yield node


def _from_docstring(args: ast.arguments, documentation: str) -> Overload:
    found = []
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    rows = [(a, d, False, False) for a, d in zip(positional, defaults)]
    rows += [(args.vararg, None, False, True)] if args.vararg is not None else []
    rows += [(a, d, True, False) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    for arg, default, keyword, starred in rows:
        if arg.arg not in LEFT_OUT:
            annotation = "array" if arg.arg == "self" else "" if arg.annotation is None else ast.unparse(arg.annotation)
            found.append(_parameter(arg.arg, annotation, _literal(default), keyword, documentation, starred))
    return tuple(found)


def _literal(default: ast.expr | None) -> Any:
    if default is None:
        return _EMPTY
    try:
        return ast.literal_eval(default)
    except ValueError:
        return None  # a name, such as a type's


def _parameter(name: str, annotation: str, default: Any, keyword: bool, documentation: str, starred: bool) -> Parameter:
    kind = "starred" if starred else _kind(annotation, default)
    words = tuple(dict.fromkeys(_WORD.findall(annotation))) or _words(name, documentation) if kind == "str" else ()
    return Parameter(name, kind, default is _EMPTY and not starred, keyword, None if default is _EMPTY else default, words)


def _kind(annotation: str, default: Any) -> str:
    if type(default) in (bool, int, float, str) and "array" not in annotation:
        return type(default).__name__
    if not annotation:
        return "tensor" if default is _EMPTY else "other"
    return next((kind for pattern, kind in _KINDS if re.search(pattern, annotation)), "other")


def _words(name: str, documentation: str) -> tuple[str, ...]:
    """Quoted words in the docstring's paragraph on a parameter: reduction (str, optional): ``'none'`` | ``'mean'`` | ``'sum'``."""
    paragraph = re.search(rf"^\s*{re.escape(name)}\s*\(.*?(?=^\s*\w+\s*\(|\n\s*\n|\Z)", documentation, re.S | re.M)
    return tuple(dict.fromkeys(w for w in _WORD.findall(paragraph.group()) if w != name)) if paragraph else ()
