"""What a report says beside one wrong entry: what every mode gives there, what makes it appear, what else confirms the right number."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.controls import Control, controls, parameter_names, same_but_for_numbers
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.effort import THRIFTY
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, KINK
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Refusal, Target
from gradfuzz.targets.base.scenario import Scenario, nestings
from gradfuzz.worker.entry import SETTLED, SLOPES, Entry, Shown

# Seconds of the processor for looking at controls, and triggers that a report names.
MOST_SECONDS, MOST_TRIGGERS = 5.0, 3
# Where another shape costs a compilation nearly every control does: those that differ in their numbers alone come first, and few others.
COMPILED_SECONDS = 1.5
# A quotient counts as the same number as the right one up to this share of it.
SAME = 1e-4
# Elements of a gradient that a report shows as a whole.
FEW = 9
MOST_BELOW = 2  # the highest order that is told of beside the finding's own
MESSAGE = 160  # characters of an error that a line has room for
# Steps by which an input is moved to see whether the output moves at all.
STEPS = (1e-2, -1e-2, 1.0)
RIGHT, WRONG, RAISES, WORKS = "right", "wrong", "raises", "works"


def context(target: Target, entry: Entry, shown: Shown, kind: str) -> dict[str, Any]:
    """All of it as JSON; nothing of it is needed to show the bug, so whatever the library does here costs a line of the report."""
    right, tolerance = shown["right"], shown["tolerance"]
    quotient = entry.quotient()
    bar = SAME * max(abs(right), SAME)
    settled = quotient is not None and max(quotient[0], abs(quotient[1] - right)) <= bar
    return {
        "modes": {} if kind == KINK else _modes(entry, right, tolerance),
        "triggers": list(_triggers(target, entry, right, tolerance)),
        "quotient": list(quotient) if settled and quotient is not None and shown["by"] != SLOPES else None,
        "still": right == 0 and _still(entry),
        "names": parameter_names(target, entry.trial.program),
        "gradient": _gradient(entry, right),
    }  # fmt: skip


def _modes(entry: Entry, right: float, tolerance: float) -> dict[str, str]:
    """Scenarios of this order, and of the first and the second below it: right, wrong with the number, or the error.

    Of the orders above nobody is told: they differentiate what is wrong here, and cost most.
    """
    order = len(entry.alongs)
    found = {s.name: _word(entry, s, right, tolerance) for s in nestings(order)}
    for below in range(1, min(order, MOST_BELOW + 1)):
        there = Entry(entry.trial, nestings(below)[0], entry.output, (entry.alongs[-1],) * below)
        settled = _measured(there)
        if settled is not None:
            number, bar = settled
            found |= {s.name: _word(there, s, number, bar) for s in nestings(below)}
    return found


def _measured(entry: Entry) -> tuple[float, float] | None:
    """The derivative by differences of the function alone, which no mode can spoil, and how far it may be off; None if unsettled."""
    plain = Entry(entry.trial, Scenario(()), entry.output, entry.alongs[:1])

    def value(h: float) -> float:
        found = plain.number(Scenario(()), (), h)
        return math.nan if found is None else found

    def quotient(h: float) -> float:
        if len(entry.alongs) == 1:
            return (value(h) - value(-h)) / (2 * h)
        return (value(h) - 2 * value(0.0) + value(-h)) / (h * h)

    best: tuple[float, float] | None = None
    for step in entry.steps():
        numbers = [quotient(h) for h in (step, step / 2)]
        gap = abs(numbers[0] - numbers[1])
        if math.isfinite(gap) and (best is None or gap < best[1]):
            best = numbers[1], gap
    if best is None or best[1] > SETTLED * max(abs(best[0]), SETTLED):
        return None
    return best[0], max(10 * best[1], SETTLED * max(abs(best[0]), SETTLED))


def _word(entry: Entry, scenario: Scenario, right: float, tolerance: float) -> str:
    outcome = entry.trial.attempt(scenario, entry.us, v=entry.v)
    if isinstance(outcome, Refusal):
        return _raises(outcome)
    number = entry.trial.number(outcome, entry.v)
    return RIGHT if abs(number - right) <= tolerance else f"{WRONG} ({number:.6g})"


def _raises(refusal: Refusal) -> str:
    said = " ".join(refusal.message.split()).partition(". ")[0]
    return f"{RAISES}: {said if len(said) <= MESSAGE else said[:MESSAGE].rsplit(' ', 1)[0] + ' …'}"


def error_context(trial: Trial) -> dict[str, Any]:
    """The same of an error at the first order: which modes raise, and what makes them."""
    modes = {}
    for scenario in nestings(1):
        outcome = trial.outcome(scenario)
        modes[scenario.name] = _raises(outcome) if isinstance(outcome, Refusal) else WORKS
    triggers = [_told(control, agreed) for control, agreed in _quiet(trial.target, trial.program, 1)]
    names = parameter_names(trial.target, trial.program)
    return {"modes": modes, "triggers": triggers, "quotient": None, "still": False, "names": names, "gradient": None}


def _triggers(target: Target, entry: Entry, right: float, tolerance: float) -> Iterator[dict[str, Any]]:
    """What the bug does not show without, with the control's number where it is the right one."""
    for control, agreed in _quiet(target, entry.trial.program, len(entry.alongs)):
        number = _there(target, control, entry) if agreed and control.same else None
        yield _told(control, agreed, number if number is not None and abs(number - right) <= tolerance else None)


def _told(control: Control, agreed: bool, number: float | None = None) -> dict[str, Any]:
    return {"trigger": control.trigger, "control": control.control if agreed else "", "number": number}


def _quiet(target: Target, program: Program, order: int) -> Iterator[tuple[Control, bool]]:
    """Controls at which nothing is found, one for each trigger, and whether they are seen to be right."""
    compiled = target.family > 1
    until = time.process_time() + (COMPILED_SECONDS if compiled else MOST_SECONDS)
    known: set[str] = set()
    tries = controls(target, program)
    for control in sorted(tries, key=lambda c: not same_but_for_numbers(c.program, program)) if compiled else tries:
        if len(known) == MOST_TRIGGERS or time.process_time() > until:
            return
        if control.trigger in known:
            continue
        try:
            examination = examine(target, control.program.check(), Options(order, effort=THRIFTY))
        except ProgramError:
            continue
        agreed = any(v.outcome == AGREE and v.order == order for v in examination.verdicts)
        if not examination.findings and (agreed or control.form):
            known.add(control.trigger)
            yield control, agreed


def _there(target: Target, control: Control, entry: Entry) -> float | None:
    """The same entry where the control computes it."""
    trial = Trial(target, control.program)
    if [x.shape for x in trial.inputs] != [x.shape for x in entry.trial.inputs]:
        return None
    return Entry(trial, entry.scenario, entry.output, entry.alongs).number(entry.scenario)


def _still(entry: Entry) -> bool:
    """Whether the output stays the very same wherever its input is moved to."""
    plain = Entry(entry.trial, Scenario(()), entry.output, entry.alongs[-1:])
    here = plain.number(Scenario(()), ())
    return here is not None and all(plain.number(Scenario(()), (), h) == here for h in STEPS)


def _gradient(entry: Entry, right: float) -> Any:
    """The right gradient of this output with respect to this input, as nested lists; None unless it is small and differences settle it."""
    k = entry.alongs[-1][0]
    array = entry.trial.inputs[k]
    if len(entry.alongs) > 1 or array.dtype.kind == "c" or not 1 < array.size <= FEW or entry.trial.point.structures[k]:
        return None
    found: list[float] = []
    for i in range(array.size):
        if (k, i, 0) == entry.alongs[-1]:
            found.append(right)
            continue
        single = Entry(entry.trial, entry.scenario, entry.output, ((k, i, 0),))
        measured, number = single.quotient(), single.number(entry.scenario)
        if measured is None or measured[0] > SAME * max(abs(measured[1]), 1.0):
            return None
        same = number is not None and abs(number - measured[1]) <= SAME * max(abs(measured[1]), 1.0)
        found.append(float(number) if same and number is not None else float(f"{measured[1]:.4g}"))
    return np.array(found).reshape(array.shape).tolist()
