"""Numbers of a store as people read them and as pages draw them: a stranger's may be anything."""

from __future__ import annotations

import math
from typing import Any


def shown(value: Any) -> str:
    """A value as people read it; complex numbers come from stores as pairs."""
    if isinstance(value, dict) and set(value) == {"complex"}:
        real, imaginary = value["complex"]
        return f"{real!r} {'-' if str(imaginary).startswith('-') else '+'} {str(imaginary).lstrip('-')}j"
    return value if isinstance(value, str) else "" if value is None else repr(value)


def number(value: Any) -> float | None:
    """A number that can be drawn."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return float(value) if fits and math.isfinite(value) else None
    except OverflowError:
        return None
