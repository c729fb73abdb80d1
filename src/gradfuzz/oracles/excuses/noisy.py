"""Error bars too wide for the numeric derivative to have been seen at all."""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.line import NUMERIC_BARS, Line
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# A bar may be this part of the derivative, or this part of an ordinary one where it is zero.
SEEN = 0.1
SEEN_AT_ZERO = 1e-3


def enough(line: Line) -> float:
    """How large an error bar may be for the derivative to have been seen at all."""
    return SEEN * abs(line.numeric.value) or SEEN_AT_ZERO * line.typical


def _broken(broken: Broken) -> Says:
    return BLIND if NUMERIC_BARS * broken.line.numeric.error > enough(broken.line) else None


EXCUSE = Excuse("noisy", "the error bars are as wide as what is compared", broken=_broken)
