"""One direction through the inputs: what every scenario says about it, and what differences say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import FIRST_STEP, RATIO, SIDES_KNOWN, Estimate, estimate
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import Scenario

Array = Any

# A difference counts if it exceeds both error bars by these factors: bars are one-sigma-like, and the ladder picks its best
# entry out of many, which flatters it.
NUMERIC_BARS = 8.0
AD_JITTER = 64.0
AD_UNITS = 256.0
# Both bars together may be this part of the derivative for an agreement to mean anything: a formula that is wrong by a millionth
# is then either seen or not acquitted.
CONCLUSIVE = 5e-7
# What AD and differences are apart and both bars: so much is the most that a number which agrees may be off by. In a coarser type no bar is
# as narrow; there it is a thousandth, which an error of a formula exceeds and its rounding does not.
AGREES, AGREES_IN_SINGLE = 2 * CONCLUSIVE, 1e-3
# AD moves by rounding of its inputs like its neighbours do. A number from which all neighbours differ by far more than from each
# other was not moved by rounding: it is a special case, right or wrong.
NEIGHBOURS = (1.0, -1.0, 3.0, -3.0, 5.0, -5.0)
ISOLATED = 64.0
# A ladder settles if its bar is this part of its value. Where it does not, another range of steps may.
SETTLED = 1e-3
# Functions have their features at the scale of one. Steps of the size of small inputs see rounding alone there, and beside large ones
# the features are finer than any step of the ladder: then one begins where it ends.
SMALL, LARGE = 0.1, 1e3
# Between the inputs' own size and one, steps are asked from where rounding is this part of the slope, so many at most. Two that are this
# many roundings away from what longer ones say contradict it.
SETTLED_BETWEEN, MOST_BETWEEN = 0.1, 12
CLEARLY = 4.0
FINE_STEP = 2.0**-26
# A direction is told entry by entry where it has so few; a script of one with more follows the trial's own, and may show nothing.
MOST_ENTRIES = 256


class Line:
    """The problem restricted to one direction. Inner directions stay those of the trial."""

    def __init__(self, trial: Trial, base: Scenario, along: Vec, scenarios: Sequence[Scenario], at_zero: Array | None = None) -> None:
        self.trial, self.base, self.along, self.scenarios = trial, base, along, list(scenarios)
        self._us = trial.directions(base.order)
        self._own = along is trial.direction(base.order)  # what scenarios say along this one is known already
        self._bars: dict[Scenario, float] = {}
        self._seen: dict[float, Array] = {}
        if at_zero is not None:
            self._seen[0.0] = at_zero

    def at(self, t: float) -> Array:
        """The weighted components of what is differenced, at inputs + t·along."""
        found = self._seen.get(t)
        if found is None:
            outcome = self.trial.attempt(self.base, self._us, None if t == 0.0 else self.along, t)
            found = self._seen[t] = self.trial.components(outcome)
        return found

    def entries(self) -> list[tuple[str, int, float, float]] | None:
        """(input, element, real and imaginary part) of the direction where it is not the trial's own; None where it is, or is long."""
        if self.along is self.trial.direction(self.base.order):
            return None
        moved = [(i, int(j)) for i, a in enumerate(self.along.arrays) for j in np.flatnonzero(a)]
        found = [(self.trial.point.names[i], j, complex(self.along.arrays[i].reshape(-1)[j])) for i, j in moved[: MOST_ENTRIES + 1]]
        return [(name, j, z.real, z.imag) for name, j, z in found] if len(found) <= MOST_ENTRIES else None

    @property
    def epsilon(self) -> float:
        """The rounding unit of what is differenced: a derivative loses a few more digits than a function."""
        return max(self.trial.epsilon, DOUBLE_UNIT * (8 if self.base.modes else 1))

    # What AD says ------------------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> dict[Scenario, float]:
        """What each scenario says; NaN where it refuses."""
        return {scenario: self._ad(scenario) for scenario in self.scenarios}

    def _ad(self, scenario: Scenario, along: Vec | None = None, shift: float = 0.0) -> float:
        if along is None and self._own:
            outcome = self.trial.outcome(scenario)
        else:
            outcome = self.trial.attempt(scenario, [*self._us, self.along], along, shift)
        return float("nan") if isinstance(outcome, Refusal) else self.trial.number(outcome)

    def ad_bar(self, scenario: Scenario) -> float:
        """How far rounding may move a scenario's number."""
        found = self._bars.get(scenario)
        if found is None:
            found = self._bars[scenario] = AD_JITTER * self._jitter(scenario, self.numbers[scenario]) + self._units
        return found

    @property
    def bars(self) -> dict[Scenario, float]:
        """What was found out so far of how far rounding may move numbers: nothing is run for it."""
        return dict(self._bars)

    @cached_property
    def _units(self) -> float:
        """The part of that bar which is known without another run: a few units of the largest number at work."""
        finite = [abs(n) for n in self.numbers.values() if np.isfinite(n)]
        return AD_UNITS * self.trial.epsilon * max([self.numeric.magnitude if self.numeric.usable else 0.0, *finite])

    def _jitter(self, scenario: Scenario, number: float) -> float:
        """How far a scenario's number moves when the inputs move by a few units."""
        moved = [self._neighbour(scenario, units) for units in (-2.0, 2.0)]
        moved = [m for m in moved if np.isfinite(m)]
        shift = max((abs(m - number) for m in moved), default=0.0)
        if len(moved) == 2 and np.isfinite(shift) and shift > ISOLATED * abs(moved[0] - moved[1]) + 1e-9 * abs(number):
            moved += [m for m in (self._neighbour(scenario, units) for units in NEIGHBOURS) if np.isfinite(m)]
            spread = max(moved) - min(moved)
            return spread if len(moved) == 2 + len(NEIGHBOURS) and min(abs(m - number) for m in moved) > ISOLATED * spread else shift
        return shift

    def _neighbour(self, scenario: Scenario, units: float) -> float:
        return self._ad(scenario, self._rounding, units * self.trial.epsilon)

    @cached_property
    def _rounding(self) -> Vec:
        """Each element by its own size, where the direction moves it and as it moves it."""
        return Vec([np.asarray(np.abs(x) * np.sign(d)) for x, d in zip(self.trial.inputs, self.along.arrays)])

    # What differences say ----------------------------------------------------------------------------------------------

    @cached_property
    def ladder(self) -> Estimate:
        """Steps in units of the inputs' own size."""
        return estimate(self.at, self.at(0.0), self.epsilon)

    @cached_property
    def wide(self) -> Estimate | None:
        """Steps in units of one, for inputs that are smaller; None where they are not, and where the ladder contradicts it."""
        if not 0.0 < self._size < SMALL or not np.isfinite(1 / self._size):
            return None
        found, ladder = estimate(self.at, self.at(0.0), self.epsilon, FIRST_STEP / self._size), self.ladder
        contradicted = ladder.usable and abs(found.value - ladder.value) > NUMERIC_BARS * (found.error + ladder.error)
        # Long steps around a pole or a corner cancel each other: the value at the point itself must be in line with them.
        return found if settles(found) and not found.kink and not contradicted and not self._otherwise_between(found) else None

    def _otherwise_between(self, wide: Estimate) -> bool:
        """Whether steps between the ladder's and these see another slope: a feature that is smaller than these and larger than the inputs,
        as eigenvalues that are closer to each other than to anything else."""
        # The rounding of the function as it is at the inputs' own scale: at the other, such a feature would count as noise.
        noise = max(floor * t for t, _, floor in self.ladder.steps or wide.steps)
        least = SETTLED_BETWEEN * abs(wide.value)
        if not least:
            return False
        step, found = max(FIRST_STEP, CLEARLY * noise / least), 0
        for _ in range(MOST_BETWEEN):
            if not step < min(t for t, *_ in wide.steps):
                break
            ahead, behind = self.at(step), self.at(-step)
            if ahead.shape == behind.shape:
                found += abs(float((ahead - behind).sum()) / (2 * step) - wide.value) > CLEARLY * noise / step
            step *= RATIO
        return found >= 2

    def ladder_of(self, components: Array) -> Estimate:
        """The same of these components alone: of the others only the rounding would be seen."""
        here = self.at(0.0)
        if components.shape != here.shape or components.all():
            return self.ladder
        return estimate(lambda t: _part(self.at(t), components), here[components], self.epsilon)

    @cached_property
    def fine(self) -> Estimate | None:
        """Steps from where the ladder ends down to a few units in the last place, for inputs that are large; None where they are not."""
        if self._size <= LARGE:
            return None
        found = estimate(self.at, self.at(0.0), self.epsilon, FINE_STEP, rounded_steps=True)
        return found if settles(found) and not found.growing else None

    @cached_property
    def _size(self) -> float:
        return max((float(np.abs(a).max()) for a in self.along.arrays if a.size), default=0.0)

    @cached_property
    def numeric(self) -> Estimate:
        """The ladder that saw most: the ordinary one, unless it is blurred and another is not."""
        ladder = self.ladder
        if settles(ladder, CONCLUSIVE / 2):
            return ladder
        if self.wide is not None and (not ladder.usable or self.wide.error < ladder.error):
            return self.wide
        return self.fine if self.fine is not None and not settles(ladder) else ladder

    @cached_property
    def moving(self) -> Array:
        """Which components move along the line at all: the rounding of the others is nobody's concern."""
        if "numeric" in self.__dict__:
            moved = [slopes != 0 for slopes, _ in self.numeric.rungs[:2]]
        else:  # the ladder's first two rungs, without the rest of it
            moved = [self.at(t) != self.at(-t) for t in (FIRST_STEP, FIRST_STEP / RATIO) if self.at(t).shape == self.at(-t).shape]
            moved = [m for m in moved if m.shape == self.at(0.0).shape]
        found = np.logical_or.reduce(moved) if moved else np.zeros(self.at(0.0).shape, bool)
        return found if found.any() else np.ones(self.at(0.0).shape, bool)

    @cached_property
    def still(self) -> Vec | None:
        """The weights of those numbers that the finer half of the ladder does not move, a complex one's two parts apart; None where it
        moves all of them or none. A long step may move what is rounded to a coarse grid.

        What has been contracted already has no parts to tell apart.
        """
        steps = [t for t, *_ in self.numeric.steps[len(self.numeric.steps) // 2 :]]
        found = [self.trial.attempt(self.base, self._us, self.along, sign * t) for t in steps for sign in (1, -1)]
        here = self.trial.outcome(self.base)
        outcomes = [o for o in (here, *found) if isinstance(o, Outcome) and not o.contracted]
        weights, results = self.trial.v.arrays, [o.result for o in outcomes]
        if len(outcomes) <= len(found) or any([r.shape for r in result] != [w.shape for w in weights] for result in results):
            return None
        real, imaginary = ([[np.asarray(part(r)) for r in result] for result in results] for part in (np.real, np.imag))
        masks = [[np.all([a == b for a, b in zip(column, column[1:])], axis=0) for column in zip(*part)] for part in (real, imaginary)]
        still = [
            np.where(a, w.real, 0) + 1j * np.where(b, w.imag, 0) if np.iscomplexobj(w) else np.where(a, w, 0)
            for w, a, b in zip(weights, *masks)
        ]  # fmt: skip
        whole = all(np.array_equal(s, w) for s, w in zip(still, weights))
        return Vec([np.asarray(s) for s in still]) if any(s.any() for s in still) and not whole else None

    @cached_property
    def _sided(self) -> tuple[Array, Array] | None:
        """Of each component: whether its slopes to both sides are known, and whether they are the same. None at an edge of the domain."""
        left, right = self.ladder.left, self.ladder.right
        if left is None or right is None:
            return None
        sizes, bars = np.maximum(np.abs(left.value), np.abs(right.value)), left.error + right.error
        known = ((bars <= SIDES_KNOWN * sizes) | (sizes == 0)) & left.settled & right.settled
        return known, np.abs(left.value - right.value) <= 4 * bars + CONCLUSIVE * sizes

    @property
    def bends(self) -> bool:
        """Whether the function has a slope to either side, in every component, and not the same in all."""
        return self._sided is not None and bool(self._sided[0].all()) and not bool(self._sided[1].all())

    @property
    def cusp(self) -> bool:
        """Whether some component falls to one side and rises to the other, by slopes that grow or that no step has settled: those of the
        two sides cancel each other."""
        left, right = self.ladder.left, self.ladder.right
        if self._sided is None or left is None or right is None:
            return False
        sure = (np.abs(left.value) > left.error) & (np.abs(right.value) > right.error)
        steep = (sure & ~self._sided[0]) | (left.diverging & right.diverging)
        return bool(np.any(steep & (left.value * right.value < 0)))

    @cached_property
    def smooth(self) -> Vec | None:
        """The weights of those outputs that move and whose slopes to both sides are known and the same: their derivative exists. None where
        none's does. An output that does not move says nothing: its weight may meet a derivative of another one that does not exist.

        Of a derivative, which is what is differenced from order two on, there are no outputs to tell apart.
        """
        if self._sided is None or self.ladder.left is None:
            return None
        return self.weights(self._sided[0] & self._sided[1] & (self.ladder.left.value != 0))

    def weights(self, components: Array) -> Vec | None:
        """The weights of these components alone; None where they have none, and where there are no outputs to tell apart."""
        weights = self.trial.v.arrays
        if self.base.modes or components.size != sum(w.size for w in weights):
            return None
        parts = np.split(components, np.cumsum([w.size for w in weights])[:-1])
        found = [np.where(part.reshape(w.shape), w, 0) for part, w in zip(parts, weights)]
        return Vec([np.asarray(f) for f in found]) if any(f.any() for f in found) else None

    def gap_of(self, scenario: Scenario, components: Array) -> float:
        """By how much a scenario is off in these components alone; 0 where they cannot be told apart."""
        numeric, v = self.numeric, self.weights(components)
        if v is None or not numeric.steps:
            return 0.0
        best = min(range(len(numeric.steps)), key=lambda k: abs(numeric.steps[k][1] - numeric.value))
        gap = abs(self.number_of(scenario, v) - float(numeric.rungs[best][0][components].sum()))
        return gap if np.isfinite(gap) else 0.0

    def number_of(self, scenario: Scenario, v: Vec) -> float:
        """What a scenario says of outputs that are weighed in another way; NaN where it refuses."""
        outcome = self.trial.attempt(scenario, [*self._us, self.along], v=v)
        return float("nan") if isinstance(outcome, Refusal) else self.trial.number(outcome, v)

    @property
    def typical(self) -> float:
        """The size of a contracted derivative whose entries are of order one."""
        size = max((float(np.abs(w).max()) for w in self.trial.v.arrays if w.size), default=1.0)
        for direction in (*self._us, self.along):
            size *= max((float(np.abs(a).max()) for a in direction.arrays if a.size), default=1.0)
        return size

    @property
    def terms(self) -> float:
        """How large that is which may have cancelled in what is differenced, beyond what is left of it: a derivative is a sum of terms of
        order one, and is rounded as they are."""
        return self.typical if self.base.modes else 0.0

    # What that makes of AD ---------------------------------------------------------------------------------------------

    def bar(self, scenario: Scenario) -> float:
        """Both error bars together."""
        return NUMERIC_BARS * self.numeric.error + self.ad_bar(scenario)

    def wrong(self) -> list[Scenario]:
        """Scenarios that differ from the numeric derivative by more than both error bars."""
        numeric = self.numeric
        if not numeric.usable:
            return []
        least, found = NUMERIC_BARS * numeric.error + self._units, []
        for scenario, number in self.numbers.items():
            gap = abs(number - numeric.value)
            # What takes further runs to know comes last.
            if not np.isfinite(number) or (gap > least and numeric.matches(number, gap) < 2 and gap > self.bar(scenario)):
                found.append(scenario)
        return found

    def right(self, scenario: Scenario) -> bool:
        """Whether a scenario agrees with the numeric derivative, and both bars are narrow enough for that to mean something."""
        number, numeric = self.numbers[scenario], self.numeric
        if not np.isfinite(number) or not numeric.usable or numeric.one_sided or numeric.growing:
            return False
        if number == 0.0 and self.flat:
            return True
        part = AGREES if self.trial.epsilon <= DOUBLE_UNIT else AGREES_IN_SINGLE
        gap, narrow = abs(number - numeric.value), part * max(abs(number), abs(numeric.value))
        if gap + NUMERIC_BARS * numeric.error + self._units > narrow:
            return False  # whatever else the bar holds
        return bool(gap <= self.bar(scenario) <= narrow - gap)

    @cached_property
    def flat(self) -> bool:
        """Whether the function, as it is computed, has no slope that could be told from none: a stationary point, or a constant."""
        numeric = self.numeric
        moves = max(float(np.abs(self.at(0.0)).sum()), self.typical)
        return bool(abs(numeric.value) <= NUMERIC_BARS * numeric.error and numeric.error <= CONCLUSIVE * moves) and not numeric.kink

    def outside(self, scenario: Scenario) -> bool:
        """Whether a scenario's number lies outside the one-sided slopes."""
        low, high = self.numeric.interval()
        bar = self.ad_bar(scenario)
        return not low - bar <= self.numbers[scenario] <= high + bar


def _part(values: Array, components: Array) -> Array:
    """Some of the components; all of another shape, which says that there is none."""
    return values[components] if values.shape == components.shape else values


def settles(numeric: Estimate, part: float = SETTLED) -> bool:
    """Whether an estimate says anything: on both sides, and to such a part of itself."""
    return numeric.usable and not numeric.one_sided and NUMERIC_BARS * numeric.error <= part * abs(numeric.value)
