"""A derivative that is larger than its type can hold."""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

LARGEST = 1e300


def _broken(broken: Broken) -> Says:
    # Directions are as long as the inputs; per unit of a tiny input the derivative itself is beyond the range.
    return BLIND if broken.line.numeric.magnitude > LARGEST * min(broken.trial.point.scales, default=1.0) else None


EXCUSE = Excuse("too steep", "the derivative is larger than its type can hold", broken=_broken)
