"""Where a package itself calls its rules: functions, and objects that can be made of nothing. They know what a rule's arguments are."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Callable

# By these methods libraries of layers are called.
METHODS = ("forward", "__call__", "call")


def callers(modules: Iterable[Any], word: str) -> Iterator[Callable[..., Any]]:
    """What in these modules calls something by this name in its own text."""
    for module in modules:
        for value in [v for v in list(vars(module).values()) if getattr(v, "__module__", None) == module.__name__]:
            if inspect.isfunction(value) and _calls(value, word):
                yield value
            elif inspect.isclass(value):
                for method in METHODS:
                    if inspect.isfunction(vars(value).get(method)) and _calls(vars(value)[method], word):
                        made = _made(value)
                        if made is not None:
                            yield getattr(made, method)


@functools.cache
def called_in(function: Any) -> set[str]:
    """What a function's own text calls, as it is written there: `lax.custom_root`, `ops.mine.f`."""
    return {_dotted(node.func) for node in _nodes(function) if isinstance(node, ast.Call)}


def made_in(function: Any, words: Iterable[str]) -> bool:
    """Whether a function's own text defines something under one of these decorators or with one of these bases."""
    wanted = set(words)
    for node in list(_nodes(function))[1:]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Call)):
            named = (
                node.decorator_list if isinstance(node, ast.FunctionDef) else node.bases if isinstance(node, ast.ClassDef) else [node.func]
            )
            parts = (part for expression in named for part in ast.walk(expression))
            if any(_dotted(part).rpartition(".")[2] in wanted for part in parts if isinstance(part, (ast.Attribute, ast.Name))):
                return True
    return False


def _calls(function: Any, word: str) -> bool:
    return any(call == word or call.endswith(f".{word}") for call in called_in(function))


def _made(kind: type) -> Any:
    """An object of the class, if it takes nothing."""
    try:
        return kind()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:
        return None


def _nodes(function: Any) -> Iterator[ast.AST]:
    """A function's own text, itself first and without its decorators; nothing where it cannot be read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    whole = tree.body[0]
    if isinstance(whole, (ast.FunctionDef, ast.ClassDef)):
        whole.decorator_list = []
    yield from ast.walk(whole)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
