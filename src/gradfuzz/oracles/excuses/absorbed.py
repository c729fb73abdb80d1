"""Steps that are lost beside much larger numbers: the point rests on a tread of stairs, and these climb as AD says.

Where a function rests by itself, as a clamped one does outside its bounds, its flat part ends in a bend and not in a jump: a derivative
that is not zero there is wrong, whatever the function does further away.
"""

from __future__ import annotations

from gradfuzz.numdiff.ladder import FIRST_STEP
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import TreadEnd, tread
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says

# Beside a constant of order one inside the function, steps below this vanish: none of the ladder's is seen.
LOST = 2.0**-54
# One stair, of which the point may be anywhere, shows the slope of the stairs no better than up to this factor.
FACTOR = 2.0


def _element(suspect: Suspect) -> Says:
    if suspect.line.numeric.value != 0.0:
        return None
    ends = tread(suspect.line)
    if ends and _climbs(ends, suspect.number):
        return SUPPORTS
    return BLIND if ends and FIRST_STEP * suspect.step < LOST else None


def _climbs(ends: list[TreadEnd], number: float) -> bool:
    """Whether the rise of a stair is what AD says of its length. Where one end is not known, the point is taken to be in the middle."""
    length = sum(end.distance for end in ends) * 2 / len(ends)
    slope = sum(end.rise for end in ends) / len(ends) / length
    return abs(number) / FACTOR <= abs(slope) <= abs(number) * FACTOR and slope * number > 0


EXCUSE = Excuse("absorbed", "the steps are lost beside much larger numbers", _element)
