"""Second derivatives in a lower precision that are no numbers, where double precision has them well inside its range.

How much rounding explains of a second derivative nobody says, so numbers are not held against each other; but rounding makes no NaN. What
does is a square or a quotient on the way that leaves the range, where the value, the first derivative and the true second one do not.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.narrowing import single
from gradfuzz.oracles.precision import LARGEST, MOST_ENTRIES, PROBES, ROOM, twin_of
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, NONFINITE, Verdict
from gradfuzz.targets.base.dtypes import UNITS
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario

ORDER = 2
# What is no number in any precision is another bug of the same rule, and often one by design.
SYMPTOM = "in a lower precision"
# Double precision has a second derivative if all its nestings give the same one to this part, and if roundings of the lower precision
# in the inputs move it by no more than that part: where it is another number nearby, NaN may be as good an answer.
SAME, STEADY = 1e-6, 0.1
# Well inside of a range is what stays below this part of its decades: a second derivative has a factor more than a first one on its way.
PART = 0.75

Numbers = dict[Scenario, float]


def check_second(trial: Trial, only: frozenset[Scenario] | None) -> list[Verdict]:
    """A finding where some nesting of order two is no number and ought to be one. First derivatives were found right."""
    low = [t.dtype for t in trial.program.inputs.values() if t.dtype in LARGEST]
    if trial.point.random or not trial.finite or not low or any(x.dtype.kind == "c" for x in trial.inputs):
        return []
    lowest = max(low, key=lambda d: UNITS[d])
    nestings = [*trial.scenarios(ORDER, only)]
    # One nesting tells whether anything leaves the range, in most cases, and all of them cost as much as the rest of a mutant.
    if not any(_broken(trial, s) for s in nestings[:1]):
        return []
    broken = [s for s in nestings if _broken(trial, s)]
    try:
        twin, _ = twin_of(trial)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library has no such thing in double precision
        return []
    us = [_short(trial, index) for index in range(ORDER)]
    wanted = _true(twin, us, only)
    if wanted is None or not _inside(twin, us, wanted, LARGEST[lowest]) or not _steady(twin, us, only, UNITS[lowest], wanted):
        return []
    numbers = _numbers(trial, us, only)
    wrong = [s for s in broken if s in numbers and not np.isfinite(numbers[s])]
    right = any(np.isfinite(number) and abs(number - wanted) <= STEADY * abs(wanted) for number in numbers.values())
    if not wrong or (UNITS[lowest] > UNITS["float32"] and not right):
        return []  # of half precision the ends are near: what no nesting has may be out of its reach
    reason = f"{wrong[0].name} in {lowest} is no number, and in float64 a second derivative well inside of what {lowest} holds"
    detail = {"numbers": {s.name: number for s, number in numbers.items()}, "numeric": wanted}
    bar, first = STEADY * abs(wanted), numbers[wrong[0]]
    return [Verdict(DISAGREE, "precision", NONFINITE, ORDER, wrong, reason, wanted, first, bar, detail, symptom=SYMPTOM)]


def _broken(trial: Trial, scenario: Scenario) -> bool:
    outcome = trial.outcome(scenario)
    return isinstance(outcome, Outcome) and not np.isfinite(trial.number(outcome))


def _short(trial: Trial, index: int) -> Vec:
    """A direction of unit length at most, as the lower precision has it: what overflows beside its length alone is nobody's mistake."""
    arrays = trial.direction(index).arrays
    longest = max((float(np.abs(a).max()) for a in arrays if a.size), default=0.0)
    factor = 2.0 ** -np.ceil(np.log2(longest)) if 1.0 < longest < np.inf else 1.0
    return Vec([np.asarray((factor * a).astype(x.dtype), np.float64) for a, x in zip(arrays, trial.inputs)])


def _numbers(trial: Trial, us: list[Vec], only: frozenset[Scenario] | None) -> Numbers:
    """What each nesting gives, where it runs."""
    outcomes = {s: trial.attempt(s, us) for s in trial.scenarios(ORDER, only)}
    return {s: float(trial.number(o)) for s, o in outcomes.items() if isinstance(o, Outcome)}


def _true(twin: Trial, us: list[Vec], only: frozenset[Scenario] | None) -> float | None:
    """The second derivative in double precision; None where its nestings do not have one."""
    numbers = [*_numbers(twin, us, only).values()]
    size = max((abs(n) for n in numbers), default=0.0) if np.isfinite(numbers).all() else 0.0
    return numbers[0] if size and max(numbers) - min(numbers) <= SAME * size else None


def _inside(twin: Trial, us: list[Vec], wanted: float, largest: float) -> bool:
    """Whether the values, every entry of the gradient and of its derivative, and what is asked for are well inside a type's range.

    Entries, too: along short directions a second derivative may be in range that is itself beyond it, and infinity is right then.
    """
    places = [(k, i) for k, x in enumerate(twin.inputs) for i in range(x.size)]
    if len(places) > MOST_ENTRIES or not ROOM / largest < abs(wanted):
        return False
    units = [single(twin, place, 1.0) for place in places]
    twice = [*product(units, units)] if len(units) ** 2 <= MOST_ENTRIES else [*((e, e) for e in units), *((us[0], e) for e in units)]
    nested = next(iter(twin.scenarios(ORDER, None)))
    outcomes = [twin.attempt(REVERSE, [e]) for e in units] + [twin.attempt(nested, [*pair]) for pair in twice]
    tangent = twin.attempt(FORWARD, us[:1])
    numbers: list[Any] = [wanted, *(twin.number(o) if isinstance(o, Outcome) else np.inf for o in outcomes)]
    arrays = [*twin.inputs, *twin.outputs, *(tangent.result if isinstance(tangent, Outcome) else ()), np.asarray(numbers)]
    return all(bool((np.abs(a) < largest**PART).all()) for a in arrays)


def _steady(twin: Trial, us: list[Vec], only: frozenset[Scenario] | None, unit: float, wanted: float) -> bool:
    """Whether roundings of the inputs leave it as it is."""
    nested = next(iter(twin.scenarios(ORDER, only)))
    moved = [twin.attempt(nested, us, twin.jitter(probe), unit) for probe in range(PROBES)]
    return all(isinstance(o, Outcome) and abs(twin.number(o) - wanted) <= STEADY * abs(wanted) for o in moved)
