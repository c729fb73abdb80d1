"""Value: the output computed under AD equals the direct one, up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.rounding import output_scatter
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, VALUE, Verdict
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import DIRECT, Scenario

Array = Any

# Another kernel may run under AD. It may differ by this many units of the last place, relative to the largest output,
# before the difference is held against what a rounding of the inputs does.
FREE_UNITS = 64.0
# By so many units inputs are rounded otherwise, up and down. What cancels may give the same number, or none, at several of them.
ROUNDED = range(1, 9)


def check_value(trial: Trial, scenario: Scenario, outcome: Outcome) -> Verdict | None:
    """None if the outputs agree: the common case, kept free of allocations."""
    seen = outcome.outputs
    for ours, theirs in zip(trial.direct, seen):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype or not _same(ours, theirs):
            return _judge(trial, scenario, seen)
    return None if len(seen) == len(trial.direct) else _judge(trial, scenario, seen)


def _same(a: Array, b: Array) -> bool:
    # Bit for bit is the common case and the cheapest question; anything else goes to the judge.
    return a is b or a.tobytes() == b.tobytes()


def _judge(trial: Trial, scenario: Scenario, seen: list[Array]) -> Verdict | None:
    name = scenario.name
    described = [_describe(trial.direct), _describe(seen)]
    if described[0] != described[1]:
        return _finding(scenario, f"the outputs are {described[1]} under {name}, {described[0]} directly", described[0], described[1])
    with np.errstate(all="ignore"):
        worst = _distance(trial.direct, seen)
        if worst <= FREE_UNITS * trial.epsilon:
            return None
        if trial.point.random:
            # The same state of the generator, yet another kernel or memory layout takes its numbers in another order.
            return Verdict(INCONCLUSIVE, "value", VALUE, scenario.order, [scenario], "random: other numbers may be drawn under AD")
        again = trial.attempt(DIRECT, ())
        if not isinstance(again, Outcome) or _distance(trial.direct, again.outputs) > 0:
            return Verdict(INCONCLUSIVE, "value", VALUE, scenario.order, [scenario], "nondeterministic: two direct runs differ")
        explained = _explained(trial)
        frayed = worst > explained and _frayed(trial)
    if frayed:
        return Verdict(INCONCLUSIVE, "value", VALUE, scenario.order, [scenario], "rounding: nothing is left of the output but that")
    if worst <= explained:
        return Verdict(AGREE, "value", VALUE, scenario.order, [scenario], "within what rounding does")
    index = _worst_element(trial.direct, seen)
    if not np.isfinite(trial.direct[index[0]].ravel()[index[1]]) and not trial.finite_inputs:
        return Verdict(INCONCLUSIVE, "value", VALUE, scenario.order, [scenario], "domain: neither the input nor the output is finite")
    reason = f"the output changes under {name}: element {index} of output {index[0]}"
    expected, actual = (_number(side[index[0]].ravel()[index[1]]) for side in (trial.direct, seen))
    return _finding(scenario, reason, expected, actual, explained)


def _explained(trial: Trial) -> float:
    """How far a few roundings of the inputs move the direct output, and how far those inside the function do."""
    moved = 0.0
    for index, units in enumerate(ROUNDED):
        moved = max([moved, *(_moved(trial, index, sign * units) for sign in (1, -1))])
    return 16 * moved + FREE_UNITS * trial.epsilon + output_scatter(trial)


def _frayed(trial: Trial) -> bool:
    """Whether one rounding moves the output by its own size and the next one brings it back: it is noise, which may be infinite as well.

    At a jump all roundings on one side move it.
    """
    sides = ([_moved(trial, 0, sign * units) >= 1.0 for units in ROUNDED] for sign in (1, -1))
    return any(there and not further for moved in sides for there, further in zip(moved, moved[1:]))


def _moved(trial: Trial, pattern: int, units: int) -> float:
    """By how much another rounding of the inputs, by so many units, moves the direct output."""
    outcome = trial.attempt(DIRECT, (), trial.jitter(pattern), units * trial.epsilon)
    return _distance(trial.direct, outcome.outputs) if isinstance(outcome, Outcome) else 0.0


def _distance(ours: list[Array], theirs: list[Array]) -> float:
    """The largest difference, relative to the largest finite entry of the output; infinite if the NaNs differ.

    Below the smallest normal number digits are lost to the format itself: nothing is held against that.
    """
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.shape != b.shape:
            return float("inf")
        if not a.size:
            continue
        differing = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if not differing.any():
            continue
        gaps = np.abs(a[differing] - b[differing])
        finite = np.abs(a[np.isfinite(a)])
        scale = float(finite.max()) if finite.size else 1.0
        least = float(np.finfo(a.dtype).tiny) if a.dtype.kind in "fc" else 0.0
        worst = max(worst, float(np.nan_to_num(gaps, nan=np.inf).max()) / max(scale or 1.0, least))
    return worst


def _worst_element(ours: list[Array], theirs: list[Array]) -> tuple[int, int]:
    best, where = -1.0, (0, 0)
    for position, (a, b) in enumerate(zip(ours, theirs)):
        if not a.size:
            continue
        with np.errstate(all="ignore"):
            gap = np.nan_to_num(np.abs(a - b), nan=0.0, posinf=1e300).ravel()
            gap[(np.isnan(a) != np.isnan(b)).ravel()] = np.inf
        if gap.max() > best:
            best, where = float(gap.max()), (position, int(gap.argmax()))
    return where


def _number(number: Any) -> Any:
    return complex(number) if np.iscomplexobj(number) else float(number)


def _describe(outputs: list[Array]) -> str:
    return ", ".join(f"{o.dtype}{list(o.shape)}" for o in outputs) or "nothing"


def _finding(scenario: Scenario, reason: str, expected: Any, actual: Any, bar: float | None = None) -> Verdict:
    return Verdict(DISAGREE, "value", VALUE, scenario.order, [scenario], reason, expected, actual, bar)
