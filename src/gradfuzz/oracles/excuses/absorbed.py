"""Steps that are lost beside much larger numbers: the point rests on a tread of stairs, and these climb as AD says; or one stair is
all there is, and AD is right beside smaller numbers.

Where a function rests by itself, as a clamped one does outside its bounds, its flat part ends in a bend and not in a jump: a derivative
that is not zero there is wrong, whatever the function does further away.
"""

from __future__ import annotations

from operator import and_

import numpy as np

from gradfuzz.numdiff.ladder import FIRST_STEP
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import TreadEnd, tread
from gradfuzz.oracles.evidence.ranges import lost_beside_others
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says

# Beside a constant of order one inside the function, steps below this vanish: none of the ladder's is seen.
LOST = 2.0**-54
# One stair, of which the point may be anywhere, shows the slope of the stairs no better than up to this factor.
FACTOR = 2.0
# Steps over many stairs: their slope is AD's up to this part of it.
LONG_STEPS = tuple(2.0**k for k in (*range(-4, 9, 2), 20, 40, 60, 80, *range(100, 331, 23)))
CLIMBS = 0.5


def _element(suspect: Suspect) -> Says:
    if suspect.line.numeric.value != 0.0:
        return None
    ends = tread(suspect.line)
    jumps = any(end.jumps for end in ends)
    if ends and (_climbs(ends, suspect.number) or (jumps and (_further_on(suspect) or lost_beside_others(suspect)))):
        return SUPPORTS
    return BLIND if ends and FIRST_STEP * suspect.step < LOST else None


def _climbs(ends: list[TreadEnd], number: float) -> bool:
    """Whether AD says of the length of a stair what it rises by, or something between the rises at its two ends, which differ near a pole.

    Where one end is not known, the point is taken to be in the middle. A rise the other way is that across the pole.
    """
    length = sum(end.distance for end in ends) * 2 / len(ends)
    slopes = [abs(end.rise) / length for end in ends if end.rise * number > 0]
    return bool(slopes) and min(slopes) / FACTOR <= abs(number) <= max(slopes) * FACTOR


def _further_on(suspect: Suspect) -> bool:
    """Whether steps over many stairs show AD's slope: outputs have treads of their own, and one stair of one of them does not.

    Two steps, one after the other: across a pole one may do so by chance. A long step may cross a kink; then one side shows the slope.
    """
    line, number = suspect.line, suspect.number
    with np.errstate(all="ignore"):
        here, before = line.at(0.0), [False] * 3
        for t in LONG_STEPS:
            plus, minus = line.at(t), line.at(-t)
            if plus.shape != minus.shape or plus.shape != here.shape:
                continue
            slopes = [float(d.sum()) / w for d, w in ((plus - minus, 2 * t), (plus - here, t), (here - minus, t))]
            now = [abs(slope - number) <= CLIMBS * abs(number) for slope in slopes]
            if any(map(and_, now, before)):
                return True
            before = now
    return False


EXCUSE = Excuse("absorbed", "the steps are lost beside much larger numbers", _element)
