"""Numbers so large that they have no fraction: rounding looks like the identity, and steps of one cannot be seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# From here on a double has three bits of fraction and soon none: rounding and truncation look like the identity.
WHOLE = 2.0**49


def _element(suspect: Suspect) -> Says:
    if suspect.number == 0.0:
        return BLIND if _all_whole([_moving(suspect)]) else None
    return BLIND if suspect.line.numeric.value == 0.0 and _all_whole([np.asarray(suspect.value)]) else None


def _broken(broken: Broken) -> Says:
    moved = [x[d != 0] for x, d in zip(broken.trial.inputs, broken.line.along.arrays)]
    return BLIND if broken.line.numeric.value == 0.0 and any(_all_whole([a]) for a in moved) else None


def _moving(suspect: Suspect) -> Any:
    """The outputs that the element moves, or all of them where they cannot be told apart, but for zeros."""
    outputs = np.concatenate([o.ravel() for o in suspect.trial.direct])
    found = outputs[suspect.line.moving.ravel()] if suspect.line.moving.size == outputs.size else outputs
    return found[found != 0]


def _all_whole(arrays: list[Any]) -> bool:
    return any(a.size for a in arrays) and all(bool((np.abs(a) >= WHOLE).all()) for a in arrays)


EXCUSE = Excuse("whole numbers", "numbers so large that steps of one cannot be seen", _element, _broken)
