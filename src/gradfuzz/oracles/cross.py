"""Two libraries at the same inputs: where they compute the same function, its derivatives must be the same numbers.

Nothing is decided here. Where the numbers differ, one of the libraries may be wrong, or there may be no derivative at that point; the
referee and the reference say which. So the tolerance may be narrow: a difference that means nothing costs time and no false alarm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
# Values of one function in two libraries differ by a few roundings; other functions of the same name differ by far more.
SAME_VALUE = 1e-9
# Derivatives differ by more of them, of order two by the square of that.
SAME_DERIVATIVE = 1e-8
# What is this much smaller than the largest entry is made of its rounding.
NOTHING = 1e-13


@dataclass(frozen=True)
class Difference:
    """One entry of a derivative that the two give differently: an output element, and an input element for each differentiation."""

    order: int
    entry: str
    ours: Mapping[str, float]  # by scenario
    theirs: Mapping[str, float]


def same_values(ours: Sequence[Array], theirs: Sequence[Array]) -> bool:
    """Whether two functions gave the same outputs, in number, shape and size."""
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        with np.errstate(all="ignore"):
            finite = np.abs(a[np.isfinite(a)])
            size = float(finite.max()) if finite.size else 1.0
            if not np.allclose(a, b, rtol=SAME_VALUE, atol=SAME_VALUE * NOTHING * size, equal_nan=True):
                return False
    return True


def differences(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], order: int) -> list[Difference]:
    """Entries that differ, as `measure` gives them. Each scenario of one library is held against each of the other's."""
    there = {_place(row): _numbers(row) for row in theirs}
    pairs = [(_place(row), _numbers(row), there[_place(row)]) for row in ours if _place(row) in there]
    sizes = [abs(n) for _, a, b in pairs for n in (*a.values(), *b.values()) if math.isfinite(n)]
    least = NOTHING * max(sizes, default=0.0)
    return [Difference(order, place, a, b) for place, a, b in pairs if any(_differ(x, y, least) for x in a.values() for y in b.values())]


def _differ(a: float, b: float, least: float) -> bool:
    if math.isfinite(a) != math.isfinite(b):
        return True
    return math.isfinite(a) and abs(a - b) > SAME_DERIVATIVE * max(abs(a), abs(b)) + least


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['output']} along {row['along']}"


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """What scenarios gave; one that refused gave nothing."""
    return {name: float(n) for name, n in row["numbers"].items() if isinstance(n, (int, float))}
