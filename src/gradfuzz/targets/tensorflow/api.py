"""TensorFlow's public surface: the functions and classes behind the namespaces that Programs may call."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gradfuzz.program.language import Language


def callables(language: Language) -> Iterator[tuple[str, Any]]:
    """(path, function or class), each once: under the first of its names, in the order of the namespaces."""
    seen: set[int] = set()
    for path, _, _, value in members(language):
        if id(value) not in seen:
            seen.add(id(value))
            yield path, value


def members(language: Language) -> Iterator[tuple[str, Any, str, Any]]:
    """(path, module, name, function or class) under every name."""
    for space, module in modules(language):
        for name in sorted(dir(module)):
            path = f"{space}.{name}"
            if name.startswith("_") or language.refusal(path):
                continue
            value = _member(module, name)
            if callable(value) and not isinstance(value, ModuleType):
                yield path, module, name, value


def modules(language: Language) -> Iterator[tuple[str, Any]]:
    """The namespaces that exist here."""
    for space in language.namespaces:
        root, *rest = space.split(".")
        found: Any = importlib.import_module(language.modules.get(root, root))
        for segment in rest:
            found = _member(found, segment)
        if found is not None:
            yield space, found


def _member(module: Any, name: str) -> Any:
    """None where there is none: namespaces of Keras load themselves late, and some refuse to."""
    try:
        return getattr(module, name)
    except Exception:
        return None
