"""A derivative that moves as far as it is off once the inputs are rounded otherwise: a matrix that is nearly singular."""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.rounding import slope_spread
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _element(suspect: Suspect) -> Says:
    """The slopes of the function itself: where AD alone is shaken by a rounding, it has lost its digits."""
    if suspect.line.numeric.kink:
        return None
    return BLIND if suspect.gap <= slope_spread(suspect.line, suspect.gap) else None


EXCUSE = Excuse("ill-conditioned", "rounding the inputs moves the derivative as far", _element, dear=True)
