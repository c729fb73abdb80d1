"""A solver that stops at a tolerance: its values are off by as much, its derivative by another as much, and at a tighter one both come
together. What is wrong for another reason stays as wrong."""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.tolerances import at_tighter_ones
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# Where a tolerance makes the gap, one that is so many times as tight leaves far less of it; an integrator's error goes with a power of it
# that is a little below one.
LEFT = 0.25


def _element(suspect: Suspect) -> Says:
    line = at_tighter_ones(suspect)
    if line is None or not line.numeric.usable:
        return None
    gaps = [abs(number - line.numeric.value) for number in line.numbers.values()]
    return BLIND if all(gap <= LEFT * suspect.gap for gap in gaps) else None


EXCUSE = Excuse("own tolerance", "it is right up to a tolerance, and at a tighter one differs by less", _element, dear=True)
