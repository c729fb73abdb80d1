"""Numbers so large that they have no fraction: rounding looks like the identity, and steps of one cannot be seen.

Output by output: of a quotient and its remainder one looks like the identity, and of the other nothing is left.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import FRAYED, OWN_STEPS, ULPS
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.protocol import Vec
from gradfuzz.targets.base.scenario import Scenario

# From here on a double has three bits of fraction and soon none: rounding and truncation look like the identity.
WHOLE = 2.0**49
# Outputs are asked about one by one, so many at most. One is off by more than this part of itself, and of what is disputed.
MOST = 64
OFF = 1e-3


def _element(suspect: Suspect) -> Says:
    if suspect.number == 0.0:
        return BLIND if _all_whole([_moving(suspect)]) else None
    if suspect.line.numeric.value == 0.0:
        return BLIND if _all_whole([np.asarray(suspect.value)]) else None
    return BLIND if all(_of_whole_outputs(suspect, scenario) for scenario in suspect.wrong) else None


def _of_whole_outputs(suspect: Suspect, scenario: Scenario) -> bool:
    """Whether all outputs that a scenario is wrong about are whole numbers to which it gives no slope, or stairs as fine as the element's
    last places: over a good part of it they move by less than is said of one unit, and by about as much as over a few.

    Where the element itself is whole, they may rest: it is a multiple of every small whole number.
    """
    line, outputs, value = suspect.line, np.concatenate([np.abs(o).ravel() for o in suspect.trial.direct]), suspect.value
    here = line.at(0.0)
    if line.base.modes or np.iscomplexobj(value) or not suspect.step or not 0 < here.size == outputs.size <= MOST:
        return False
    if not (outputs >= WHOLE).any():
        return False
    unit, whole = float(np.spacing(np.abs(np.float64(value)))) / suspect.step, _all_whole([np.asarray(value)])
    longer = [sign * part * float(np.abs(value)) / suspect.step for part in OWN_STEPS for sign in (1, -1)]
    ends, close = ([line.at(t) for t in steps] for steps in (longer, [sign * n * unit for n in ULPS for sign in (1, -1)]))
    if any(end.shape != here.shape for end in (*ends, *close)):
        return False
    with np.errstate(all="ignore"):
        slopes = (ends[0] - ends[1]) / (longer[0] - longer[1])
        far, near = np.max([np.abs(end - here) for end in ends], axis=0), np.median([np.abs(end - here) for end in close], axis=0)
    numbers = np.array([line.number_of(scenario, cast(Vec, line.weights(np.arange(here.size) == k))) for k in range(here.size)])
    gaps = np.abs(numbers - slopes)
    # A remainder of a quotient rises by chance over any step: by nothing, beside what is disputed.
    wrong = ~(gaps <= OFF * np.maximum(np.maximum(np.abs(numbers), np.abs(slopes)), suspect.gap / here.size))
    excused = ((numbers == 0) & (outputs >= WHOLE)) | ((np.abs(numbers) * unit > far) & (whole | (near > FRAYED * far)))
    return bool(wrong.any() and excused[wrong].all())


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
