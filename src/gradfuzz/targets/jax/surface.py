"""JAX's public surface: the functions behind the namespaces that Programs may call."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from gradfuzz.program.language import Language


def import_all(language: Language) -> None:
    """Import every namespace that this version has."""
    for space in language.namespaces:
        _module(space)


def _module(space: str) -> Any:
    try:
        return importlib.import_module(space)
    except ImportError:
        return None


def functions(language: Language) -> Iterator[tuple[str, Any]]:
    """(path, function) of every public function; one that has several names comes under each."""
    for space in language.namespaces:
        module = _module(space)
        for name in sorted(vars(module)) if module is not None else ():
            path = f"{space}.{name}"
            if name.startswith("_") or name.endswith("_p") or language.refusal(path):
                continue
            value = getattr(module, name, None)
            if callable(value) and not isinstance(value, type):
                yield path, value
