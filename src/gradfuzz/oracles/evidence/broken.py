"""A derivative that is not finite. NaN cannot be narrowed down by contraction, so elements are moved away instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.case import Case, special
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Place, alike, single, spread
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.values import keeping
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import Scenario

Array = Any

# Where an element goes that is to be out of the way: inside the domain of most functions, and no special point of any.
ORDINARY = 0.37
# Elements that are to be apart are spread over a range as wide again.
GOLDEN = 0.6180339887498949


class Broken:
    """Scenarios whose derivative is not finite along a line."""

    def __init__(self, case: Case, line: Line, scenarios: Sequence[Scenario]) -> None:
        self.case, self.line, self.scenarios = case, line, list(scenarios)

    @property
    def trial(self) -> Trial:
        return self.case.trial

    @cached_property
    def probed(self) -> list[tuple[Place, Line]]:
        """Lines along single elements: one for each special number, zeros first, where edges are; the others are spread over the inputs."""
        trial, most = self.trial, self.trial.effort.probed
        numbers = {(i, self._number((i, j))): (i, j) for i, j in sorted(self.special, reverse=True)}
        smallest = sorted(numbers.values(), key=lambda place: (abs(self._number(place)), place))
        chosen = [single(trial, place, trial.point.scales[place[0]]) for place in smallest[:most]]
        lines = [self.case.line(along, ()) for along in (*chosen, *spread(trial, most)[: most - len(chosen)])]
        return [(_moved(line), line) for line in lines]

    @property
    def special(self) -> set[Place]:
        """Elements at zeros, whole numbers and ties."""
        return {(i, int(j)) for i, x in enumerate(self.trial.inputs) for j in np.flatnonzero(special(x))}

    def _number(self, place: Place) -> Any:
        return self.trial.inputs[place[0]].reshape(-1)[place[1]].item()

    @cached_property
    def owing(self) -> list[Scenario]:
        """At a kink: the scenarios that owe a number. There are slopes to choose from, another mode has one, or there is a derivative of an
        entry and in this scenario it is not finite."""
        if self.line.bends or any(np.isfinite(number) for number in self.line.numbers.values()):
            return self.scenarios
        there = [(line, line.smooth) for _, line in self.probed]
        return [s for s in self.scenarios if any(not np.isfinite(line.number_of(s, v)) for line, v in there if v is not None)]

    def due_to(self, places: Iterable[Place], apart: bool = False) -> bool:
        """Whether the derivative is finite once these elements and those like them have been moved away: then no other is at fault.

        `apart`: from each other, too, since a matrix of equal numbers is special whatever they are.
        """
        arrays = [np.array(x, order="C") for x in self.trial.inputs]  # of one that is transposed, reshape would write to a copy
        for turn, (index, flat) in enumerate(sorted({other for place in places for other in alike(self.trial, place)})):
            ordinary, value = ORDINARY * (1 + turn * GOLDEN % 1 if apart else 1), arrays[index].reshape(-1)[flat]
            arrays[index].reshape(-1)[flat] = -ordinary if np.real(value) < 0 else ordinary
        if apart:
            arrays = [keeping(a, s) for a, s in zip(arrays, self.trial.point.structures)]
        try:
            other = Trial(self.trial.target, self.trial.program, self.trial.salt, arrays)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return True  # nothing can be said against it
        if [o.shape for o in other.direct] != [o.shape for o in self.trial.direct]:
            return True
        other.v = self.trial.v
        if not other.finite:
            return True
        us = [*self.trial.directions(self.case.base.order), self.line.along]
        outcomes = [other.attempt(scenario, us) for scenario in self.scenarios]
        return any(not isinstance(o, Outcome) or np.isfinite(other.number(o)) for o in outcomes)


def _moved(line: Line) -> Place:
    """The first element that a line moves."""
    for index, array in enumerate(line.along.arrays):
        moved = np.flatnonzero(array)
        if moved.size:
            return index, int(moved[0])
    return 0, 0
