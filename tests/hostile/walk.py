"""Everything that a Program can name on an installed library: what is in its namespaces, and one level deeper."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.protocol import Target


def let_through(target: Target) -> Iterator[tuple[str, Any]]:
    """(name, what it stands for) of every name that the gate lets through."""
    resolve = target.compiler.resolve  # type: ignore[attr-defined]
    for path in sorted(set(names(target))):
        try:
            yield path, resolve(path)
        except ProgramError:
            continue


def names(target: Target) -> Iterator[str]:
    """Every name that may be written, whether or not it is refused."""
    language = target.language
    for space in language.namespaces:
        yield space
        deeper = space.endswith(".*")
        home = _find(space[:-2] if deeper else space, language.modules)
        for name in _parts(home):
            path = f"{space.removesuffix('.*')}.{name}"
            yield path
            value = _part(home, name)
            if deeper or not isinstance(value, ModuleType):
                yield from (f"{path}.{part}" for part in _parts(value))


def _find(space: str, modules: dict[str, str]) -> Any:
    root, *rest = space.split(".")
    found: Any = importlib.import_module(modules.get(root, root))
    for position, name in enumerate(rest):
        part = _part(found, name)
        if part is None:
            try:
                part = importlib.import_module(".".join([root, *rest[: position + 1]]))
            except ImportError:
                return None
        found = part
    return found


def _parts(owner: Any) -> list[str]:
    try:
        return dir(owner)
    except Exception:  # what fills itself as it is asked raises what it likes
        return []


def _part(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:
        return None
