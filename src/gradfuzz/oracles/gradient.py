"""Gradient of any order: reverse, forward and numeric compute the same projection ⟨v, J u⟩.

Cheapest first. All nestings of the order and one central difference; if they agree the mutant is done. Only a suspicion
goes to the referee, which costs tens of evaluations.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gradfuzz.oracles import referee
from gradfuzz.oracles.evidence.line import CONCLUSIVE
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.oracles.verdict import AGREE, INCONCLUSIVE, Verdict
from gradfuzz.targets.base.protocol import QUICK_STEP, Outcome, Refusal
from gradfuzz.targets.base.scenario import Scenario, pure

# Two modes of AD do the same sums in another order: they agree to rounding, far below this.
MODES_AGREE = 1e-9
# The central difference at the cube root of the unit errs by about its square, 4e-11, for functions whose third derivative
# is of the size of the first. A thousandfold margin keeps the sharper and dearer ladder for the few that are rougher.
NUMERIC_AGREES = 1e-7
STEP = QUICK_STEP
# What a look says that leaves the referee out.
SUSPECT = "suspect: the cheap rungs do not agree"


def check_gradient(trial: Trial, order: int, ran: dict[Scenario, Outcome], strict: bool = False) -> list[Verdict]:
    """Verdicts on the scenarios of one order that ran. `ran` holds at least one. `strict`: the cheap rungs are not enough."""
    numbers = {scenario: trial.number(outcome) for scenario, outcome in ran.items()}
    base = base_scenario(trial, order)
    if base is None:
        return [Verdict(INCONCLUSIVE, "gradient", order=order, reason="nothing of the order below to difference")]
    if not strict and quick_agreement(trial, base, list(numbers.values())):
        return [_agreement(order)]
    if not trial.finite:
        return [Verdict(INCONCLUSIVE, "gradient", order=order, reason="domain: the output itself is not finite")]
    if not trial.effort.referee:
        return [Verdict(INCONCLUSIVE, "gradient", order=order, scenarios=list(ran), reason=SUSPECT)]
    return referee.judge(trial, order, numbers, base)


@lru_cache(maxsize=16)
def _agreement(order: int) -> Verdict:
    """The verdict that almost every mutant gets: made once."""
    return Verdict(AGREE, "gradient", order=order)


def base_scenario(trial: Trial, order: int) -> Scenario | None:
    """The scenario one order below whose difference quotient is the numeric derivative."""
    for mode in ("r", "f"):
        base = pure(mode, order - 1)
        if not base.modes or not isinstance(trial.outcome(base), Refusal):
            return base
    return None


def quick_agreement(trial: Trial, base: Scenario, numbers: list[float]) -> bool:
    """Whether the modes agree with each other and with one central difference. NaN agrees with nothing."""
    if not math.isfinite(sum(numbers)):
        return False  # min and max would overlook a NaN unless it comes first
    low, high = min(numbers), max(numbers)
    size = max(abs(low), abs(high))
    allowed = tolerance(trial, base.order, size)
    if not high - low <= MODES_AGREE * size + allowed:
        return False
    us = trial.directions(base.order)
    along = trial.direction(base.order)
    plus = trial.attempt(base, us, along, STEP)
    minus = trial.attempt(base, us, along, -STEP)
    if isinstance(plus, Refusal) or isinstance(minus, Refusal):
        return False
    ahead, behind = trial.number(plus), trial.number(minus)
    slope = (ahead - behind) / (2 * STEP)
    gap = max(abs(slope - low), abs(slope - high)) if allowed else abs(slope - low)
    if gap <= NUMERIC_AGREES * size + allowed:
        return True
    with np.errstate(all="ignore"):
        floor = 4 * DOUBLE_UNIT * float(np.abs(trial.components(plus)).sum()) / STEP
    # Rounding as large as the derivative hides any error; only a derivative that is exactly zero leaves none to hide.
    return bool(gap <= floor) and (floor <= CONCLUSIVE * size or size == 0.0)


def tolerance(trial: Trial, order: int, size: float) -> float:
    """How far a contracted derivative may be off by design; nothing where nobody has said so.

    An error of `atol` in every entry adds up to the lengths of all directions, by chance of signs.
    """
    rtol, atol = trial.effort.rtol, trial.effort.atol
    if not atol:
        return rtol * size
    lengths = [float(np.sqrt(sum((np.abs(a) ** 2).sum() for a in vec.arrays))) for vec in (trial.v, *trial.directions(order + 1))]
    return rtol * size + atol * math.prod(lengths)
