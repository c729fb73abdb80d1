"""From a direction to one element: halve its support while a half still disagrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.values import project
from gradfuzz.targets.base.protocol import Vec
from gradfuzz.targets.base.scenario import Scenario

Array = Any
Place = tuple[int, int]  # which input, which element of it
Span = tuple[int, int, int]  # which input, from where, up to where

# A half that is wrong by this part of itself is where to look on.
CLEAR = 1e-3
MOST = 0.5


@dataclass
class Suspect:
    """One element along which scenarios disagree with the numeric derivative; `at_kink`: the direction it was found on has a kink."""

    case: Case
    line: Line
    place: Place
    wrong: list[Scenario]
    at_kink: bool

    @property
    def trial(self) -> Trial:
        return self.case.trial

    @property
    def number(self) -> float:
        """What AD says."""
        return self.line.numbers[self.wrong[0]]

    @property
    def gap(self) -> float:
        return abs(self.number - self.line.numeric.value)

    @property
    def value(self) -> Any:
        """The element itself."""
        return self.trial.inputs[self.place[0]].reshape(-1)[self.place[1]]

    @property
    def step(self) -> float:
        """How far t = 1 moves the element."""
        return float(np.abs(self.line.along.arrays[self.place[0]].reshape(-1)[self.place[1]]))

    @property
    def name(self) -> str:
        return element_name(self.trial, *self.place)

    def elsewhere(self, components: Array) -> bool:
        """Whether most of the gap is there without these components: they have not made it."""
        return any(self.line.gap_of(scenario, ~components) > MOST * self.gap for scenario in self.wrong)


def alike(trial: Trial, place: Place) -> set[Place]:
    """Elements of the same input with the same number, up to its sign: what excuses one of them excuses the others."""
    sizes = np.abs(trial.inputs[place[0]].reshape(-1))
    return {(place[0], int(j)) for j in np.flatnonzero(sizes == sizes[place[1]])} | {place}


def localise(case: Case, line: Line, wrong: Sequence[Scenario], aside: set[Place]) -> tuple[Place, Line] | None:
    """One element that disagrees by itself, with its line; None where no half does."""
    if case.trial.effort.cheap_halves:
        alone = [(i, int(j)) for i, a in enumerate(line.along.arrays) for j in np.flatnonzero(a)[:2]]
        if len(alone) == 1 and line.scenarios == list(wrong):
            return alone[0], line
        spot = cheaply(case, line.along, wrong, aside)
        if spot is not None:
            place = spot[0]
            found = case.line(restricted(case.trial, line.along, [(place[0], place[1], place[1] + 1)], aside), wrong)
            if found.wrong():
                return place, found
    spans: list[Span] = [(i, 0, x.size) for i, x in enumerate(case.trial.inputs) if x.size]
    current = line
    while True:
        if len(spans) == 1 and spans[0][2] - spans[0][1] == 1:
            return (spans[0][0], spans[0][1]), current
        for half in _halves(spans):
            along = restricted(case.trial, line.along, half, aside)
            if not any(a.any() for a in along.arrays):
                continue
            candidate = case.line(along, wrong)
            if candidate.wrong() or (candidate.numeric.kink and any(map(candidate.outside, candidate.numbers))):
                spans, current = half, candidate
                break
        else:
            return None


def cheaply(case: Case, along: Vec, wrong: Sequence[Scenario], aside: set[Place]) -> tuple[Place, float] | None:
    """The element with the larger part of a disagreement, by one central difference for each half, and how wrong it is by itself.

    None where there is nothing to see.
    """
    spans, trial = whole(case.trial), case.trial
    gap = 0.0
    while len(spans) > 1 or spans[0][2] - spans[0][1] > 1:
        gaps = []
        for half in _halves(spans):
            part = restricted(trial, along, half, aside)
            gaps.append((case.quick_gap(part, wrong) if any(a.any() for a in part.arrays) else 0.0, half))
            if len(gaps) == 1 and gaps[0][0] > CLEAR:
                break  # the other half can be as wrong as it likes
        gap, spans = max(gaps, key=lambda found: found[0])
        if not gap:
            return None
    gap = gap or case.quick_gap(restricted(trial, along, spans, aside), wrong)
    return ((spans[0][0], spans[0][1]), gap) if gap else None


def _halves(spans: list[Span]) -> list[list[Span]]:
    if len(spans) > 1:
        middle = len(spans) // 2
        return [spans[:middle], spans[middle:]]
    index, start, stop = spans[0]
    middle = (start + stop) // 2
    return [[(index, start, middle)], [(index, middle, stop)]]


def restricted(trial: Trial, along: Vec, spans: Sequence[Span], aside: set[Place]) -> Vec:
    """The direction on some spans alone, without the elements that are set aside."""
    arrays = [np.zeros(a.shape, a.dtype) for a in along.arrays]
    for index, start, stop in spans:
        arrays[index].reshape(-1)[start:stop] = along.arrays[index].reshape(-1)[start:stop]
    for index, flat in aside:
        arrays[index].reshape(-1)[flat] = 0
    return Vec([project(a, s) if s else a for a, s in zip(arrays, trial.point.structures)])


def whole(trial: Trial) -> list[Span]:
    """All elements of all inputs."""
    return [(i, 0, x.size) for i, x in enumerate(trial.inputs) if x.size]


def single(trial: Trial, place: Place, size: float) -> Vec:
    """A direction that moves one element."""
    arrays = [np.zeros(x.shape, np.complex128 if x.dtype.kind == "c" else np.float64) for x in trial.inputs]
    arrays[place[0]].reshape(-1)[place[1]] = size
    return Vec([project(a, s) if s else a for a, s in zip(arrays, trial.point.structures)])


def spread(trial: Trial, most: int) -> list[Vec]:
    """Single-element directions spread over the inputs."""
    places = [(i, j) for i, x in enumerate(trial.inputs) for j in range(min(x.size, 4096))]
    return [single(trial, place, trial.point.scales[place[0]]) for place in places[:: max(1, len(places) // most)][:most]]


def element_name(trial: Trial, index: int, flat: int) -> str:
    where = np.unravel_index(flat, trial.inputs[index].shape) if trial.inputs[index].ndim else ()
    return f"{trial.point.names[index]}[{', '.join(str(int(i)) for i in where)}]"
