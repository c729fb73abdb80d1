"""Numbers so large or so small that the powers which an order's formulas take of them overflow or vanish: no formula could be right.

So may quotients of an element and others: where AD is right once those others are of the element's size, the disagreement was theirs.
"""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.ranges import apart, out_of_range, theirs
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

FAR = 100.0


def _element(suspect: Suspect) -> Says:
    """What overflows or vanishes is far from what it should be; a derivative that is nearly right has done neither."""
    size, wanted = abs(suspect.number), abs(suspect.line.numeric.value)
    near = wanted / FAR <= size <= FAR * wanted and size != 0.0
    if not near and bool(out_of_range(suspect.value, suspect.case.order)):
        return BLIND
    others = apart(suspect)
    return BLIND if any(far.any() for far in others) and theirs(suspect, others) else None


def _broken(broken: Broken) -> Says:
    places = {
        (i, int(j)) for i, x in enumerate(broken.trial.inputs) for j in np.flatnonzero(out_of_range(x.reshape(-1), broken.case.order))
    }  # fmt: skip
    return BLIND if places and broken.due_to(places) else None


EXCUSE = Excuse("overflow", "powers of the input leave the range of a double", _element, _broken)
