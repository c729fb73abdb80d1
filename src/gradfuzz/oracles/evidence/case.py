"""A suspicion as a whole: one order of one trial, and what is known of it beside single lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.trial import Trial
from gradfuzz.targets.base.protocol import QUICK_STEP, Outcome, Vec
from gradfuzz.targets.base.scenario import Scenario

Array = Any

# Rounding of two evaluations, in units of their size, with a margin: what is less than that was not seen.
QUICK_FLOOR = 8.0
# Slopes to both sides that differ by this part of themselves over so short a step belong to a kink.
BENDS = 1e-3
# And where kinks make up this part of a gap, it may be theirs.
KINKS = 0.1


class Case:
    """The scenarios of one order, and the lines through the inputs on which they are looked at."""

    def __init__(self, trial: Trial, order: int, base: Scenario, scenarios: Sequence[Scenario]) -> None:
        self.trial, self.order, self.base, self.scenarios = trial, order, base, list(scenarios)

    def line(self, along: Vec, scenarios: Sequence[Scenario] | None = None) -> Line:
        return Line(self.trial, self.base, along, self.scenarios if scenarios is None else scenarios, self._at_zero)

    @cached_property
    def _at_zero(self) -> Array:
        return self.trial.components(self.trial.outcome(self.base))

    @cached_property
    def first(self) -> Line:
        """Along the trial's own direction."""
        return self.line(self.trial.direction(self.order - 1))

    @cached_property
    def relative(self) -> Line:
        """Each element in proportion to itself, so that no sign changes and no zero moves."""
        return self.line(self.trial.relative_direction())

    @cached_property
    def ordinary(self) -> Line | None:
        """Only elements that are not special: kinks, ties and edges are met at zeros, whole numbers and equal numbers. None if all are."""
        direction = self.trial.direction(self.order - 1)
        arrays = [np.where(special(x), 0, d) for x, d in zip(self.trial.inputs, direction.arrays)]
        if any(s for s in self.trial.point.structures) or not any(a.any() for a in arrays):
            return None
        return self.line(Vec([np.asarray(a) for a in arrays]))

    def quick_gap(self, along: Vec, scenarios: Sequence[Scenario]) -> float:
        """By which part of itself a derivative differs from one central difference; 0 where that tells nothing (rounding, a kink)."""
        trial, us = self.trial, self.trial.directions(self.base.order)
        outcomes = [trial.attempt(s, [*us, along]) for s in scenarios]
        numbers = [trial.number(o) for o in outcomes if isinstance(o, Outcome)]
        ends = [trial.components(trial.attempt(self.base, us, along, t)) for t in (QUICK_STEP, -QUICK_STEP)]
        here = self._at_zero
        if not numbers or ends[0].shape != here.shape or ends[1].shape != here.shape:
            return 0.0
        with np.errstate(all="ignore"):
            right, left = (ends[0] - here) / QUICK_STEP, (here - ends[1]) / QUICK_STEP
            rounding = QUICK_FLOOR * trial.epsilon * (np.abs(ends[0]) + np.abs(ends[1])) / QUICK_STEP
            bends = np.abs(right - left)
            steep = np.maximum(np.abs(right), np.abs(left))
            kinks = float(bends[bends > BENDS * (steep + np.sqrt(np.mean(steep**2))) + rounding].sum())
            slope, floor = float((right + left).sum()) / 2, float(rounding.sum())
        gap = max((abs(n - slope) for n in numbers if np.isfinite(n)), default=0.0)
        size = max(abs(slope), *(abs(n) for n in numbers))
        if not np.isfinite(size):
            return 1.0 if np.isfinite(slope) else 0.0
        if not gap > floor or kinks > KINKS * gap:
            return 0.0
        return gap / size

    @property
    def moves_all(self) -> bool:
        """Whether a direction in proportion to the inputs moves them all."""
        return all(bool((x != 0).all()) for x in self.trial.inputs)

    @cached_property
    def repeats(self) -> bool:
        """Whether a second run gives the same, bit for bit."""
        again, first = self.trial.attempt(self.base, self.trial.directions(self.base.order)), self.trial.outcome(self.base)
        return not (isinstance(again, Outcome) and isinstance(first, Outcome)) or _equal(
            again.outputs or again.result, first.outputs or first.result
        )


def special(x: Array) -> Array:
    """Elements that are whole, or as large as another of their tensor, or not finite."""
    with np.errstate(all="ignore"):
        size = np.abs(x)
        _, inverse, counts = np.unique(size, return_inverse=True, return_counts=True)
        return (counts[inverse].reshape(x.shape) > 1) | (2 * size == np.round(2 * size)) | ~np.isfinite(x)


def _equal(ours: list[Array], theirs: list[Array]) -> bool:
    return all(a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(ours, theirs))
