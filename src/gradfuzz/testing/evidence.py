"""What each way says about single entries of a derivative: the table that a person acts on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import Estimate, estimate
from gradfuzz.oracles.evidence.line import AD_UNITS, NUMERIC_BARS
from gradfuzz.oracles.gradient import base_scenario
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.values import project
from gradfuzz.targets.base.protocol import Refusal, Vec
from gradfuzz.targets.base.scenario import Scenario

Array = Any
Place = tuple[int, int]  # which array, which element of it

# Rows that a person still reads; a wrong formula shows in the first few.
MOST_ROWS = 12
# Wider outputs are narrowed down by halves, so that this is a matter of a few measurements.
MOST_PLACES = 4096


@dataclass
class Row:
    """One entry of the derivative, as every way has it."""

    element: str
    numbers: dict[str, float]
    numeric: float
    error: float
    bar: float
    wrong: list[str]


@dataclass
class Evidence:
    """Rows for one output (or a mixture of all, where no single one is at fault)."""

    quantity: str
    rows: list[Row]
    left_out: int

    @property
    def worst(self) -> Row | None:
        return next((row for row in self.rows if row.wrong), None)


def gather(trial: Trial, order: int, scenarios: Sequence[Scenario], element: str | None = None) -> Evidence | None:
    """The table for a trial that disagrees at the order; None if there is nothing to measure against.

    `element` is where the referee found the fault: its row comes first, however many there are.
    """
    base = base_scenario(trial, order)
    if base is None or not scenarios:
        return None
    inner = trial.directions(order - 1)
    whole = trial.direction(order - 1)
    output = _single_output(trial, scenarios, base, inner, whole)
    second = ""
    if order > 1:
        inner, second = _single_inner(trial, scenarios, base, inner, whole)
    places = [(i, j) for i, x in enumerate(trial.inputs) for j in range(x.size)]
    places.sort(key=lambda p: element is not None and _named(trial.point.names[p[0]], trial.inputs[p[0]], p[1]) != element)
    rows = [_row(trial, scenarios, base, inner, _unit(trial, p), _named(trial.point.names[p[0]], trial.inputs[p[0]], p[1]))
            for p in places[: 4 * MOST_ROWS]]  # fmt: skip
    rows.sort(key=lambda row: not row.wrong)
    return Evidence(f"{output}{second}", rows[:MOST_ROWS], len(places) - min(len(places), MOST_ROWS))


def told(trial: Trial, verdict: Verdict) -> Evidence | None:
    """The table that the verdict itself holds, at no cost: one row, along the element at fault or along the whole direction."""
    detail = verdict.detail
    if "numeric" not in detail or verdict.error_bar is None:
        return None
    size, quantity, element = 1.0, "a weighted sum of the outputs", "a random direction"
    direction = trial.direction(verdict.order - 1)
    own = [a.reshape(-1)[j] for a in direction.arrays for j in np.flatnonzero(a)[:2]]
    entries = [complex(re, im) for _, _, re, im in detail.get("along") or ()] or own
    if detail.get("element") and len(entries) == 1:
        size, element = float(np.real(entries[0]) or np.imag(entries[0])), detail["element"].removesuffix("[]")
    if sum(w.size for w in trial.v.arrays) == 1 and element != "a random direction":
        size *= float(np.real(next(w for w in trial.v.arrays if w.size).reshape(-1)[0]))
        quantity = _named("output", trial.outputs[0], 0)
    numbers = {name: number / size for name, number in detail["numbers"].items()}
    row = Row(
        element, numbers, detail["numeric"] / size, detail["numeric_error"] / abs(size), verdict.error_bar / abs(size), verdict.names
    )  # fmt: skip
    return Evidence(quantity, [row], 0 if element == "a random direction" else sum(x.size for x in trial.inputs) - 1)


def _row(trial: Trial, scenarios: Sequence[Scenario], base: Scenario, inner: list[Vec], along: Vec, element: str) -> Row:
    numbers = {}
    for scenario in scenarios:
        outcome = trial.attempt(scenario, [*inner, along])
        numbers[scenario.name] = float("nan") if isinstance(outcome, Refusal) else trial.number(outcome)
    # The ladder's steps are in units of the inputs' size; a unit direction is not.
    step = max((float(s) for s, a in zip(trial.point.scales, along.arrays) if a.any()), default=1.0)
    scaled = Vec([np.asarray(a * step) for a in along.arrays])
    at_zero = trial.components(trial.attempt(base, inner))
    numeric: Estimate = estimate(trial.line(base, inner, scaled), at_zero, max(trial.epsilon, DOUBLE_UNIT * (8 if base.modes else 1)))
    value, error = numeric.value / step, numeric.error / step
    bar = NUMERIC_BARS * error + AD_UNITS * trial.epsilon * max(abs(value), *(abs(n) for n in numbers.values()))
    wrong = [name for name, n in numbers.items() if not np.isfinite(n) or (numeric.usable and abs(n - value) > bar)]
    return Row(element, numbers, value, error, bar, wrong)


def _single_output(trial: Trial, scenarios: Sequence[Scenario], base: Scenario, inner: list[Vec], along: Vec) -> str:
    """Weight one output element alone, if one is at fault by itself; returns its name."""
    everything = trial.v
    places = [(i, j) for i, o in enumerate(trial.outputs) for j in range(o.size)]

    def fails(part: list[Place]) -> bool:
        trial.v = _chosen(trial.outputs, part, everything)
        return bool(_row(trial, scenarios, base, inner, along, "").wrong)

    while 1 < len(places) <= MOST_PLACES:
        middle = len(places) // 2
        for half in (places[:middle], places[middle:]):
            if fails(half):
                places = half
                break
        else:
            trial.v = everything
            return "a weighted sum of the outputs"
    if len(places) != 1:
        trial.v = everything
        return "a weighted sum of the outputs"
    trial.v = Vec([np.zeros(o.shape, w.dtype) for o, w in zip(trial.outputs, everything.arrays)])
    which, flat = places[0]
    trial.v.arrays[which].reshape(-1)[flat] = 1.0
    return _named("output" if len(trial.outputs) == 1 else f"output{which}", trial.outputs[which], flat)


def _chosen(outputs: list[Array], part: list[Place], weights: Vec) -> Vec:
    arrays = [np.zeros(o.shape, w.dtype) for o, w in zip(outputs, weights.arrays)]
    for which, flat in part:
        arrays[which].reshape(-1)[flat] = weights.arrays[which].reshape(-1)[flat]
    return Vec(arrays)


def _single_inner(trial: Trial, scenarios: Sequence[Scenario], base: Scenario, inner: list[Vec], along: Vec) -> tuple[list[Vec], str]:
    """Order two and up: differentiate by one element first, if one shows the fault by itself."""
    places = [(i, j) for i, x in enumerate(trial.inputs) for j in range(x.size)][:MOST_ROWS]
    for place in places:
        candidate = [_unit(trial, place)] * len(inner)
        if _row(trial, scenarios, base, candidate, along, "").wrong:
            name = _named(trial.point.names[place[0]], trial.inputs[place[0]], place[1])
            return candidate, f" by {name}" + (f" ({len(inner)} times)" if len(inner) > 1 else "")
    return inner, " along a fixed direction"


def _unit(trial: Trial, place: Place) -> Vec:
    arrays = [np.zeros(x.shape, np.complex128 if x.dtype.kind == "c" else np.float64) for x in trial.inputs]
    arrays[place[0]].reshape(-1)[place[1]] = 1.0
    return Vec([project(a, s) if s else a for a, s in zip(arrays, trial.point.structures)])


def _named(name: str, array: Array, flat: int) -> str:
    if not array.ndim:
        return name
    return f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(flat, array.shape))}]"
