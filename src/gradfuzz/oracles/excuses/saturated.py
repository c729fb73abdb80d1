"""A value that no longer moves, and a derivative that swings about zero around it: what they differ by is below the value's last place.

A Fresnel integral at a million is one half for every computer; its derivative is a cosine all the same. What is wrong on a plateau
has a sign there, and would add up.
"""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.protocol import Outcome

# Points around the element, within this part of it. Of a wave each sign has its share of them, and their sum is a small one.
POINTS = 16
AROUND = 0.1
SHARE, SUM = 0.2, 0.5
GOLDEN = 0.6180339887498949


def _element(suspect: Suspect) -> Says:
    line, trial = suspect.line, suspect.trial
    if suspect.case.order > 1 or line.numeric.value != 0.0 or suspect.step == 0.0:
        return None
    reach = AROUND * float(np.abs(suspect.value)) / suspect.step
    shifts = [reach * (2 * (k * GOLDEN % 1) - 1) for k in range(1, POINTS + 1)]
    if not reach or any(not np.array_equal(line.at(t), line.at(0.0)) for t in shifts):
        return None
    outcomes = [trial.attempt(suspect.wrong[0], [line.along], line.along, t) for t in shifts]
    numbers = np.array([trial.number(o) for o in outcomes if isinstance(o, Outcome)])
    swings = min((numbers > 0).mean(), (numbers < 0).mean()) >= SHARE if numbers.size == POINTS else False
    return BLIND if swings and abs(numbers.sum()) <= SUM * np.abs(numbers).sum() else None


EXCUSE = Excuse("saturated", "the value does not move, and its derivative swings about zero", _element)
