"""A function and its derivative around the point of a finding, drawn by the reference alone: no library is run.

Only for findings that are proven: there the reference has been shown to be the same function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import acb, ctx

from gradfuzz.findings.finding import Finding
from gradfuzz.program.values import materialise
from gradfuzz.reference.arrays import box
from gradfuzz.reference.jet import Depth, variable
from gradfuzz.reference.moves import Moves
from gradfuzz.reference.program import Evaluation
from gradfuzz.reference.spell import book_of
from gradfuzz.targets.homes import homes
from gradfuzz.worker.measure import one_hot

POINTS = 41  # an odd number, so that the point itself is one
BITS = 128
# To each side of the point: as much as itself or one, so that a person recognises the function.
LEAST_WIDTH = 1.0
# Elements of all inputs together: what has more takes seconds to draw.
MOST_ELEMENTS = 64
MOST_CALLS = 4  # a module is made by one and called by another
CLOSE, NOTHING = 1e-6, 1e-100  # at the point itself the curve is the number that was proven
WORTH_DRAWING = 3  # points at which there is a number


def around(finding: Finding) -> dict[str, Any] | None:
    """The output of the proof and its derivative over the element it was differentiated by; None where that cannot be drawn."""
    proof, home = finding.proof, homes().get(finding.target)
    if proof is None or not finding.proven or home is None or finding.random or sum(1 for _ in finding.program.calls()) > MOST_CALLS:
        return None
    try:
        (output, index, part), alongs = proof.spots
        recipes = {name: recipe for name, recipe in finding.program.inputs.items() if recipe.differentiable}
        if sum(recipe.elements for recipe in recipes.values()) > MOST_ELEMENTS or part or any(a[2] for a in alongs):
            return None
        inputs = [np.asarray(materialise(recipe)) for recipe in recipes.values()]
        structures = [recipe.structure for recipe in recipes.values()]
        if any(structures) or any(x.dtype.kind == "c" for x in inputs):
            return None
        us = [one_hot(inputs, tuple(along), structures) for along in alongs]
        moved = alongs[0]
        at = float(inputs[moved[0]].ravel()[moved[1]])
        width = max(LEAST_WIDTH, abs(at))
        places = [at + width * (2 * i / (POINTS - 1) - 1) for i in range(POINTS)]
        values, slopes = [], []
        for place in places:
            here = [x.astype(np.float64).copy() for x in inputs]
            here[moved[0]].ravel()[moved[1]] = place
            jet = _run(finding, book_of(home), list(recipes), here, us)[output].ravel()[index]
            values.append(_number(jet.value))
            slopes.append(_number(jet.top if len(jet.c) == 2 ** len(us) else 0.0))
        there = slopes[POINTS // 2]
        if there is None or not math.isclose(there, float(proof.exact), rel_tol=CLOSE, abs_tol=NOTHING):
            return None  # what would be drawn is not what was proven
    except Exception:  # whatever a stranger's proof makes the arithmetic stumble over: a picture is no more than a picture
        return None
    if sum(v is not None for v in values) < WORTH_DRAWING or sum(s is not None for s in slopes) < WORTH_DRAWING:
        return None
    return {"along": proof.along[0], "at": at, "width": width, "f": values, "d": slopes}


def _run(finding: Finding, book: Any, names: Sequence[str], inputs: Sequence[Any], us: Sequence[Any]) -> list[Any]:
    ctx.prec, Depth.order = BITS, len(us)
    leaves = {}
    for k, (name, x) in enumerate(zip(names, inputs)):
        made = np.empty(x.shape, object)
        for place in np.ndindex(*x.shape):
            made[place] = variable(x[place].item(), [u[k][place].item() for u in us])
        leaves[name] = made if x.ndim else box(made[()])
    return Evaluation(book, leaves, Moves({}), "float64").run(finding.program)


def _number(ball: Any) -> float | None:
    """The middle of a ball that is narrow enough to be drawn."""
    if isinstance(ball, acb):
        return None
    number = float(ball.mid()) if hasattr(ball, "mid") else float(ball)
    wide = hasattr(ball, "rad") and float(ball.rad()) > 1e-6 * max(1.0, abs(number))
    return number if math.isfinite(number) and not wide else None
