"""Something finer than the ladder's steps, about which AD is right; or too fine to be seen at all."""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import STEPS_FROM_ZERO, TINY_STEPS, at_zero, borne_out, slopes, ulp_slopes
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says
from gradfuzz.oracles.trial import DOUBLE_UNIT


def _element(suspect: Suspect) -> Says:
    line, number, gap = suspect.line, suspect.number, suspect.gap
    steps = TINY_STEPS + _own_steps(suspect) + (STEPS_FROM_ZERO if at_zero(suspect.line) else ())
    if borne_out(slopes(line, sorted(steps, reverse=True)), number, gap):
        return SUPPORTS
    # At the finest step that the inputs can take, AD promises a change far beyond anything that was ever seen.
    seen = max(float(np.abs(line.at(0.0)).sum()), max((abs(slope) * t for t, slope, _ in line.numeric.steps), default=0.0))
    if not abs(number) * 64 * DOUBLE_UNIT > 16 * seen > 0:
        return None
    # Unless the finest steps there are can be taken, and show nothing of it.
    finest = ulp_slopes(suspect)
    return None if finest and all(abs(s.value) < 0.01 * abs(number) for s in finest) else BLIND


def _own_steps(suspect: Suspect) -> tuple[float, ...]:
    """Steps in proportion to an element that is much smaller than its tensor."""
    ratio = float(np.abs(suspect.value)) / suspect.step if suspect.step else 0.0
    return tuple(ratio * t for t in TINY_STEPS) if 0 < ratio < 1e-3 else ()


EXCUSE = Excuse("tiny steps", "a feature smaller than the steps", _element)
