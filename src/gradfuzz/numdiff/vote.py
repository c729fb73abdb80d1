"""A recount: many finite-difference checks, each with its own steps, say by majority whether AD is wrong.

One ladder of steps settles on its best entry; a suspicion is worth asking the others too. The recount has a range of its own, finer than
the ladder's, and a ratio of its own, so that no step is taken twice; every pair of neighbouring steps is one check.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import ROUNDING_UNITS, Estimate, Line

# First steps of the reruns in units of the ladder's, and their ratio: no two are a ratio of small numbers, so no two runs share a step with
# each other or with the ladder.
FINER = 2.0**-4
RATIO = 3.0
RUNGS = 14
PHASES = (0.967, 0.843, 0.709, 0.597)
# A check takes a side if it comes this near to it, as a part of the gap between the sides.
NEAR = 1 / 3
# Where AD is not a number there is no gap: a check that comes this near to the numeric derivative speaks for it.
NEAR_NUMERIC = 0.1
# A wrong derivative is wrong at every step. Where even one check in sixteen sides with AD, the function is made of small stairs
# (rounding inside it) and its fine steps measure a tread.
CONSISTENT = 16
# Checks that can see nothing but rounding abstain (the ladder's floors are so many times what rounding mostly does). Of the others this
# part must contradict AD for a majority, and this part for the numeric derivative to be told as what AD should have said.
ENOUGH = 1 / 3
UNANIMOUS = 0.9


@dataclass(frozen=True)
class Vote:
    """How the checks went."""

    reruns: int
    steps: int
    checks: int
    against: int  # contradict AD and agree with the numeric derivative
    for_ad: int
    undecided: int
    abstained: int = 0  # saw nothing but rounding

    @property
    def majority(self) -> bool:
        """Whether the checks contradict AD, consistently."""
        told = self.checks - self.abstained
        return self.against > CONSISTENT * self.for_ad and self.against >= ENOUGH * told

    @property
    def unanimous(self) -> bool:
        """Whether nearly all checks that saw anything agree with the numeric derivative."""
        return self.against >= UNANIMOUS * (self.checks - self.abstained)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        abstained = f", {self.abstained} see rounding alone" if self.abstained else ""
        return (
            f"{self.against} of {self.checks} finite-difference checks contradict it "
            f"({self.reruns} reruns, {self.steps} steps each), {self.for_ad} agree with it{abstained}"
        )


def recount(line: Line, ad: float, ladder: Estimate, reruns: int = len(PHASES)) -> Vote:
    """Ask every pair of neighbouring steps of every rerun whether AD is right or the ladder."""
    numeric = ladder.value
    gap = abs(ad - numeric)
    reach = NEAR * gap if math.isfinite(gap) else max(NEAR_NUMERIC * abs(numeric), 8 * ladder.error)
    # What rounding does to one evaluation of the line: the floor of a difference, without its step.
    noise = max((floor * t for t, _, floor in ladder.steps[-1:]), default=0.0)
    against = for_ad = abstained = checks = 0
    with np.errstate(all="ignore"):
        for phase in PHASES[:reruns]:
            previous = math.nan
            for rung in range(RUNGS):
                t = ladder.first_step * FINER * phase * RATIO**-rung
                ahead, behind = line(t), line(-t)
                slope = float((ahead - behind).sum()) / (2 * t) if ahead.shape == behind.shape else math.nan
                # The leading error goes with the square of the step.
                sharper = slope + (slope - previous) / (RATIO * RATIO - 1)
                previous = slope
                if rung:
                    checks += 1
                    if noise / t > ROUNDING_UNITS * reach:
                        abstained += 1
                        continue
                    against += abs(sharper - numeric) <= reach
                    for_ad += abs(sharper - ad) <= reach
    return Vote(len(PHASES[:reruns]), RUNGS, checks, against, for_ad, checks - against - for_ad - abstained, abstained)
