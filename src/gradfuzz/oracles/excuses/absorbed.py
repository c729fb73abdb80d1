"""Steps that are lost beside much larger numbers: once they are large enough to count, the function moves as AD says."""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import SUPPORTS, Excuse, Says

LARGE_STEPS = tuple(2.0**k for k in (2, 8, 20, 40, 60, 80, *range(100, 331, 23)))


def _element(suspect: Suspect) -> Says:
    line, number = suspect.line, suspect.number
    if line.numeric.value != 0.0:
        return None
    with np.errstate(all="ignore"):
        here = line.at(0.0)
        for t in LARGE_STEPS:
            plus, minus = line.at(t), line.at(-t)
            if plus.shape != minus.shape or plus.shape != here.shape:
                continue
            # A large step may cross a kink: then one side of it shows the slope.
            seen = [float(d.sum()) / w for d, w in ((plus - minus, 2 * t), (plus - here, t), (here - minus, t))]
            if any(abs(slope - number) <= 0.5 * abs(number) for slope in seen):
                return SUPPORTS
    return None


EXCUSE = Excuse("absorbed", "the steps are lost beside much larger numbers", _element)
