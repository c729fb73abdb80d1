"""Structure as fine as the numbers themselves (a remainder or a sine at 1e15): only steps of a few units in the last place see it."""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import frayed, ulp_slopes
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says

# A slope over a few units takes a side if it comes this near to it, as a part of the gap between the sides.
NEAR = 0.25
# Inside, what is as large as the element is rounded once or twice, which moves the ends of a step by so many units. What that makes of a
# smooth function is no structure.
INNER_UNITS = 2.0


def _element(suspect: Suspect) -> Says:
    if frayed(suspect):
        return BLIND
    gap, value, slopes = suspect.gap, suspect.line.numeric.value, ulp_slopes(suspect)
    if slopes and suspect.number == 0.0 and sum(s.value == 0.0 for s in slopes) >= len(slopes) / 2:
        # Rounding makes a slope that is none into one, and not the other way round: to one side at least, this is a tread of stairs.
        return SUPPORTS if any(s.noise < 2 * abs(value) for s in slopes) else None
    told = [s for s in slopes if s.noise < 0.1 * gap]
    if len(told) < 4:
        return None
    if sum(abs(s.value - suspect.number) <= NEAR * gap for s in told) >= len(told) / 2:
        return SUPPORTS
    otherwise = (abs(s.value - value) > NEAR * gap + INNER_UNITS * abs(value) / s.units for s in told)
    return BLIND if sum(otherwise) > len(told) / 2 else None


EXCUSE = Excuse("last places", "steps of a few units in the last place say something else than longer ones", _element)
