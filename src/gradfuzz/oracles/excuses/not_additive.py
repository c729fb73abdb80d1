"""A point where slopes exist in every direction and are no derivative: they do not add up (a QR of a matrix without full rank).

What AD says there is one of the slopes of the points nearby, unless those have no bound: anything else is wrong all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import among_slopes_nearby, are_additive, unbounded_nearby
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.protocol import Vec

# By chance the slopes of two directions add up all the same: so many others are tried.
OTHERS = 3


def _element(suspect: Suspect) -> Says:
    """D(u + w) against D(u) + D(w), for other directions w of the trial's."""
    if suspect.line.numeric.kink or all(_adds_up(suspect, turn) for turn in range(OTHERS)):
        return None
    return BLIND if unbounded_nearby(suspect) or among_slopes_nearby(suspect) else None


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
