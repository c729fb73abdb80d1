"""An element that is much smaller or larger than its tensor: stepped by its own size, or by one, it says what AD says.

A kink beside one that is too small to be stepped by its own size may be at zero or anywhere about it: no step tells these apart. The same
of a cusp whose slopes grow towards what AD says, where steps of that size show nothing: they are lost beside the function's value.
"""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.line import SETTLED, settles
from gradfuzz.oracles.evidence.narrowing import Suspect, single
from gradfuzz.oracles.evidence.probes import steepening
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says

# Steps that differ by less see the same.
ANOTHER_SCALE = 1e3
SMALLEST = 1e-290
# And what they see must be sharp enough to have shown such a gap; steps that are too long see a kink.
SHARP = 0.25


def _element(suspect: Suspect) -> Says:
    own = float(np.abs(suspect.value))
    gap = suspect.gap / (max(abs(suspect.number), abs(suspect.line.numeric.value)) or 1.0)
    if suspect.line.numeric.kink and 0.0 < own < min(SMALLEST, suspect.step / ANOTHER_SCALE):
        return BLIND
    for size in {own, 1.0} - {0.0}:
        if suspect.step == 0.0 or size < SMALLEST or 1 / ANOTHER_SCALE < size / suspect.step < ANOTHER_SCALE:
            continue
        closer = suspect.case.line(single(suspect.trial, suspect.place, size), suspect.wrong)
        # An output that longer steps do not move either has no part in it.
        ladder, disputed = closer.ladder_of(suspect.line.moving), suspect.gap * size / suspect.step
        near = all(abs(number - ladder.value) <= SHARP * disputed for number in closer.numbers.values())
        if near and settles(ladder, min(SETTLED, SHARP * gap)) and not ladder.kink and not closer.wrong():
            return SUPPORTS
    cusp = suspect.line.numeric.kink and 0.0 < own < suspect.step / ANOTHER_SCALE and steepening(suspect)
    return BLIND if cusp else None


EXCUSE = Excuse("own scale", "a feature smaller than the steps: the element is much smaller than its tensor", _element, dear=True)
