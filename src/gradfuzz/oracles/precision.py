"""Precision: a derivative in a lower precision, judged against the same Program in float64.

What may differ is measured, not assumed: the float64 twin is perturbed by the unit of the lower precision, and the derivative
may move by a small multiple of what it moves by then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.narrowing import single
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, NONFINITE, PRECISION, Verdict
from gradfuzz.program.model import Values
from gradfuzz.targets.base.dtypes import UNITS
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, Scenario
from gradfuzz.targets.base.widening import widened

Array = Any
LARGEST = {"float32": 3e38, "float16": 6e4, "bfloat16": 3e38, "complex64": 3e38}
SMALLEST = {"float32": 1.2e-38, "float16": 6.2e-5, "bfloat16": 1.2e-38, "complex64": 1.2e-38}  # that are normal

# Intermediates round too, and there are more of them than inputs; the perturbation sees only the inputs'.
PERTURBED = 16.0
ROUNDED = 64.0
PROBES = 4
# Beyond the bar and below this many bars, digits were lost in intermediates that nobody can see.
CLEARLY = 16.0
_AGREEMENT = Verdict(AGREE, "precision", PRECISION, 1)  # what almost every mutant gets: made once
# A number that ought to be in range is so by this factor: a gradient is a sum, whose terms may be larger. Its entries are computed one by
# one, so many at most.
ROOM = 16.0
MOST_ENTRIES = 64
# What is wrong because a sum on the way left the range is wrong by its own size or more, to this part of it.
GONE = 0.5
# What is lost inside of a rule shows in the whole by this part of it, and another rounding moves what is sure by less.
SEEN = 1e-2
NOT_FINITE = "domain: not finite in one of the precisions"
# Terms that cancel leave their rounding behind, which differs from one input to the next; a wrong formula is wrong alike.
SCATTERED = 4.0


def check_precision(trial: Trial, ran: dict[Scenario, Outcome]) -> list[Verdict]:
    """Each scenario of order one against the float64 twin."""
    if trial.point.random:
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason="random numbers differ between precisions")]
    lowest = max((t.dtype for t in trial.program.inputs.values() if t.dtype in LARGEST), key=lambda d: UNITS[d])
    try:
        twin, direction = twin_of(trial)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason=f"no float64 twin: {str(error)[:120]}")]
    if [o.shape for o in twin.outputs] != [o.shape for o in trial.outputs]:
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason="the float64 twin has other outputs")]
    reference = next(iter(ran))
    exact = twin.attempt(reference, [direction])
    if not isinstance(exact, Outcome) or not twin.finite:
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason=NOT_FINITE)]
    if not trial.finite:
        return _overflown(trial, twin, direction, ran, lowest) or [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason=NOT_FINITE)]
    if _differ(trial.outputs, twin.outputs, UNITS[lowest]):
        # Another branch was taken, or a gauge was chosen otherwise: the derivatives are of different functions.
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason="the outputs themselves differ between the precisions")]
    if vanished := _vanished(trial, twin, direction, ran, lowest):
        return vanished
    wanted = twin.number(exact)
    numbers = {scenario: trial.number(outcome) for scenario, outcome in ran.items()}
    floor = _floor(twin, direction, UNITS[lowest], wanted)
    if np.isfinite(floor) and all(abs(number - wanted) <= floor for number in numbers.values()):
        return [_AGREEMENT]  # whatever else would be measured could only excuse more
    bar = _bar(twin, reference, direction, UNITS[lowest], wanted)
    if not np.isfinite(wanted) or not np.isfinite(bar):
        return [Verdict(INCONCLUSIVE, "precision", PRECISION, 1, reason="ill-conditioned in float64 already")]
    verdicts = []
    # What one mode computes in this precision, its range does not keep another from computing.
    had = any(np.isfinite(number) and abs(number - wanted) <= bar for number in numbers.values())
    for scenario, number in numbers.items():
        if np.isfinite(number) and abs(number - wanted) <= bar:
            continue
        twins = twin.attempt(scenario, [direction])
        if isinstance(twins, Outcome) and abs(twin.number(twins) - wanted) <= bar:
            broken = had and not np.isfinite(number) and bar < abs(wanted) and _holds(twin, scenario, direction, LARGEST[lowest])
            if broken and _right_along_shorter(trial, scenario, wanted, bar):
                verdicts.append(Verdict(INCONCLUSIVE, "precision", PRECISION, 1, [scenario], f"a direction too long for {lowest}"))
                continue
            excuse = None if broken else _excused(trial, twin, scenario, number, wanted, bar, lowest)
            verdicts.append(excuse or _wrong(scenario, number, wanted, bar, lowest))
        else:
            verdicts.append(Verdict(INCONCLUSIVE, "precision", PRECISION, 1, [scenario], "the modes differ in float64 already"))
    return verdicts or [_AGREEMENT]


def _vanished(trial: Trial, twin: Trial, direction: Vec, ran: dict[Scenario, Outcome], lowest: str) -> list[Verdict]:
    """Findings where squares of the inputs leave the lower precision, and nothing else does: neither inputs nor the value, which is right,
    nor any entry of the derivative. One that is zero or no number there was lost inside of a rule, and another rule would have kept it.
    """
    least, largest = SMALLEST[lowest] * ROOM, LARGEST[lowest] / ROOM
    if UNITS[lowest] > UNITS["float32"] or not all(_inside(a, least, largest) for a in (*twin.inputs, *twin.outputs)):
        return []
    if all(_inside(x, SMALLEST[lowest] ** 0.5, LARGEST[lowest] ** 0.5) for x in twin.inputs):
        return []
    found = []
    for scenario, outcome in ran.items():
        number, twins = trial.number(outcome), twin.attempt(scenario, [direction])
        wanted = twin.number(twins) if isinstance(twins, Outcome) else float("nan")
        if np.isfinite(wanted) and not abs(number - wanted) <= SEEN * abs(wanted) and _lost(trial, twin, scenario, least, largest):
            found.append(_wrong(scenario, number, wanted, SEEN * abs(wanted), lowest))
    return found


def _lost(trial: Trial, twin: Trial, scenario: Scenario, least: float, largest: float) -> bool:
    """Whether all entries of a derivative are well inside a range in double precision, and some is zero or no number in the lower one that
    another rounding of the inputs leaves as it is."""
    entries = _entries(twin, scenario)
    low = _entries(trial, scenario)
    if entries is None or low is None or not _inside(entries, least, largest):
        return False
    gone = (entries != 0) & ((low == 0) | ~np.isfinite(low))
    moved = [_entries(twin, scenario, twin.jitter(probe), sign * trial.epsilon) for probe in range(PROBES) for sign in (1, -1)]
    steady = [np.abs(other - entries) <= SEEN * np.abs(entries) for other in moved if other is not None]
    return bool((gone & np.logical_and.reduce(steady)).any()) if len(steady) == len(moved) else False


def _entries(trial: Trial, scenario: Scenario, along: Vec | None = None, shift: float = 0.0) -> Array | None:
    """The derivative by each element of the inputs, one after the other; None where there are too many, or not all can be had."""
    places = [(k, i) for k, x in enumerate(trial.inputs) for i in range(x.size)]
    if len(places) > MOST_ENTRIES or any(x.dtype.kind == "c" for x in trial.inputs):
        return None
    outcomes = [trial.attempt(scenario, [single(trial, place, 1.0)], along, shift) for place in places]
    numbers = [trial.number(o) for o in outcomes if isinstance(o, Outcome)]
    return np.array(numbers) if len(numbers) == len(places) else None


def _inside(array: Array, least: float, largest: float) -> bool:
    sizes = np.abs(array[array != 0])
    return bool(((least < sizes) & (sizes < largest)).all())


def _overflown(trial: Trial, twin: Trial, direction: Vec, ran: dict[Scenario, Outcome], lowest: str) -> list[Verdict]:
    """Findings where the lower precision overflows on its way to an output well inside its range, and gives a finite derivative for it.

    The output says what has happened; a derivative that is as finite as a right one, and off by its own size, does not.
    """
    largest = LARGEST[lowest]
    if UNITS[lowest] > UNITS["float32"] or not all(bool((np.abs(a) < largest / ROOM).all()) for a in (*twin.inputs, *twin.outputs)):
        return []
    found = []
    for scenario, outcome in ran.items():
        number, twins = trial.number(outcome), twin.attempt(scenario, [direction])
        wanted = twin.number(twins) if isinstance(twins, Outcome) else float("nan")
        if np.isfinite(number) and abs(number - wanted) >= GONE * abs(wanted) > 0.0:
            bar = _bar(twin, scenario, direction, UNITS[lowest], wanted)
            if abs(number - wanted) > CLEARLY * bar and _holds(twin, scenario, direction, largest):
                found.append(_wrong(scenario, number, wanted, bar, lowest))
    return found


def twin_of(trial: Trial) -> tuple[Trial, Vec]:
    """The same in float64 with the same weights, and the first direction as the lower precision has it. Raises what the library does."""
    twin = Trial(trial.target, widened(trial.program, trial.target.language), trial.salt, [_wide(x) for x in trial.inputs])
    twin.v = Vec([_wide(a) for a in trial.v.arrays])
    return twin, Vec([_wide(d.astype(x.dtype)) for d, x in zip(trial.direction(0).arrays, trial.inputs)])


def _wrong(scenario: Scenario, number: float, wanted: float, bar: float, lowest: str) -> Verdict:
    kind = PRECISION if np.isfinite(number) else NONFINITE
    reason = f"{scenario.name} in {lowest} is further from float64 than rounding explains"
    detail = {"numbers": {scenario.name: number}, "numeric": wanted}
    return Verdict(DISAGREE, "precision", kind, 1, [scenario], reason, wanted, number, bar, detail)


def _holds(twin: Trial, scenario: Scenario, direction: Vec, largest: float) -> bool:
    """Whether every entry that a mode computes, tangents or gradients, is well inside a type that ends at `largest`."""
    if scenario == FORWARD:
        outcome = twin.attempt(FORWARD, [direction])
        return isinstance(outcome, Outcome) and all(bool((np.abs(r) < largest / ROOM).all()) for r in outcome.result)
    entries = _entries(twin, scenario)
    return entries is not None and bool((np.abs(entries) < largest / ROOM).all())


def _right_along_shorter(trial: Trial, scenario: Scenario, wanted: float, bar: float) -> bool:
    """Whether a derivative is right along the same direction at unit length: directions are as long as the inputs, and what overflows
    beside that length alone is nobody's mistake. Halving is exact, so that nothing else changes."""
    arrays = trial.direction(0).arrays
    longest = max((float(np.abs(a).max()) for a in arrays if a.size), default=0.0)
    factor = 2.0 ** -np.ceil(np.log2(longest)) if 1.0 < longest < np.inf else 1.0
    outcome = trial.attempt(scenario, [Vec([np.asarray(factor * a) for a in arrays])]) if factor < 1.0 else None
    return isinstance(outcome, Outcome) and abs(trial.number(outcome) / factor - wanted) <= CLEARLY * bar


def _excused(
    trial: Trial, twin: Trial, scenario: Scenario, number: float, wanted: float, bar: float, lowest: str
) -> Verdict | None:  # fmt: skip
    """Why nothing is said about a derivative that is off, if there is a reason."""
    at_fault = [scenario]
    if not _comfortable(twin, LARGEST[lowest]):
        return Verdict(INCONCLUSIVE, "precision", PRECISION, 1, at_fault, f"overflow or underflow of {lowest}")
    if lowest in ("float16", "bfloat16"):
        return Verdict(INCONCLUSIVE, "precision", PRECISION, 1, at_fault, f"rounding of {lowest} intermediates cannot be told apart")
    if np.isfinite(number) and not _slope_of_its_own(twin, scenario):
        return Verdict(INCONCLUSIVE, "precision", PRECISION, 1, at_fault, "the derivative in float64 is not the slope of its function")
    if np.isfinite(number) and abs(number - wanted) < CLEARLY * bar:
        return Verdict(INCONCLUSIVE, "precision", PRECISION, 1, at_fault, f"a loss of digits in {lowest}", wanted, number, bar)
    if np.isfinite(number) and abs(number - wanted) < SCATTERED * _scatter(trial, scenario, UNITS[lowest], number):
        reason = f"cancellation: in {lowest} the derivative changes as much from one input to the next"
        return Verdict(INCONCLUSIVE, "precision", PRECISION, 1, at_fault, reason, wanted, number, bar)
    return None


def _slope_of_its_own(twin: Trial, scenario: Scenario) -> bool:
    """Whether differences in double precision bear out what the twin says, as far as they go: at a branch point they do not settle.

    A wrong double says nothing about a single, and is a finding of its own.
    """
    line = Case(twin, 1, DIRECT, [scenario]).first
    return line.numeric.usable and not line.numeric.growing and not line.wrong()


def _scatter(trial: Trial, scenario: Scenario, unit: float, number: float) -> float:
    """How far the derivative in the lower precision moves between inputs a few units apart."""
    us = [trial.direction(0)]
    moved = 0.0
    for probe in range(PROBES):
        outcome = trial.attempt(scenario, us, trial.jitter(probe), (2 + probe) * unit)
        if isinstance(outcome, Outcome):
            moved = max(moved, abs(trial.number(outcome) - number))
    return moved


def _floor(twin: Trial, direction: Vec, unit: float, wanted: float) -> float:
    """The part of the bar that is known without another run: a few roundings of the numbers at work."""
    # Forward mode adds the tangents of all inputs, and small ones are lost beside large ones.
    size = max([abs(wanted), *(float(np.abs(d).max()) for d in direction.arrays if d.size)])
    outputs = float(sum(np.abs(o).sum() for o in twin.outputs))
    return ROUNDED * unit * max(size, min(outputs, 1.0))


def _bar(twin: Trial, scenario: Scenario, direction: Vec, unit: float, wanted: float) -> float:
    """How far the twin's derivative moves under roundings of the lower precision."""
    moved, size = 0.0, 0.0
    for probe in range(PROBES):
        outcome = twin.attempt(scenario, [direction], twin.jitter(probe), unit)
        if isinstance(outcome, Outcome):
            number = twin.number(outcome)
            moved = max(moved, abs(number - wanted))
    moved = max(moved, abs(_with_fixed_moved(twin, scenario, direction, unit) - wanted))
    forward = twin.attempt(FORWARD, [direction])
    if isinstance(forward, Outcome):
        size = float(sum(np.abs(c).sum() for c in twin.weighted(forward)))
    floor = _floor(twin, direction, unit, wanted)
    return PERTURBED * moved + max(floor, ROUNDED * unit * size)  # in this order: a size that is NaN says nothing


def _with_fixed_moved(twin: Trial, scenario: Scenario, direction: Vec, unit: float) -> float:
    """The derivative with the inputs that are not differentiated rounded too; infinite where that breaks the Program."""
    fixed = {n: r for n, r in twin.program.inputs.items() if not r.differentiable and not r.discrete}
    if not fixed:
        return _number(twin, scenario, direction)
    moved = {n: replace(r, values=Values("scaled", (r.values, 1 + unit))) for n, r in fixed.items()}
    try:
        other = Trial(twin.target, twin.program.with_inputs(moved), twin.salt, twin.inputs)
        other.v = twin.v
        return _number(other, scenario, direction)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return float("inf")


def _number(trial: Trial, scenario: Scenario, direction: Vec) -> float:
    """The projection along a direction of the caller's; raises what the library raises."""
    return trial.number(trial.point.run(scenario, [direction], trial.v))


def _differ(low: list[Array], high: list[Array], unit: float) -> bool:
    """Whether outputs differ by more than half of their digits."""
    for a, b in zip(low, high):
        scale = float(np.abs(b).max()) if b.size else 0.0
        if scale and float(np.abs(a - b).max()) > unit**0.5 * scale:
            return True
    return False


def _comfortable(twin: Trial, largest: float) -> bool:
    """Whether all numbers stay clear of the range's ends, with their fourth powers."""
    for array in [*twin.inputs, *twin.outputs]:
        sizes = np.abs(array[array != 0]) if array.size else array
        if sizes.size and (sizes.max() > largest**0.25 or sizes.min() < largest**-0.25):
            return False
    return True


def _wide(array: Array) -> Array:
    return np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64)
