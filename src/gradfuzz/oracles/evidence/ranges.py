"""Numbers beside an element that are out of its range, or so large that it is lost beside them: moved nearer, they show whether a
disagreement was theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.broken import ORDINARY
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.values import keeping

Array = Any

# Squares stay inside the range of a double up to here; formulas of a higher order take higher powers.
LARGEST = 1e300
# Beside a number so many times as large, steps of an element's own size are lost. Beside one that is so many times as large they are not,
# and what was decided by a difference of the large ones still is.
LOST, NEAR = 2.0**48, (2.0**6, 2.0**10, 2.0**14)
# What AD says of the element is the same number then, up to this part of it.
SAME = 1e-6


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
    own = float(np.abs(suspect.value))
    line = _moved(suspect, [np.where(far, np.copysign(ORDINARY * own, np.real(x)), x) for far, x in zip(moved, suspect.trial.inputs)])
    return line is not None and all(map(line.right, suspect.wrong))


def lost_beside_others(suspect: Suspect) -> bool:
    """Whether AD says the same of an element, and is right, once all numbers beside which it is lost are smaller by one factor.

    A score of 1e20 swallows what is added to it, so that zeros would do as well: which of the scores is the largest, and which are equal,
    is what it is for smaller ones and zeros. A formula that is wrong is wrong there as well; one that is wrong beside large numbers alone
    says another number there.
    """
    own, inputs = max(float(np.abs(suspect.value)), suspect.step), suspect.trial.inputs
    large = [np.isfinite(x) & (np.abs(x) > LOST * own) for x in inputs]
    if not any(far.any() for far in large) or large[suspect.place[0]].any():
        return False
    none = [np.zeros_like(x) if k == suspect.place[0] else x for k, x in enumerate(inputs)]
    without = _moved(suspect, none)
    if without is None or not all(map(np.array_equal, without.trial.direct, suspect.trial.direct)):
        return False
    largest = max(float(np.abs(x[far]).max()) for x, far in zip(inputs, large) if far.any())
    scaled = ([np.where(far, x * (near * suspect.step / largest), x) for far, x in zip(large, none)] for near in NEAR)
    return any(_says_the_same(suspect, _moved(suspect, arrays)) for arrays in scaled)


def _says_the_same(suspect: Suspect, line: Line | None) -> bool:
    """Whether AD says the same along another line, and is right there."""
    numbers = suspect.line.numbers
    return line is not None and all(line.right(s) and abs(line.numbers[s] - numbers[s]) <= SAME * abs(numbers[s]) for s in suspect.wrong)


def _moved(suspect: Suspect, arrays: list[Array]) -> Line | None:
    """The suspect's line at other numbers; None where the function does not bear them."""
    trial = suspect.trial
    arrays = [keeping(a, s) for a, s in zip(arrays, trial.point.structures)]
    try:
        other = Trial(trial.target, trial.program, trial.salt, arrays, trial.effort)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
        return None
    if [o.shape for o in other.direct] != [o.shape for o in trial.direct]:
        return None
    other.v = trial.v
    if not other.finite:
        return None
    return Case(other, suspect.case.order, suspect.case.base, suspect.wrong).line(suspect.line.along)
