"""What `--module` lends to Programs: a module, or one function of it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable


def lent(names: Iterable[str]) -> tuple[str, ...]:
    """Each name as it is lent: `pkg.sub` for a module, `pkg.sub:f` for a function that was named as `pkg.sub.f`.

    A name that is nothing here is passed on as it is: another interpreter may have it, and says so if it does not.
    """
    here = os.getcwd()
    sys.path.insert(0, here)  # workers find modules there, too
    try:
        return tuple(_lent(name) for name in names)
    finally:
        sys.path.remove(here)


def search_paths() -> tuple[str, ...]:
    """Where workers look for modules that are lent: here, and where the user's own interpreter is told to look."""
    told = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return tuple(dict.fromkeys([os.getcwd(), *(os.path.abspath(path) for path in told if path)]))


def _lent(name: str) -> str:
    if ":" in name or "." not in name or _is_module(name):
        return name
    module, rest = name, ""
    while "." in module:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
        if _is_module(module):
            return f"{module}:{rest}"
    return name


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, AttributeError, ValueError):
        return False
