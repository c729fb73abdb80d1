"""JAX's public surface: the functions behind the namespaces that Programs may call."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gradfuzz.program.language import Language


def import_all(language: Language) -> None:
    """Import every namespace that this version has."""
    for _ in _modules(language):
        pass


def functions(language: Language) -> Iterator[tuple[str, Any]]:
    """(path, function) of every public function; one that has several names comes under each."""
    for space, module in _modules(language):
        for name in sorted(vars(module)):
            path = f"{space}.{name}"
            if name.startswith("_") or language.refusal(path):
                continue
            value = getattr(module, name, None)
            if callable(value) and not isinstance(value, (type, ModuleType)) and not hasattr(value, "bind"):
                yield path, value
    for path in language.namespaces:  # names that are lent one by one
        parent, _, name = path.rpartition(".")
        value = getattr(_import(parent), name, None) if parent else None
        if callable(value):
            yield path, value


def primitives(language: Language) -> dict[Any, str]:
    """Public path by primitive: jax.lax.sin_p."""
    found: dict[Any, str] = {}
    for space, module in _modules(language):
        for name, value in sorted(vars(module).items()):
            if name.endswith("_p") and hasattr(value, "bind") and not language.refusal(f"{space}.{name}.bind"):
                found.setdefault(value, f"{space}.{name}")
    return found


def _modules(language: Language) -> Iterator[tuple[str, ModuleType]]:
    """The namespaces that exist here; one that ends in `.*` stands for the modules inside it."""
    for space in language.namespaces:
        parent = _import(space[: -len(".*")] if space.endswith(".*") else space)
        if parent is None:
            continue
        if not space.endswith(".*"):
            yield space, parent
            continue
        for name, value in sorted(vars(parent).items()):
            path = f"{parent.__name__}.{name}"
            if isinstance(value, ModuleType) and not name.startswith("_") and path not in language.namespaces:
                yield path, value


def _import(space: str) -> ModuleType | None:
    try:
        return importlib.import_module(space)
    except ImportError:
        return None
