"""A jump: an output changes over a vanishing step, and by the same over one many times as long.

It excuses what is said of that output; where the others are as wrong by themselves, the jump has not made the gap.
"""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import at_zero, jumping
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _element(suspect: Suspect) -> Says:
    jumped = jumping(suspect.line, at_zero(suspect.line))
    return BLIND if jumped.any() and not suspect.elsewhere(jumped) else None


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
