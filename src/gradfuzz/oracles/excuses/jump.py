"""A jump: an output changes over a vanishing step, and by the same over one many times as long.

It excuses what is said of that output; where the others are as wrong by themselves, the jump has not made the gap. Those may be stairs
that look like a slope from afar: of a quotient and its remainder one jumps and the other rests at fine steps, as AD says.
Where the function jumps its derivatives need not: one that is another at a single point may have slope zero there, and on both sides.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import TINY_STEPS, at_zero, borne_out, jumping, slopes
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.targets.base.scenario import DIRECT, Scenario

Array = Any


def _element(suspect: Suspect) -> Says:
    jumped = jumping(suspect.line, at_zero(suspect.line))
    if not jumped.any():
        return BLIND if suspect.case.order > 1 and _is_another_here(suspect) else None
    right = not suspect.elsewhere(jumped) or all(_borne_out(suspect.line, scenario, ~jumped) for scenario in suspect.wrong)
    return BLIND if right else None


def _is_another_here(suspect: Suspect) -> bool:
    """Whether the function itself jumps where a derivative of it does not."""
    function = Line(suspect.trial, DIRECT, suspect.line.along, ())
    return bool(jumping(function, at_zero(function)).any())


def _borne_out(line: Line, scenario: Scenario, others: Array) -> bool:
    """Whether the finest steps say of the other outputs what a scenario does."""
    weights = line.weights(others)
    if weights is None:
        return False
    return borne_out(slopes(line, TINY_STEPS, others), line.number_of(scenario, weights), line.gap_of(scenario, others))


def _broken(broken: Broken) -> Says:
    """Elements jump at special points: where others are ordinary, they must not hide behind those. A jump of a derivative is a kink."""
    if broken.case.order == 1:
        places = {place for place, line in broken.probed if jumping(line, at_zero(line)).any()}
        if places and broken.due_to(places, apart=True):
            return BLIND
    if not jumping(broken.line, at_zero(broken.line)).any():
        return None
    special = broken.special
    return BLIND if len(special) == sum(x.size for x in broken.trial.inputs) or broken.due_to(special) else None


EXCUSE = Excuse("jump", "the function is not continuous here", _element, _broken)
