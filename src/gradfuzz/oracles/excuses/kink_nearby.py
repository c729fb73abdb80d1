"""A tie: the slopes of the points nearby surround what AD chose, although the element's own one-sided slopes do not."""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import among_slopes_nearby
from gradfuzz.oracles.excuses.base import SUPPORTS, Excuse, Says

# Ties make differences of order one; a smaller gap is not one, and nearby slopes of a smooth function vary by less.
TIE = 1e-2


def _element(suspect: Suspect) -> Says:
    size = max(abs(suspect.number), abs(suspect.line.numeric.value))
    perhaps = suspect.at_kink or suspect.line.numeric.kink or (suspect.case.order == 1 and suspect.gap > TIE * size)
    return SUPPORTS if perhaps and among_slopes_nearby(suspect) else None


EXCUSE = Excuse("tie", "among the slopes of the points nearby", _element, dear=True)
