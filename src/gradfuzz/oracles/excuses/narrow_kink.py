"""What looks like a kink to the ladder and is something steep and narrow that AD has met."""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# A choice at a kink is wrong by the size of its slopes. One that is this many times larger has met something steep and narrow.
FAR = 1e3


def _element(suspect: Suspect) -> Says:
    numeric = suspect.line.numeric
    return BLIND if numeric.kink and abs(suspect.number) > FAR * max(map(abs, numeric.interval())) else None


EXCUSE = Excuse("narrow kink", "what looks like a kink is a feature smaller than the steps", _element)
