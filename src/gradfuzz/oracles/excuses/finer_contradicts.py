"""A feature smaller than the steps: the finest of them contradict the coarser."""

from __future__ import annotations

from gradfuzz.oracles.evidence.line import NUMERIC_BARS
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.oracles.excuses.kink_nearby import TIE

FINEST = 5


def _element(suspect: Suspect) -> Says:
    """Whether most of the finest steps say something else than the estimate, by far more than their rounding."""
    number, numeric = suspect.number, suspect.line.numeric
    size = max(abs(number), abs(numeric.value))
    finest = numeric.steps[-FINEST:]
    gaps = [(abs(slope - numeric.value), floor) for _, slope, floor in finest]
    against = sum(1 for gap, floor in gaps if gap > NUMERIC_BARS * floor + TIE * size)
    # What looks like noise may be such a feature too: then the slopes grow beyond anything that either side says.
    wild = sum(1 for gap, _ in gaps if gap > 10 * abs(numeric.value) + 0.1 * abs(number))
    return BLIND if len(finest) == FINEST and max(against, wild) > FINEST // 2 else None


EXCUSE = Excuse("finer steps", "a feature smaller than the steps: the finer ones contradict the coarser", _element)
