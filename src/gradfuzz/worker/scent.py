"""Following a scent: where digits are lost, walk outward in that argument until the loss is plain; at an edge, look just inside.

A special function was filed as inaccurate at -8.3 that is wrong by eleven orders at -9.5: the first is a footnote, the second a bug.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import ACCURACY, GRADIENT, NONFINITE, PRECISION, TAIL, Verdict
from gradfuzz.program.codec import values_to_json
from gradfuzz.program.model import COMPLEXES, Program, Tensor, Values
from gradfuzz.program.values import materialise

# Kinds that may be the beginning of something worse.
LOSSES, EDGES = (ACCURACY, PRECISION, TAIL), (NONFINITE,)
# How far out: slowly at first, since between losing digits and being wrong altogether there may be a tenth of the argument.
OUTWARD = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
# How far inside of an edge, in units of the number there; beside zero, by themselves.
INSIDE = (2.0**-52, 2.0**-26, 2.0**-10)
# Numbers of an input are listed one by one to move some of them: inputs with more are left alone.
MOST_LISTED = 64
# A walk is as long as the way outward; a mutant on it may cost as much as twenty others.
MOST_STEPS = len(OUTWARD)
# A derivative that is wrong by this part of itself is wrong in plain sight.
PLAIN = 1e-2
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[([0-9, ]*)\]\Z")


@dataclass(frozen=True)
class Scent:
    """A finding that may be the beginning of something worse, and the mutant that showed it."""

    edits: tuple[Edit, ...]
    options: Options
    verdict: Verdict
    index: int  # of the mutant


def is_scent(verdict: Verdict) -> bool:
    """Whether it pays to look further: a loss of digits that is not plain yet, or a derivative that is not finite."""
    return verdict.kind in EDGES or (verdict.kind in LOSSES and not is_plain(verdict))


def is_plain(verdict: Verdict) -> bool:
    """Whether a finding shows at first sight."""
    expected, actual = verdict.expected, verdict.actual
    if verdict.kind == GRADIENT or not all(isinstance(n, (int, float)) and np.isfinite(n) for n in (expected, actual)):
        return verdict.kind in (GRADIENT, NONFINITE)
    return bool(abs(expected - actual) > PLAIN * max(abs(expected), abs(actual)))


def steps(program: Program, verdict: Verdict) -> Iterator[Edit]:
    """The walk: edits of a mutant, nearest first."""
    if verdict.kind in EDGES:
        yield from islice(_inside(program), MOST_STEPS)
        return
    match = _ELEMENT.match(str(verdict.detail.get("element")))
    name = match.group(1) if match else ""
    recipe = program.inputs.get(name)
    if match is None or recipe is None:
        recipes = {n: r for n, r in program.inputs.items() if r.differentiable}
        if len(recipes) != 1:
            return
        ((name, recipe),) = recipes.items()
    numbers = _numbers(recipe)
    if numbers is None:
        return
    where = tuple(int(i) for i in match.group(2).split(",") if i.strip()) if match else ...
    for factor in OUTWARD:
        moved = numbers.copy()
        moved[where] = moved[where] * factor
        if np.isfinite(moved).all():
            yield _edit(name, moved)


def _inside(program: Program) -> Iterator[Edit]:
    """Numbers at which domains end are whole ones; they are moved to both sides, since one of them is inside."""
    for distance in INSIDE:
        for name, recipe in program.inputs.items():
            numbers = _numbers(recipe) if recipe.differentiable else None
            at_edge = None if numbers is None else numbers == np.round(numbers)
            if numbers is None or at_edge is None or not at_edge.any():
                continue
            for sign in (1.0, -1.0):
                yield _edit(name, np.where(at_edge, numbers + sign * distance * np.maximum(np.abs(numbers), 1.0), numbers))


def _numbers(recipe: Tensor) -> Any:
    """The input's numbers in double precision; None where they cannot be listed."""
    if recipe.dtype in COMPLEXES or recipe.discrete or recipe.structure is not None or not 0 < recipe.elements <= MOST_LISTED:
        return None
    return materialise(recipe).astype(np.float64)


def _edit(name: str, numbers: Any) -> Edit:
    return Edit("values", name, values_to_json(Values("listed", (tuple(float(n) for n in numbers.ravel()),))))
