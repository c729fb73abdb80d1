"""One entry of a derivative in one scenario: its number, and what else says something about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradfuzz.oracles.precision import twin_of
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.oracles.verdict import KINK, NONFINITE
from gradfuzz.program.values import size_of
from gradfuzz.targets.base.protocol import Refusal, Vec
from gradfuzz.targets.base.scenario import Scenario, nestings
from gradfuzz.worker.measure import Spot, one_hot

Shown = dict[str, Any]

# Where the right number is from; a scenario's name where another mode is right.
PROOF, DIFFERENCE, SLOPES, DOUBLE = "proof", "difference", "slopes", "double"
# Steps of a plain difference quotient, in decades below the size of the number that is moved.
DECADES = range(2, 9)
# A quotient says something if what the step does to it is so many times less than what it is to show,
MARGIN = 20.0
# and if AD is not finite, less than this share of the quotient, or next to nothing.
SETTLED, NOTHING = 1e-2, 1e-6
# What differs by less is a rounding of somebody's.
LEAST_GAP = 1e-10
# In a lower precision every step of a formula rounds: an entry that is off by more than so many units of it is plainly wrong.
LOW_UNITS = 1024.0


class Entry:
    """One entry of one scenario: its number, and what else says something about it."""

    def __init__(self, trial: Trial, scenario: Scenario, output: Spot, alongs: tuple[Spot, ...]) -> None:
        self.trial, self.scenario, self.output, self.alongs = trial, scenario, output, alongs
        self.v = Vec([a.astype(o.dtype) for a, o in zip(one_hot(trial.direct, output), trial.direct)])
        self.us = [Vec(one_hot(trial.inputs, spot, trial.point.structures)) for spot in alongs]

    def shown(self, kind: str, exact: str | None, at_fault: Sequence[Scenario]) -> Shown | None:
        actual = self.number(self.scenario)
        if actual is None:
            return None
        others = {s.name: self.number(s) for s in nestings(self.scenario.order) if s not in at_fault}
        for right in self._rights(kind, actual, exact, others):
            gap = abs(actual - right["right"])
            tolerance = power_of_ten(gap / 3 if math.isfinite(gap) else SETTLED * max(abs(right["right"]), SETTLED))
            agree = [name for name, number in others.items() if number is not None and abs(number - right["right"]) <= tolerance]
            return {
                "scenario": self.scenario.name, "output": self._place(self.output, self.trial.direct),
                "outputs": len(self.trial.direct), "weights": self._weights(),
                "along": [self._input(n) for n in range(len(self.alongs))], "actual": actual, "tolerance": tolerance,
                "agree": [name for name in agree if name != right["by"]], **right,
            }  # fmt: skip
        return None

    def _rights(self, kind: str, actual: float, exact: str | None, others: dict[str, float | None]) -> Iterator[Shown]:
        """What is right here, the best source first."""
        if exact is not None:
            if not abs(actual - float(exact)) <= 0.0:
                yield {"by": PROOF, "right": float(exact), "step": 0.0}
            return
        if kind == KINK:
            yield from self._slopes(actual)
            return
        if kind == NONFINITE and math.isfinite(actual):
            return  # it is another entry that is not
        quotient = self._quotient(actual)
        if quotient is not None:
            yield quotient
        for name, number in others.items():
            if number is not None and math.isfinite(number) and not abs(actual - number) <= NOTHING * max(abs(number), abs(actual)):
                yield {"by": name, "right": number, "step": 0.0}
        yield from self._double(actual)

    def _double(self, actual: float) -> Iterator[Shown]:
        """The same entry in double precision, where this is a lower one."""
        if self.trial.epsilon <= DOUBLE_UNIT:
            return
        try:
            right = Entry(twin_of(self.trial)[0], self.scenario, self.output, self.alongs).number(self.scenario)
        except Exception:  # the library has no such thing in double precision
            return
        if right is not None and math.isfinite(right) and not abs(actual - right) <= LOW_UNITS * self.trial.epsilon * abs(right):
            yield {"by": DOUBLE, "right": right, "step": 0.0}

    def number(self, scenario: Scenario, us: Sequence[Vec] | None = None, shift: float = 0.0) -> float | None:
        """The entry in a scenario, perhaps at inputs moved along its last direction; None where the library refuses."""
        along = self.us[-1] if shift else None
        outcome = self.trial.attempt(scenario, self.us if us is None else us, along, shift, self.v)
        return None if isinstance(outcome, Refusal) else self.trial.number(outcome, self.v)

    def at(self, shift: float) -> float:
        """What is differenced: the derivative of the order below in the scenario's own modes."""
        found = self.number(Scenario(self.scenario.modes[:-1]), self.us[:-1], shift)
        return math.nan if found is None else found

    def steps(self) -> Iterator[float]:
        k, i, _ = self.alongs[-1]
        array = self.trial.inputs[k]
        size = float(abs(array.reshape(-1)[i])) or size_of(array)
        if math.isfinite(size):
            yield from (power_of_ten(size * 10.0**-n) for n in DECADES)

    def quotient(self) -> tuple[float, float, float] | None:
        """The central difference that twice and half of its step change least: by how much, itself, and the step."""
        best: tuple[float, float, float] | None = None
        for step in self.steps():
            ends = [(self.at(h), self.at(-h), h) for h in (step, 2 * step, step / 2)]
            quotients = [(high - low) / (2 * h) for high, low, h in ends]
            if all(map(math.isfinite, quotients)):
                rounding = max(abs(high) + abs(low) for high, low, _ in ends) * max(DOUBLE_UNIT, self.trial.epsilon) / step
                spread = max(max(quotients) - min(quotients), rounding)  # three small steps may agree by chance
                if best is None or spread < best[0]:
                    best = (spread, quotients[0], step)
        return best

    def _quotient(self, actual: float) -> Shown | None:
        """A central difference with one step, if it says plainly that AD is wrong."""
        best = self.quotient()
        if best is None:
            return None
        spread, right, step = best
        gap, size = abs(actual - right), max(abs(actual), abs(right))
        plain = gap > MARGIN * spread and gap > LEAST_GAP * size if math.isfinite(gap) else spread <= max(SETTLED * abs(right), NOTHING)
        return {"by": DIFFERENCE, "right": right, "step": step} if plain else None

    def _slopes(self, actual: float) -> Iterator[Shown]:
        """One-sided slopes: between them AD may choose."""
        here = self.at(0.0)
        for step in self.steps():
            slopes = [[(self.at(h) - here) / h, (here - self.at(-h)) / h] for h in (step, step / 2)]
            spread = max(abs(a - b) for a, b in zip(*slopes))
            low, high = sorted(slopes[0])
            outside = max(low - actual, actual - high)
            if math.isfinite(outside) and outside > MARGIN * spread and outside > NOTHING * abs(actual):
                yield {"by": SLOPES, "right": low if actual < low else high, "step": step}
                return

    def _weights(self) -> dict[str, list[Any]]:
        """The parameters of each module that the Program makes, in order."""
        found: dict[str, list[Any]] = {}
        for name, array in zip(self.trial.point.names, self.trial.inputs):
            module, dot, _ = name.partition(".")
            if dot:
                found.setdefault(module, []).append(array.tolist() if array.dtype.kind != "c" else None)
        return found

    def _place(self, spot: Spot, arrays: Sequence[Any]) -> Shown:
        k, i, part = spot
        index = [int(n) for n in np.unravel_index(i, arrays[k].shape)] if arrays[k].ndim else []
        return {"number": k, "index": index, "part": part, "complex": arrays[k].dtype.kind == "c"}

    def _input(self, n: int) -> Shown:
        """The input of one differentiation; `direction` where its structure lets no element be moved by itself."""
        spot = self.alongs[n]
        array = self.us[n].arrays[spot[0]]
        whole = np.count_nonzero(array) > 1
        return {
            **self._place(spot, self.trial.inputs), "name": self.trial.point.names[spot[0]], "shape": list(array.shape),
            "direction": array.real.ravel().tolist() if whole else None,
        }  # fmt: skip


def power_of_ten(number: float) -> float:
    """The next lower one, as text would have it: 1e-05 exactly."""
    return float(f"1e{math.floor(math.log10(number))}") if number > 0 else 0.0
