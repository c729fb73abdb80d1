"""The text of a function that the library has registered: what a derivative rule looks like to those who wrote it."""

from __future__ import annotations

import functools
import inspect
from typing import Any

MOST_PARTS = 4


def source_of(function: Any) -> str:
    """The source of a function, of what it wraps, and of the functions that it was made from; empty where there is none."""
    function = inspect.unwrap(function)
    parts = [function]
    if isinstance(function, functools.partial):
        parts = [function.func, *(a for a in (*function.args, *function.keywords.values()) if callable(a) or isinstance(a, (tuple, list)))]
    found: list[str] = []
    for part in parts:
        for piece in part if isinstance(part, (tuple, list)) else [part]:
            try:
                found.append(inspect.getsource(inspect.unwrap(piece)).rstrip())
            except (TypeError, OSError):
                continue
    return "\n".join(dict.fromkeys(found[:MOST_PARTS]))
