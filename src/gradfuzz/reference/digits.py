"""How many digits a library loses of a function of one number: what it should have given, what it gave, and what its input allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import ctx

from gradfuzz.program.model import Program
from gradfuzz.reference.jet import Depth, variable
from gradfuzz.reference.moves import Moves
from gradfuzz.reference.program import Evaluation, Unmoved
from gradfuzz.reference.prove import FIRST_BITS, FREE, MOST_BITS, NARROW_BITS
from gradfuzz.reference.spell import NoMeaning, book_of
from gradfuzz.targets.homes import home_of

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
# Numbers outside these are not held to their digits: near the ends of the range a type has fewer, or none.
NORMAL = {"float64": (1e-290, 1e300), "float32": (1e-36, 1e37)}
ALL = {"float64": 15.95, "float32": 7.22}
# What rounding the input does is measured by the next derivative; beyond this nothing is left to lose.
MOST_CONDITION = 1e12

KINDS = ("value", "first derivative", "second derivative")


@dataclass(frozen=True)
class Loss:
    """One number of one function: digits lost at x, of so many, and digits that are right."""

    x: float
    kind: str
    way: str
    expected: float
    got: float
    lost: float
    right: float = 0.0
    note: str = ""  # why it is not held against the library


def exact(target: str, program: Program, x: float) -> tuple[Any, ...] | None:
    """The value and the first three derivatives at x, as balls; None outside the domain and where no precision settles."""
    (name,) = program.inputs
    book = book_of(home_of(target))
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        ctx.prec, Depth.order = bits, 3
        leaf = np.empty((), object)
        leaf[()] = variable(x, (1.0, 1.0, 1.0))
        try:
            (output,) = Evaluation(book, {name: leaf}, Moves({}), "float64").run(program)
        except Unmoved:
            raise NoMeaning(f"{program.api} has no meaning yet: add it to the target's semantics folder") from None
        c = output[()].c
        found = tuple(c[k] for k in (0, 1, 3, 7)) if len(c) == 8 else (c[0], *[c[0] * 0] * 3)
        if all(_settled(ball) for ball in found[:3]):
            return found
        bits *= 2
    return None


def _settled(ball: Any) -> bool:
    """Good to all digits, or certainly of no size at all."""
    return bool(ball.is_finite() and (ball.rel_accuracy_bits() >= NARROW_BITS or abs(ball) < 1e-320))


def losses(target: str, program: Program, x: float, got: dict[str, list[float | None]], dtype: str) -> list[Loss]:
    """Every number that a library gave at x, against the exact one. `got`: by way, the value and derivatives it gave."""
    truth = exact(target, program, x)
    if truth is None:
        return []
    found = []
    for way, numbers in got.items():
        for order, number in enumerate(numbers):
            if number is not None:
                found.append(_loss(x, KINDS[order], way, truth, order, float(number), dtype))
    return found


def _loss(x: float, kind: str, way: str, truth: tuple[Any, ...], order: int, got: float, dtype: str) -> Loss:
    wanted = truth[order].mid()
    expected = _float(wanted)
    low, high = NORMAL[dtype]
    if not low < abs(wanted) < high:
        note = "underflow" if abs(wanted) <= low else "overflow"
        return Loss(x, kind, way, expected, got, 0.0, ALL[dtype], note)
    if not math.isfinite(got):
        return Loss(x, kind, way, expected, got, ALL[dtype])
    # The relative condition: by how much more than itself a relative change of x changes the answer.
    slope = truth[order + 1]
    condition = max(1.0, _float(abs(x * slope / wanted).upper())) if slope.is_finite() else MOST_CONDITION
    error = _float(abs(got - wanted) / abs(wanted))
    allowed = FREE * UNITS[dtype] * min(condition, MOST_CONDITION)
    lost = min(ALL[dtype], math.log10(error / allowed)) if error > allowed else 0.0
    right = max(0.0, min(ALL[dtype], -math.log10(error))) if error > 0 else ALL[dtype]
    return Loss(x, kind, way, expected, got, lost, right)


def _float(ball: Any) -> float:
    try:
        return float(ball)
    except (OverflowError, ValueError):
        return math.inf


def worst(found: list[Loss]) -> dict[tuple[str, str], Loss]:
    """The largest loss of each kind in each way."""
    best: dict[tuple[str, str], Loss] = {}
    for loss in found:
        key = (loss.kind, loss.way)
        if not loss.note and (key not in best or loss.lost > best[key].lost):
            best[key] = loss
    return best
