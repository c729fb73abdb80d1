"""Gradient of any order: reverse, forward and numeric compute the same projection ⟨v, J u⟩.

Cheapest first. All nestings of the order and one central difference; if they agree the mutant is done. Only a suspicion
goes to the referee, which costs tens of evaluations.
"""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles import referee
from gradfuzz.oracles.trial import EPSILON, Trial
from gradfuzz.oracles.verdict import AGREE, INCONCLUSIVE, Verdict
from gradfuzz.targets.protocol import Modes, Outcome, Refusal

# Two modes of AD do the same sums in another order: they agree to rounding, far below this.
MODES_AGREE = 1e-9
# The central difference at the cube root of the unit errs by about its square, 4e-11, for functions whose third derivative
# is of the size of the first. A thousandfold margin keeps the sharper and dearer ladder for the few that are rougher.
NUMERIC_AGREES = 1e-7
STEP = EPSILON[8] ** (1 / 3)


def check_gradient(trial: Trial, order: int, ways: dict[Modes, Outcome]) -> list[Verdict]:
    """Verdicts on the scenarios of one order that ran. `ways` holds at least one."""
    if not all(np.isfinite(o).all() for o in trial.direct):
        return [Verdict(INCONCLUSIVE, "gradient", order=order, reason="domain: the output itself is not finite")]
    numbers = {modes: trial.number(outcome) for modes, outcome in ways.items()}
    base = base_modes(trial, order)
    if base is None:
        return [Verdict(INCONCLUSIVE, "gradient", order=order, reason="nothing of the order below to difference")]
    slope, floor = quick_slope(trial, base)
    if agrees(list(numbers.values()), slope, floor):
        return [Verdict(AGREE, "gradient", order=order)]
    return referee.judge(trial, order, numbers, base)


def base_modes(trial: Trial, order: int) -> Modes | None:
    """The scenario one order below whose difference quotient is the numeric derivative."""
    for mode in ("r", "f"):
        base: Modes = (mode,) * (order - 1)
        if not base or not isinstance(trial.outcome(base), Refusal):
            return base
    return None


def quick_slope(trial: Trial, base: Modes) -> tuple[float, float]:
    """A central difference and its rounding floor."""
    us = [trial.direction(i) for i in range(len(base))]
    along = trial.direction(len(base))
    with np.errstate(all="ignore"):
        plus = trial.components(trial.attempt(base, us, along, STEP))
        minus = trial.components(trial.attempt(base, us, along, -STEP))
        if plus.shape != minus.shape:
            return float("nan"), 0.0
        floor = 4 * EPSILON[8] * float(np.abs(plus).sum()) / STEP
        return float((plus - minus).sum()) / (2 * STEP), floor


def agrees(numbers: list[float], slope: float, floor: float) -> bool:
    """Whether all the numbers say the same. NaN agrees with nothing."""
    low, high = min(numbers), max(numbers)
    size = max(abs(low), abs(high))
    if not high - low <= MODES_AGREE * size:
        return False
    return abs(slope - low) <= max(NUMERIC_AGREES * size, floor)
