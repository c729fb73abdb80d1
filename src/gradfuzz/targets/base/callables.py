"""What a target's language lets Programs call, found by looking: functions of its namespaces, methods of its classes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gradfuzz.program.language import Language


def callables(language: Language) -> Iterator[tuple[str, Any]]:
    """(name as Programs write it, the object), namespace by namespace. Methods come last, as `.name`."""
    classes: list[Any] = []
    seen: set[int] = set()
    for space in language.namespaces:
        found = space_of(language, space)
        if isinstance(found, type):
            classes.append(found)
        elif _is_module(found):
            for path, value in _functions(language, space, found):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield path, value
    for cls in classes:
        for name in sorted(dir(cls)):
            if not name.startswith("_") and not name.endswith("_") and language.method_refusal(name) is None:
                value = getattr(cls, name, None)
                if callable(value) and not isinstance(value, type):
                    yield "." + name, value


def _is_module(found: Any) -> bool:
    """One that lists what it has: a module that fills itself as it is used (a class of its own, with no spec) lists what ran before."""
    return type(found) is ModuleType or getattr(found, "__spec__", None) is not None


def _functions(language: Language, space: str, module: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(module)):
        path = f"{space}.{name}"
        # In-place forms end in an underscore by convention; they are the same rule once more.
        if name.startswith("_") or name.endswith("_") or language.refusal(path):
            continue
        try:
            value = getattr(module, name)
        except Exception:  # lazy modules raise what they like
            continue
        if callable(value) and not isinstance(value, (type, ModuleType)) and not hasattr(value, "bind"):
            yield path, value


def space_of(language: Language, space: str) -> Any:
    """The module or class behind a namespace; None for patterns and for what this version lacks."""
    if space.endswith(".*"):
        return None
    root, *rest = space.split(".")
    try:
        found: Any = importlib.import_module(language.modules.get(root, root))
        for position, segment in enumerate(rest):
            deeper = getattr(found, segment, None)
            found = importlib.import_module(".".join([root, *rest[: position + 1]])) if deeper is None else deeper
    except Exception:  # a namespace may load itself late, and raise what it likes
        return None
    return found


def required(function: Any) -> list[str] | None:
    """Names of the parameters that a call must give; None where the function does not say."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.default is p.empty and p.kind in positional]
