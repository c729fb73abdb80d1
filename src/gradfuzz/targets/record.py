"""`gradfuzz.record`: the API calls of a running program as seeds."""

from __future__ import annotations

from typing import Any

from gradfuzz.errors import TargetError
from gradfuzz.targets.homes import Home, default_target, homes


def recordable() -> list[str]:
    """Targets whose calls can be recorded."""
    return sorted(name for name, home in homes().items() if "recording" in home.about)


def record(path: Any, target: str | Home | None = None, contents: bool = False) -> Any:
    """A context manager: each distinct call of the library's API inside it becomes a seed in the file `path`.

    Seeds have the calls' shapes, types and arguments. Tensor contents are not stored unless `contents` is true.
    Use the file with `gradfuzz run TARGET --seeds PATH`.
    """
    name = target or default_target()
    if isinstance(name, str):
        if name not in recordable():
            raise TargetError(f"calls of {name!r} cannot be recorded; known: {', '.join(recordable())}")
        name = homes()[name]
    return name.part("recording")(name.language(), str(path), contents)
