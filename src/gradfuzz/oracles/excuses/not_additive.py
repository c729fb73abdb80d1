"""A point where slopes exist in every direction and are no derivative: they do not add up (a QR of a matrix without full rank).

What AD says there is one of the slopes of the points nearby, unless those have no bound: anything else is wrong all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import among_slopes_nearby, are_additive, unbounded_nearby
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT
from gradfuzz.targets.base.protocol import Vec

# By chance the slopes of two directions add up all the same: where AD is so many times as large as they are and as the function itself, so
# many others are tried. Each takes as many evaluations as all that was known before.
OTHERS, FAR_FROM_ALL = 3, 1e3


def _element(suspect: Suspect) -> Says:
    """D(u + w) against D(u) + D(w), for other directions w of the trial's."""
    turns = OTHERS if suspect.gap > FAR_FROM_ALL * max(suspect.line.numeric.magnitude, _size(suspect)) else 1
    if suspect.line.numeric.kink or all(_adds_up(suspect, turn) for turn in range(turns)):
        return None
    return BLIND if unbounded_nearby(suspect) or among_slopes_nearby(suspect) else None


def _size(suspect: Suspect) -> float:
    """How large outputs are beside inputs."""
    outputs = max((float(np.abs(o).max()) for o in suspect.trial.direct if o.size), default=0.0)
    return outputs / max(max(map(float, suspect.trial.point.scales), default=1.0), DOUBLE_UNIT)


def _adds_up(suspect: Suspect, turn: int) -> bool:
    own, case, other = suspect.line, suspect.case, _inside(suspect, turn)
    one, both = (
        case.line(Vec([np.asarray(a) for a in arrays]), ()) for arrays in (other, [a + b for a, b in zip(other, own.along.arrays)])
    )
    # Slopes that are off by as much as they are long do not add up, however far from all of them AD is.
    return are_additive(both, one, own, min(suspect.gap, own.numeric.magnitude))


def _inside(suspect: Suspect, turn: int) -> list[Any]:
    """Another direction. Elements smaller than their tensor move in proportion to themselves: a pole beside one is not crossed."""
    trial, point = suspect.trial, suspect.trial.point
    found = []
    for x, d, scale in zip(trial.inputs, trial.direction(suspect.case.order + turn).arrays, point.scales):
        size = np.abs(x)
        found.append(d * np.where((size == 0) | (size > scale), 1.0, size / scale))
    return found


EXCUSE = Excuse("not additive", "slopes of two directions do not add up: there is no derivative here", _element)
