"""Around the point of a finding: what every scenario gives there and how far rounding moves it, and the function with its derivatives
on a line through the point. Nothing is judged here: it is what people look at."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.precision import twin_of
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json
from gradfuzz.targets.base.protocol import Outcome, Refusal, Target, Vec
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Scenario, nestings
from gradfuzz.worker.entry import Entry
from gradfuzz.worker.measure import Spot, label, spot_of

POINTS = 33  # an odd number, so that the point itself is one
STRIDES = (4, 2, 1)  # a coarse picture first, finer ones while they cost little
# To each side of the point: as much as itself or one, so that a person recognises the function.
LEAST_WIDTH = 1.0
# Seconds of the processor for the lines of one picture: until there is a coarse one, and while it is made finer.
MOST_SECONDS, FINER_SECONDS = 2.0, 0.2
# Lines of derivatives: those at fault, and one of another scenario.
MOST_WRONG, MOST_OTHERS = 2, 1
DIGITS = 4  # that an eye tells apart on a picture
MESSAGE = 200  # characters of an error
PARTS = ("", " (imaginary part)")


@dataclass(frozen=True)
class Ray:
    """Directions and weights of one number, and what its inner and outer ends are called."""

    us: tuple[Vec, ...]
    v: Vec
    at: float  # where the point lies on the axis
    axis: str
    output: str
    along: tuple[str, ...]  # by differentiation; none where the directions are those of the trial

    @property
    def width(self) -> float:
        return max(LEAST_WIDTH, abs(self.at))


def landscape(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """`job` has the Program, the scenarios at fault, and one line: an entry of the derivative (`spots`), or else the direction along
    which it was seen (`salt`, `along`). `base`: the modes that the oracle has differenced. `double`: it is held against double
    precision, not against differences. `draw`: lines are wanted, too."""
    trial = Trial(target, gate.check(from_json(job["program"]), target.language), int(job["salt"]))
    at_fault = [Scenario.named(name) for name in job["scenarios"]]
    order = at_fault[0].order
    ray = _entry(trial, job["result"], *job["spots"]) if job.get("spots") else _own(trial, order, job.get("along"))
    trial.aim(ray.us, ray.v)
    asked = list(dict.fromkeys([*at_fault, *(s.plain for s in at_fault), *nestings(order)]))
    outcomes = {scenario: trial.outcome(scenario) for scenario in asked}
    ran = [s for s, outcome in outcomes.items() if isinstance(outcome, Outcome)]
    modes = job.get("base")
    base = Scenario(tuple(at_fault[0].modes[:-1] if modes is None else modes))
    line = Line(trial, base, ray.us[-1], ran)
    drawn = {}
    if job["draw"]:
        truth: Truth = Double(trial, at_fault[0]) if job.get("double") else Quotient(line, ray.width)
        drawn = {"numeric": truth.number(), "by": truth.name, **_drawn(trial, line, ray, at_fault, ran, truth)}
    return {
        "numbers": {s.name: line.numbers[s] for s in ran},
        "bars": {s.name: line.ad_bar(s) for s in ran if math.isfinite(line.numbers[s])},
        "refused": {s.name: outcome.message[:MESSAGE] for s, outcome in outcomes.items() if isinstance(outcome, Refusal)},
        "output": ray.output, "along": list(ray.along), "axis": ray.axis, "at": ray.at, "width": ray.width, **drawn,
    }  # fmt: skip


class Quotient:
    """What is right by differences of the order below."""

    name = "difference quotient"

    def __init__(self, line: Line, width: float) -> None:
        self.line, self.step = line, float(np.cbrt(line.trial.epsilon)) * width

    def number(self) -> list[float] | None:
        numeric = self.line.numeric
        return [numeric.value, numeric.error] if numeric.usable else None

    def at(self, t: float) -> float:
        ends = [float(self.line.at(x).sum()) for x in (t - self.step, t + self.step)]
        return (ends[1] - ends[0]) / (2 * self.step)


class Double:
    """What is right by the same derivative in double precision."""

    name = "in double precision"

    def __init__(self, trial: Trial, scenario: Scenario) -> None:
        self.scenario, (twin, along) = scenario, twin_of(trial)
        self.line = Line(twin, Scenario(scenario.modes[:-1]), along, [scenario])

    def number(self) -> list[float] | None:
        value = self.line.numbers[self.scenario]
        return [value, self.line.ad_bar(self.scenario)] if math.isfinite(value) else None

    def at(self, t: float) -> float:
        outcome = self.line.trial.attempt(self.scenario, [self.line.along], self.line.along, t)
        return math.nan if isinstance(outcome, Refusal) else self.line.trial.number(outcome)


Truth = Union[Quotient, Double]


def _entry(trial: Trial, result: str, output: Sequence[int], alongs: Sequence[Sequence[int]]) -> Ray:
    """One entry of the derivative."""
    spots = tuple(map(spot_of, alongs))
    entry = Entry(trial, DIRECT, spot_of(output), spots)
    names = [result if len(trial.direct) == 1 else f"{result}[{n}]" for n in range(len(trial.direct))]
    along = tuple(_label(spot, trial.point.names, trial.inputs) for spot in spots)
    last, element, imaginary = spots[-1]
    moved, single = trial.inputs[last].reshape(-1)[element], np.count_nonzero(entry.us[-1].arrays[last]) == 1
    at, axis = (float(moved.imag if imaginary else moved.real), along[-1]) if single else (0.0, f"a step along {along[-1]}")
    return Ray(tuple(entry.us), entry.v, at, axis, _label(entry.output, names, trial.direct), along)


def _label(spot: Spot, names: Sequence[str], arrays: Sequence[Any]) -> str:
    """x[0, 1]; a number that has no index goes by its name."""
    text = label(spot, names, arrays)
    return (text[:-2] if text.endswith("[]") else text) + PARTS[spot[2]]


def _own(trial: Trial, order: int, entries: Sequence[tuple[str, int, float, float]] | None) -> Ray:
    """The direction along which a finding was seen, and the weights of the outputs that count."""
    for scenario in (REVERSE, FORWARD):
        first = trial.outcome(scenario)
        if isinstance(first, Outcome):
            trial.mute(first.live)
            break
    us = trial.directions(order)
    if entries:
        us[-1] = Vec([np.zeros(a.shape, a.dtype) for a in us[-1].arrays])
        for name, element, real, imaginary in entries:
            array = us[-1].arrays[trial.point.names.index(name)]
            array.reshape(-1)[int(element)] = complex(real, imaginary) if array.dtype.kind == "c" else real
    return Ray(tuple(us), trial.v, 0.0, "a step along the direction of the finding", "outputs, weighted", ())


def _drawn(
    trial: Trial, line: Line, ray: Ray, at_fault: Sequence[Scenario], ran: Sequence[Scenario], truth: Truth
) -> dict[str, Any]:  # fmt: skip
    """The function, the derivative of the order below, scenarios of the order itself and what is right; nothing where there is no time."""
    wrong = [s for s in ran if s in at_fault][:MOST_WRONG]
    right = [s for s in ran if s not in at_fault][:MOST_OTHERS]

    def number(scenario: Scenario, t: float) -> float:
        outcome = trial.attempt(scenario, ray.us[: scenario.order], ray.us[-1], t)
        return math.nan if isinstance(outcome, Refusal) else trial.number(outcome)

    def row(t: float) -> dict[str, float]:
        return {"": truth.at(t), **{s.name: number(s, t) for s in dict.fromkeys((DIRECT, line.base, *wrong, *right))}}

    rows = _rows(row, ray.width)
    if not rows:
        return {}
    curves = {name: _rounded([r[name] for r in rows]) for name in rows[0]}
    return {
        "function": curves[DIRECT.name], "below": [line.base.name, curves[line.base.name]] if line.base.modes else None,
        "derivatives": {s.name: curves[s.name] for s in (*wrong, *right)}, "truth": curves[""],
    }  # fmt: skip


def _rows(row: Callable[[float], Mapping[str, float]], width: float) -> list[Mapping[str, float]]:
    """A row for each of evenly spaced points, as close together as there is time for."""
    began = time.process_time()
    found: dict[int, Mapping[str, float]] = {}
    whole: list[Mapping[str, float]] = []
    for stride in STRIDES:
        until = began + (FINER_SECONDS if whole else MOST_SECONDS)
        for i in range(0, POINTS, stride):
            if i not in found:
                if time.process_time() > until:
                    return whole
                found[i] = row(width * (2 * i / (POINTS - 1) - 1))
        whole = [found[i] for i in sorted(found)]
    return whole


def _rounded(numbers: Sequence[float]) -> list[float | None]:
    """As many digits as a picture shows of them; None where there is no number."""
    finite = [x for x in numbers if math.isfinite(x)]
    size, spread = max(map(abs, finite), default=0.0), max(finite, default=0.0) - min(finite, default=0.0)
    digits = DIGITS + (max(0, math.ceil(math.log10(size / spread))) if 0 < spread < size < math.inf else 0)
    return [float(f"{x:.{min(digits, 17)}g}") if math.isfinite(x) else None for x in numbers]
