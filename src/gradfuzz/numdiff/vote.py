"""A recount: many finite-difference checks, each with its own steps, say by majority whether AD is wrong.

One ladder of steps settles on its best entry; a suspicion is worth asking the others too. Every rerun takes steps of its own, so
that rounding errs anew, and every pair of neighbouring steps is one check.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import FIRST_STEP, RATIO, RUNGS, Line

# First steps of the reruns, in units of the ladder's: no two are a ratio of small numbers, so no two runs share a step.
PHASES = (1.0, 0.843, 0.709, 0.597, 0.5027)
# A check takes a side if it comes this near to it, as a part of the gap between the sides.
NEAR = 1 / 3
# Where AD is not a number there is no gap: a check that comes this near to the numeric derivative speaks for it.
NEAR_NUMERIC = 0.1
# A wrong derivative is wrong at every step. Where even one check in sixteen sides with AD, the function is made of small stairs
# (rounding inside it) and its fine steps measure a tread.
CONSISTENT = 16


@dataclass(frozen=True)
class Vote:
    """How the checks went."""

    reruns: int
    steps: int
    checks: int
    against: int  # contradict AD and agree with the numeric derivative
    for_ad: int
    undecided: int

    @property
    def majority(self) -> bool:
        """Whether the checks contradict AD, consistently."""
        return self.against > CONSISTENT * self.for_ad

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.against} of {self.checks} finite-difference checks contradict it "
            f"({self.reruns} reruns, {self.steps} steps each), {self.for_ad} agree with it"
        )


def recount(line: Line, ad: float, numeric: float, error: float) -> Vote:
    """Ask every pair of neighbouring steps of every rerun."""
    gap = abs(ad - numeric)
    reach = NEAR * gap if math.isfinite(gap) else max(NEAR_NUMERIC * abs(numeric), 8 * error)
    against = for_ad = checks = 0
    with np.errstate(all="ignore"):
        for phase in PHASES:
            previous = math.nan
            for rung in range(RUNGS):
                t = FIRST_STEP * phase * RATIO**-rung
                ahead, behind = line(t), line(-t)
                slope = float((ahead - behind).sum()) / (2 * t) if ahead.shape == behind.shape else math.nan
                if rung:
                    checks += 1
                    # The leading error goes with the square of the step.
                    sharper = slope + (slope - previous) / (RATIO * RATIO - 1)
                    against += abs(sharper - numeric) <= reach
                    for_ad += abs(sharper - ad) <= reach
                previous = slope
    return Vote(len(PHASES), RUNGS, checks, against, for_ad, checks - against - for_ad)
