"""Numbers so large or so small that the powers which an order's formulas take of them overflow or vanish: no formula could be right."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

FAR = 100.0


def _out(x: Any, order: int) -> Any:
    limit = 1e300 ** (1 / (2 * order))
    size = np.abs(x)
    return (size != 0) & ((size > limit) | (size < 1 / limit))


def _element(suspect: Suspect) -> Says:
    """What overflows or vanishes is far from what it should be; a derivative that is nearly right has done neither."""
    size, wanted = abs(suspect.number), abs(suspect.line.numeric.value)
    near = wanted / FAR <= size <= FAR * wanted and size != 0.0
    return BLIND if not near and bool(_out(suspect.value, suspect.case.order)) else None


def _broken(broken: Broken) -> Says:
    places = {
        (i, int(j)) for i, x in enumerate(broken.trial.inputs) for j in np.flatnonzero(_out(x.reshape(-1), broken.case.order))
    }  # fmt: skip
    return BLIND if places and broken.due_to(places) else None


EXCUSE = Excuse("overflow", "powers of the input leave the range of a double", _element, _broken)
