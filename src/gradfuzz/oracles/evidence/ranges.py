"""Numbers beside an element that are out of its range: moved into it, they show whether a disagreement was theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.broken import ORDINARY
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.values import keeping

Array = Any

# Squares stay inside the range of a double up to here; formulas of a higher order take higher powers.
LARGEST = 1e300


def out_of_range(x: Array, order: int) -> Array:
    """Elements whose powers, as formulas of an order take them, overflow or vanish."""
    limit = LARGEST ** (1 / (2 * order))
    size = np.abs(x)
    return (size != 0) & ((size > limit) | (size < 1 / limit))


def apart(suspect: Suspect) -> list[Array]:
    """Of each input: its other elements that are out of range by themselves, or beside the element. None beside one that is so itself."""
    order, own = suspect.case.order, float(np.abs(suspect.value))
    found = []
    for index, x in enumerate(suspect.trial.inputs):
        with np.errstate(all="ignore"):
            far = np.array(np.isfinite(x) & (out_of_range(x, order) | out_of_range(x / own, order)), order="C")
        if index == suspect.place[0]:
            far.reshape(-1)[suspect.place[1]] = False
        found.append(far)
    return found if own and not out_of_range(own, order) else [np.zeros_like(far) for far in found]


def theirs(suspect: Suspect, moved: list[Array]) -> bool:
    """Whether AD is right about an element once these others are of its size: then they have made the disagreement.

    A formula that is wrong is wrong there as well. Where the function does not bear such numbers, nothing is known.
    """
    trial, own = suspect.trial, float(np.abs(suspect.value))
    arrays = [np.where(far, np.copysign(ORDINARY * own, np.real(x)), x) for far, x in zip(moved, trial.inputs)]
    arrays = [keeping(a, s) for a, s in zip(arrays, trial.point.structures)]
    try:
        other = Trial(trial.target, trial.program, trial.salt, arrays, trial.effort)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
        return False
    if not other.finite or [o.shape for o in other.direct] != [o.shape for o in trial.direct]:
        return False
    other.v = trial.v
    line = Case(other, suspect.case.order, suspect.case.base, suspect.wrong).line(suspect.line.along)
    return all(map(line.right, suspect.wrong))
