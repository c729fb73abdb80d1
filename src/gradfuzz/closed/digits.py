"""How many digits a library loses against a closed form: what it should have given, what it gave, and what its input allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gradfuzz.closed.forms import exact

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
# Numbers outside these are not held to their digits: near the ends of the range a type has fewer, or none.
NORMAL = {"float64": (1e-290, 1e300), "float32": (1e-36, 1e37)}
ALL = {"float64": 15.95, "float32": 7.22}
# An input is a rounding of what was meant, by half a unit; an answer may be off by what that does, and by a few units.
FREE = 16.0

KINDS = ("value", "first derivative", "second derivative")


@dataclass(frozen=True)
class Loss:
    """One number of one function: digits lost at x, of so many."""

    x: float
    kind: str
    way: str
    expected: float
    got: float
    lost: float
    note: str = ""  # why it is not held against the library


def losses(name: str, x: float, got: dict[str, list[float | None]], dtype: str) -> list[Loss]:
    """Every number that a library gave at x, against the closed form. `got`: by way, the value and derivatives it gave."""
    truth = exact(name, x)
    if truth is None:
        return []
    found = []
    for way, numbers in got.items():
        for order, number in enumerate(numbers):
            if number is not None:
                found.append(_loss(x, KINDS[order], way, truth, order, float(number), dtype))
    return found


def _loss(x: float, kind: str, way: str, truth: tuple[Any, ...], order: int, got: float, dtype: str) -> Loss:
    wanted = truth[order]
    expected = float(wanted)
    low, high = NORMAL[dtype]
    if wanted == 0 or not low < abs(wanted) < high:
        return Loss(x, kind, way, expected, got, 0.0, "underflow" if abs(wanted) <= low else "overflow")
    if not math.isfinite(got):
        return Loss(x, kind, way, expected, got, ALL[dtype])
    # The relative condition: by how much more than itself a relative change of x changes the answer.
    slope = truth[order + 1] if order + 1 < len(truth) else 0
    condition = max(1.0, float(abs(x * slope / wanted)) if slope else 1.0)
    error = float(abs(got - wanted) / abs(wanted))
    allowed = FREE * UNITS[dtype] * min(condition, 1e12)
    return Loss(x, kind, way, expected, got, min(ALL[dtype], math.log10(error / allowed)) if error > allowed else 0.0)


def worst(found: list[Loss]) -> dict[tuple[str, str], Loss]:
    """The largest loss of each kind in each way."""
    best: dict[tuple[str, str], Loss] = {}
    for loss in found:
        key = (loss.kind, loss.way)
        if not loss.note and (key not in best or loss.lost > best[key].lost):
            best[key] = loss
    return best
