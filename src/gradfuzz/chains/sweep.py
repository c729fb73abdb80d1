"""A chain at many points at once: each point is one element of one tensor, so that thousands of chains are cheap.

Elementwise, the derivative along one direction is each point's own. Reverse mode comes as one number, a sum over the points; its
direction is chosen so that every point adds a number of order one to it, however large or small its derivative is. What does not
fit is narrowed down to points, and those are judged alone by the oracles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradfuzz.chains.ops import Op, listed, program_of
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import Point, Refusal, Target, Vec
from gradfuzz.targets.base.scenario import REVERSE, Scenario, nestings, pure

Array = Any

# The wide sweep: from 1e-100 to 1e100, evenly in the exponent, both signs.
LEAST, MOST = -100.0, 100.0
# Beside it, where people's numbers are: none of them special to any function.
ORDINARY = (0.0123, 0.0712, 0.231, 0.497, 0.823, 1.31, 2.17, 4.59, 11.3, 38.7)
# Relative steps of the central differences. One that agrees is enough: a wrong formula does not agree at any.
STEPS = (2.0**-9, 2.0**-13, 2.0**-17, 2.0**-21)
NUMERIC_AGREES = 1e-6
ROUNDING_UNITS = 16.0
# Two modes of AD do the same sums in another order.
MODES_AGREE = 1e-8
# A rounding of the input that moves the output by so much of itself leaves no digits to compare.
ILL_CONDITIONED = 1e-3


def sweep_points(wide: int, dtype: str = "float64", ordinary: bool = True) -> list[float]:
    """`wide` points over two hundred decades, half of them negative, and the ordinary ones; in the dtype, where it can hold them."""
    exponents = np.linspace(LEAST, MOST, max(1, wide // 2))
    sizes = [*(10.0**exponents), *(ORDINARY if ordinary else ())]
    numbers = np.array([s * size for size in sizes for s in (1.0, -1.0)])
    with np.errstate(all="ignore"):
        held = np.abs(numbers.astype("float32" if dtype == "bfloat16" else dtype))
    return [float(n) for n, h in zip(numbers, held) if 0 < h < np.inf]


@dataclass
class Swept:
    """What one chain showed: by order, the indices of the points that agree, of those nothing can be said of, and of those to judge."""

    agree: dict[int, int] = field(default_factory=dict)
    inconclusive: dict[str, int] = field(default_factory=dict)
    suspects: dict[int, list[int]] = field(default_factory=dict)
    refusal: Refusal | None = None  # the chain does not run at all, or has no derivative


class Sweep:
    """One chain under examination."""

    def __init__(self, target: Target, ops: Sequence[Op], points: Sequence[float], dtype: str) -> None:
        self.target = target
        self.program = program_of(ops, listed(points, dtype))
        self.x = materialise(next(iter(self.program.inputs.values())))
        self.found = Swept()

    def run(self, order: int, brave: bool = False) -> Swept:
        """All orders. `brave`: every scenario is run at every point first, also where nothing is left to learn: it may not come back."""
        with np.errstate(all="ignore"):
            try:
                self.point = self.target.point(self.program)
                outputs = self.point.first()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                self.found.refusal = self.target.classify(error)
                return self.found
            if len(outputs) != 1 or outputs[0].shape != self.x.shape:
                self.found.refusal = Refusal("unsupported", "no floating output" if not outputs else "not elementwise")
                return self.found
            self.value = np.asarray(outputs[0])
            self.unit = max(self.point.unit, 2.0**-52)
            self.size = Vec([np.abs(np.asarray(self.x, np.float64))])
            self.weights = 0.5 + (np.arange(self.x.size) * 0.618) % 1.0
            self.v = Vec([self.weights.astype(self.value.dtype)])
            if brave:
                for scenario in (s for k in range(1, order + 1) for s in nestings(k)):
                    self._try(self.point, scenario)
            live = np.isfinite(self.value)
            self._skip("overflow or outside the domain: the output is not finite", int((~live).sum()))
            for k in range(1, order + 1):
                if not live.any():
                    break
                if not live.all():
                    self._leave_out(live)
                live = self._order(k, live)
                if self.found.refusal is not None:
                    break
        return self.found

    def _leave_out(self, live: Array) -> None:
        """Points that are done with give their places to a copy of a live one: there may be no way back from where they are."""
        places = np.where(live, np.arange(live.size), int(np.flatnonzero(live)[0]))
        self.x = self.x[places]
        self.size = Vec([self.size.arrays[0][places]])
        self.point = self.target.point(self.program, [self.x])
        self.point.first()

    # One order -------------------------------------------------------------------------------------------------------

    def _order(self, order: int, live: Array) -> Array:
        """Judge the live points; returns those whose next order is worth a look."""
        forward = self._try(self.point, pure("f", order))
        if isinstance(forward, Refusal):
            return self._without_forward(order, live, forward)
        slope = forward
        if order == 1 and not np.nan_to_num(slope).any():
            reverse = self._try(self.point, REVERSE)
            if isinstance(reverse, Refusal) and reverse.kind == "unsupported":
                self.found.refusal = Refusal("unsupported", "declared to have no derivative")
                return np.zeros(live.shape, bool)
        fine = live & np.isfinite(slope)
        numeric, seen = self._numeric(order, slope)
        noisy = fine & ~numeric & ~seen
        agreed = fine & numeric
        suspects = (live & ~np.isfinite(slope)) | (fine & ~numeric & seen)
        for scenario in nestings(order):
            if scenario != pure("f", order):
                suspects |= self._reverse_suspects(scenario, slope, fine & ~suspects)
        agreed &= ~suspects
        self.found.suspects[order] = [int(i) for i in np.flatnonzero(suspects)]
        self.found.agree[order] = int(agreed.sum())
        self._skip("ill-conditioned: a rounding of the input changes the output", int((noisy & ~suspects).sum()))
        return agreed

    def _without_forward(self, order: int, live: Array, refusal: Refusal) -> Array:
        """No derivative point by point to go by: each is judged alone, unless reverse mode refuses as well."""
        reverse = self._try(self.point, pure("r", order))
        if isinstance(reverse, Refusal) and reverse.kind == "unsupported" and refusal.kind == "unsupported":
            self.found.refusal = refusal
            return np.zeros(live.shape, bool)
        self.found.suspects[order] = [int(i) for i in np.flatnonzero(live)]
        return np.zeros(live.shape, bool)

    def _numeric(self, order: int, slope: Array) -> tuple[Array, Array]:
        """(where some central difference agrees with the slope, where central differences can say anything)"""
        base = pure("f", order - 1)
        agrees, seen = np.zeros(self.x.shape, bool), np.zeros(self.x.shape, bool)
        for step in STEPS:
            ahead, behind = (self._try(self.point, base, step=s) for s in (step, -step))
            if isinstance(ahead, Refusal) or isinstance(behind, Refusal):
                continue
            difference = (ahead - behind) / (2 * step)
            floor = ROUNDING_UNITS * self.unit * (np.abs(ahead) + np.abs(behind)) / (2 * step)
            gap = np.abs(difference - slope)
            agrees |= gap <= NUMERIC_AGREES * np.abs(slope) + floor
        near, far = (self._try(self.point, base, step=s * 4 * self.unit) for s in (1, -1))
        if not isinstance(near, Refusal) and not isinstance(far, Refusal):
            size = np.maximum(np.abs(near), np.abs(far))
            seen = ~(np.abs(near - far) > ILL_CONDITIONED * size)
        return agrees, seen

    # Reverse mode ------------------------------------------------------------------------------------------------------

    def _reverse_suspects(self, scenario: Scenario, slope: Array, points: Array) -> Array:
        """Points at which this nesting says something else than forward mode does."""
        suspects = np.zeros(points.shape, bool)
        inside = np.flatnonzero(points)
        if inside.size:
            for index in self._odd_ones(scenario, slope, inside, inside[0]):
                suspects[index] = True
        return suspects

    def _odd_ones(self, scenario: Scenario, slope: Array, inside: Array, benign: int) -> list[int]:
        """The points among `inside` that spoil the sum, found by halving; the others are replaced by a copy of a benign one."""
        if self._fits(scenario, slope, inside, benign):
            return []
        if inside.size == 1:
            return [int(inside[0])]
        middle = inside.size // 2
        return [i for half in (inside[:middle], inside[middle:]) for i in self._odd_ones(scenario, slope, half, int(half[0]))]

    def _fits(self, scenario: Scenario, slope: Array, inside: Array, benign: int) -> bool:
        places = np.full(self.x.shape, benign)
        places[inside] = inside
        point = self.point
        if inside.size < self.x.size:
            point = self.target.point(self.program, [self.x[places]])
            point.first()
        expected = slope[places]
        scale = np.where(expected == 0, 1.0, 1.0 / np.abs(expected))
        size = self.size.arrays[0][places]
        scale = np.clip(scale, 1e-250, 1e250)
        scale = np.where(np.isfinite(size * scale) & (size * scale != 0), scale, 1.0)
        us = [*[Vec([size])] * (scenario.order - 1), Vec([size * scale])]
        try:
            outcome = point.run(scenario, us, self.v)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Declared not to work: nothing to compare. Any other error is for the judge.
            return self.target.classify(error).kind == "unsupported"
        terms = self.v.arrays[0] * expected * scale
        if outcome.contracted:
            total = float(outcome.result[0])
        else:
            total = float((self.v.arrays[0] * np.asarray(outcome.result[0], np.float64)).sum())
        bar = max(MODES_AGREE, 64 * self.unit) * float(np.abs(terms).sum())
        return bool(abs(total - float(terms.sum())) <= bar)

    # Helpers -----------------------------------------------------------------------------------------------------------

    def _try(self, point: Point, scenario: Scenario, step: float = 0.0) -> Any:
        """The scenario's result along the sizes of the points: one number a point after forward modes, one in all after reverse."""
        try:
            outcome = point.run(scenario, [self.size] * scenario.order, self.v, self.size if step else None, step)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return self.target.classify(error)
        return np.asarray(outcome.result[0], np.float64)

    def _skip(self, reason: str, count: int) -> None:
        if count:
            self.found.inconclusive[reason] = self.found.inconclusive.get(reason, 0) + count
