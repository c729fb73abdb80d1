"""A value that no longer moves, and a derivative that swings about zero around it: what they differ by is below the value's last place.

A Fresnel integral at a million is one half for every computer; its derivative is a cosine all the same. What is wrong on a plateau
has a sign there, and would add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.protocol import Outcome

# Points around the element, within a part of it: the widest on which the value rests. Of a wave each sign has its share of them, and
# their sum is a small one. The first few show whether the sign changes at all; so many more leave no wave to chance.
FEW, POINTS = 16, 240
AROUND = (0.1, 1e-3, 1e-5)
SHARE, SUM = 0.2, 0.5
GOLDEN = 0.6180339887498949

Array = Any


def _element(suspect: Suspect) -> Says:
    if suspect.case.order > 1 or suspect.line.numeric.value != 0.0 or suspect.step == 0.0:
        return None
    for part in AROUND:
        shifts = _shifts(suspect, part)
        # Whether the sign changes at all costs least to know.
        numbers = _along(suspect, shifts[:FEW])
        if numbers.size < FEW or not numbers.min() < 0.0 < numbers.max():
            return None
        if _rests(suspect, shifts):
            numbers = np.concatenate([numbers, _along(suspect, shifts[FEW:])])
            swings = numbers.size == POINTS and min((numbers > 0).mean(), (numbers < 0).mean()) >= SHARE
            return BLIND if swings and abs(numbers.sum()) <= SUM * np.abs(numbers).sum() else None
    return None


def _shifts(suspect: Suspect, part: float) -> list[float]:
    reach = part * float(np.abs(suspect.value)) / suspect.step
    return [reach * (2 * (k * GOLDEN % 1) - 1) for k in range(1, POINTS + 1)] if reach else []


def _rests(suspect: Suspect, shifts: list[float]) -> bool:
    line = suspect.line
    return bool(shifts) and all(np.array_equal(line.at(t), line.at(0.0)) for t in shifts)


def _along(suspect: Suspect, shifts: list[float]) -> Array:
    """What AD says at points along the line."""
    trial, along = suspect.trial, suspect.line.along
    outcomes = [trial.attempt(suspect.wrong[0], [along], along, t) for t in shifts]
    return np.array([trial.number(o) for o in outcomes if isinstance(o, Outcome)])


EXCUSE = Excuse("saturated", "the value does not move, and its derivative swings about zero", _element)
