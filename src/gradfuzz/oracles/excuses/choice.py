"""A switch: an output of whole numbers (a permutation of pivots, indices) changes across the steps, and with it the function itself.

Where the function only bends there, as a maximum does, its one-sided slopes are known and AD is held against them.
"""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import switches
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# One-sided slopes that are known to this part of themselves.
SETTLED = 1e-2


def _element(suspect: Suspect) -> Says:
    return BLIND if not _bends(suspect.line) and switches(suspect.line) else None


def _bends(line: Line) -> bool:
    """Whether there is a kink with a slope on either side."""
    left, right = line.numeric.left, line.numeric.right
    if left is None or right is None or not line.numeric.kink:
        return False
    size = max(float(np.abs(side.value).sum()) for side in (left, right))
    return all(float(side.error.sum()) <= SETTLED * size for side in (left, right))


EXCUSE = Excuse("choice", "an output of whole numbers changes across the steps", _element, dear=True)
