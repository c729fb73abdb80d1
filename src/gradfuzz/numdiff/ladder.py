"""The numerical derivative with an error bar.

A line through the inputs gives a function of one number t. Its components are the outputs, weighted so that their sum is the
quantity of interest. Central differences over a ladder of steps are extrapolated to step zero (Ridders' scheme); the
error bar is what the extrapolation still moves by plus what rounding can do at that step. One-sided differences tell
a kink from a smooth point, and an edge of the domain from its inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable

import numpy as np

Array = Any
Line = Callable[[float], Array]

DOUBLE_UNIT = 2.0**-52

# The ladder: t = 1 means a step as large as the inputs themselves. Ratio 4 lets truncation fall 16-fold a rung,
# so that four or five rungs suffice for smooth functions; the last rungs are there for functions with tiny scales.
FIRST_STEP = 2.0**-4
RATIO = 4.0
RUNGS = 11
# Seven points this close together differ by rounding alone once their smooth part is differenced away. Two spacings, because
# results on a coarse grid can happen to be evenly spaced at one.
NOISE_STEPS = (2.0**-24, 1.618 * 2.0**-23)
NOISE_POINTS = 7
# Rounding of a kernel that has lost nine digits. What moves by more between points so close is not rounding.
TOO_NOISY = 1e-6
# A finer step contradicts the estimate if it lies this many error bars away.
CONTRADICTION = 16.0
# Error of one evaluation in units of the last place. Library kernels are good to a few; reductions to a few more.
ROUNDING_UNITS = 4.0
# And however small it is, no result but zero is known better than this.
SMALLEST = 2.0**-1074
# A step of so many units of the inputs is itself rounded by this many: it counts for ladders that go down to such steps.
STEP_UNITS = 2.0
# Slopes that grow by a steady factor over this many of the finest rungs have no limit. A root makes them double from rung to rung; one
# that is steeper grows faster; below the smallest factor a logarithm could not be told from a slope that settles slowly.
GROWING_RUNGS = 5
GROWTH = 1.5
# So have slopes that change by the same amount from rung to rung, as those of x·log(x) do: those of a power that settles change by less and
# less, and be it by a twentieth.
DRIFT = 0.05
# One-sided slopes are known to this part of themselves: they are extrapolated once.
SIDES_KNOWN = 1e-2
STEADY = 0.25


@dataclass
class Side:
    """A one-sided derivative, component by component. `settled`: finer steps do not contradict it; `diverging`: there is no limit."""

    value: Array
    error: Array
    settled: Array
    diverging: Array

    @property
    def known(self) -> bool:
        """Whether every component has a slope to this side, and it is known."""
        sure = (self.error <= SIDES_KNOWN * np.abs(self.value)) | (self.value == 0)
        return bool((sure & self.settled & ~self.diverging & np.isfinite(self.value)).all())


@dataclass
class Estimate:
    """What the ladder says about the derivative at t = 0. What follows from that is worked out once."""

    first_step: float = FIRST_STEP
    value: float = float("nan")
    error: float = float("inf")
    magnitude: float = 0.0
    steps: list[tuple[float, float, float]] = field(default_factory=list)  # (t, central difference, rounding floor)
    left: Side | None = None
    right: Side | None = None
    rungs: list[tuple[Array, Array]] = field(default_factory=list)  # central differences by component, and what rounding can do

    @cached_property
    def usable(self) -> bool:
        return bool(np.isfinite(self.value) and np.isfinite(self.error))

    @property
    def one_sided(self) -> bool:
        """The function lives on one side only: an edge of its domain."""
        return (self.left is None) != (self.right is None)

    @property
    def inside(self) -> Side | None:
        """The slope to the side on which the function lives, at an edge of its domain."""
        return (self.left or self.right) if self.one_sided else None

    @cached_property
    def kink(self) -> bool:
        """The one-sided derivatives differ by more than their error bars."""
        if self.left is None or self.right is None:
            return False
        gap = np.abs(self.right.value - self.left.value)
        bars = self.right.error + self.left.error
        return bool(np.any(gap > 4 * bars + 1e-6 * (np.abs(self.right.value) + np.abs(self.left.value))))

    def interval(self) -> tuple[float, float]:
        """All the sums that a choice of one-sided slopes per component can make, error bars included."""
        if self.left is None or self.right is None:
            return float("-inf"), float("inf")
        low = np.minimum(self.left.value - self.left.error, self.right.value - self.right.error)
        high = np.maximum(self.left.value + self.left.error, self.right.value + self.right.error)
        return float(low.sum()), float(high.sum())

    @property
    def growing(self) -> bool:
        """Some component has no limit."""
        return bool(np.any(self.diverging))

    @cached_property
    def diverging(self) -> Array:
        """Components whose slopes keep growing, by a steady factor or amount, towards the finest steps: there is no limit."""
        return _diverging(*(np.stack(rows) for rows in zip(*self.rungs))) if self.rungs else np.zeros((), bool)

    def matches(self, number: float, gap: float) -> int:
        """How many rungs are closer to the number than a tenth of the gap."""
        return sum(1 for _, slope, _ in self.steps if abs(slope - number) <= 0.1 * gap)


def central(line: Line, step: float) -> float:
    """The two-point central difference: the ladder's cheapest rung."""
    return float((line(step) - line(-step)).sum() / (2 * step))


def noise_level(line: Line, at_zero: Array, stretch: float = 1.0) -> Array:
    """The rounding error of one evaluation, component by component, read off third and fourth differences.

    A kernel may lose more digits than its result shows: 1 + erf(x) far left is good to 1e-16, not to a unit of itself.
    """
    return np.maximum(*(_noise_at(line, at_zero, stretch * step) for step in NOISE_STEPS))


def _noise_at(line: Line, at_zero: Array, step: float) -> Array:
    half = NOISE_POINTS // 2
    table = np.stack([at_zero if k == 0 else line(k * step) for k in range(-half, half + 1)])
    if table.shape[1:] != at_zero.shape or not np.isfinite(table).all():
        return np.zeros(at_zero.shape)
    third, fourth = np.diff(table, 3, axis=0), np.diff(table, 4, axis=0)
    # A k-th difference of independent errors has (2k)!/(k!)² times their variance: 20 and 70.
    return np.maximum(np.sqrt((third**2).mean(axis=0) / 20), np.sqrt((fourth**2).mean(axis=0) / 70))


def estimate(line: Line, at_zero: Array, epsilon: float, first_step: float = FIRST_STEP, rounded_steps: bool = False) -> Estimate:
    """The derivative of the summed components at 0, from about 2·RUNGS evaluations of the line.

    `rounded_steps`: the ladder goes down to so few units of the inputs that the steps themselves are rounded; that joins the error
    bar, in place of the noise, which cannot be measured between points so close.
    """
    found = Estimate(first_step)
    with np.errstate(all="ignore"):
        try:
            measured = np.zeros(at_zero.shape) if rounded_steps else noise_level(line, at_zero, first_step / FIRST_STEP)
        except ValueError:  # the line changes its number of components
            return found
    with np.errstate(all="ignore"):
        steps = first_step * RATIO ** -np.arange(RUNGS)
        ahead, behind = [line(float(t)) for t in steps], [line(-float(t)) for t in steps]
        right, left = (
            np.array([side.shape == at_zero.shape and bool(np.isfinite(side).all()) for side in ends]) for ends in (ahead, behind)
        )
        plus, minus = _rows(ahead, right, at_zero), _rows(behind, left, at_zero)
        both, size = right & left, np.abs(at_zero)
        taken, noise = _column(steps, at_zero), _column(ROUNDING_UNITS * epsilon / steps, at_zero)
        blur = ROUNDING_UNITS * measured / taken
        sized_plus, sized_minus = np.abs(plus), np.abs(minus)
        least = ROUNDING_UNITS * SMALLEST / taken

        def rounded(sizes: Array) -> Array:
            """What rounding does to a slope between numbers that are together so large."""
            return np.where(sizes > 0, noise * sizes + least, 0.0)

        slopes = (plus - minus)[both] / (2 * taken[both])
        rounding = rounded((sized_plus + sized_minus) / 2)[both]
        floor = rounding + blur[both]
        if rounded_steps:
            floor = floor + STEP_UNITS * DOUBLE_UNIT / taken[both] * np.abs(slopes)
        centrals, floors = (rows.sum(axis=tuple(range(1, rows.ndim))).tolist() for rows in (slopes, floor))
        found.rungs = list(zip(slopes, rounding))
        found.steps = list(zip(steps[both].tolist(), centrals, floors))
        found.value, found.error, settled = _ridders(centrals, floors)
        # Where the table settled: further down slopes are noise, and noise is no size to measure an error by.
        found.magnitude = float(np.abs(found.rungs[settled][0]).sum()) if found.rungs else 0.0
        if not np.isfinite(at_zero).all():
            right = left = np.zeros(RUNGS, bool)
        rights, lefts = (plus - at_zero)[right] / taken[right], (at_zero - minus)[left] / taken[left]
        # An even function has no central slope: at a kink like that of a norm at zero only its sides show how fast it moves.
        sides = max((float(np.abs(side[0]).sum()) for side in (rights, lefts) if len(side)), default=0.0)
        if float(measured.sum()) > TOO_NOISY * max(float(size.sum()), found.magnitude, sides):
            found.error = float("inf")  # not rounding: the function has a life of its own at that scale
        found.right = _one_sided(rights, (rounded(sized_plus + size) + blur)[right])
        found.left = _one_sided(lefts, (rounded(sized_minus + size) + blur)[left])
    return found


def _column(numbers: Array, like: Array) -> Array:
    """One number a rung, to go with components of that shape."""
    return numbers.reshape(-1, *[1] * like.ndim)


def _rows(ends: list[Array], there: Array, like: Array) -> Array:
    """One row a rung; NaN where the function left its domain or changed its shape."""
    missing = np.full(like.shape, np.nan)
    return np.stack([end if ok else missing for end, ok in zip(ends, there)])


def _ridders(slopes: list[float], floors: list[float]) -> tuple[float, float, int]:
    """The entry of the extrapolation table that moves least, by how much it moves, and its row.

    Finer steps than those it was made from must not contradict it: a function with a feature of its own at a finer scale has
    a slope there that coarse steps know nothing of.
    """
    best, best_error, row_of_best = float("nan"), float("inf"), 0
    previous: list[float] = []
    for i, slope in enumerate(slopes):
        row = [slope]
        power = 1.0
        for j in range(1, len(previous) + 1):
            power *= RATIO * RATIO
            row.append((row[j - 1] * power - previous[j - 1]) / (power - 1))
            moved = max(abs(row[j] - row[j - 1]), abs(row[j] - previous[j - 1]))
            if moved + floors[i] < best_error:
                best, best_error, row_of_best = row[j], moved + floors[i], i
        previous = row
    # A finer step truncates less, so it may not be further off than the step before, beyond rounding.
    coarse = abs(slopes[row_of_best] - best) if slopes else 0.0
    finer = zip(slopes[row_of_best + 1 :], floors[row_of_best + 1 :])
    contradicted = sum(1 for slope, floor in finer if abs(slope - best) > coarse + CONTRADICTION * (best_error + floor))
    return best, best_error if contradicted < 2 else float("inf"), row_of_best


def _one_sided(slopes: Array, floors: Array) -> Side | None:
    """One extrapolation step on one-sided differences, settled, component by component, where neighbouring rungs agree best."""
    if len(slopes) < 3:
        return None
    sharper = (RATIO * slopes[1:] - slopes[:-1]) / (RATIO - 1)
    errors = np.abs(sharper[1:] - sharper[:-1]) + 2 * floors[2:]
    ranked = errors.copy()
    ranked[1:][np.isnan(ranked[1:])] = np.inf  # what overflowed is no better than what came before
    best = ranked.argmin(axis=0)[None]
    value, error = (np.take_along_axis(rows, best, 0)[0] for rows in (sharper[1:], errors))
    # As in the table of central ones: at a cusp two coarse slopes may happen to agree, and finer ones are steeper and steeper.
    coarse = np.abs(np.take_along_axis(slopes[2:], best, 0)[0] - value)
    finer = np.arange(len(errors)).reshape(-1, *[1] * value.ndim) > best
    contradicted = finer & (np.abs(slopes[2:] - value) > coarse + CONTRADICTION * (error + floors[2:]))
    return Side(value, error, contradicted.sum(axis=0) < 2, _diverging(slopes, floors))


def _diverging(slopes: Array, floors: Array) -> Array:
    """Of each component: whether its slopes keep growing by a steady factor, or changing by a steady amount, over the finest rungs."""
    if len(slopes) < GROWING_RUNGS:
        return np.zeros(slopes.shape[1:], bool)
    with np.errstate(all="ignore"):
        last, changes = np.abs(slopes[-GROWING_RUNGS:]), np.diff(slopes[-GROWING_RUNGS:], axis=0)
        ratios, shrinking = last[1:] / last[:-1], changes[1:] / changes[:-1]
        seen = (last > 4 * floors[-GROWING_RUNGS:]).all(axis=0)
        steady = (ratios.max(axis=0) - ratios.min(axis=0)) <= STEADY * ratios.min(axis=0)
        drifts = (np.abs(changes) > 4 * floors[1 - GROWING_RUNGS :]).all(axis=0) & (np.abs(shrinking - 1) <= DRIFT).all(axis=0)
        return np.asarray((seen & steady & (ratios.min(axis=0) > GROWTH)) | drifts)
