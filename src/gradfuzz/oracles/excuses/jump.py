"""A jump: an output changes over a vanishing step, and by the same over one many times as long."""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.probes import at_zero, jumps
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _element(suspect: Suspect) -> Says:
    return BLIND if jumps(suspect.line, at_zero(suspect.line)) else None


def _broken(broken: Broken) -> Says:
    """Elements jump at special points: where others are ordinary, they must not hide behind those. A jump of a derivative is a kink."""
    if broken.case.order == 1:
        jumping = {place for place, line in broken.probed if jumps(line, at_zero(line))}
        if jumping and broken.due_to(jumping, apart=True):
            return BLIND
    if not jumps(broken.line, at_zero(broken.line)):
        return None
    special = broken.special
    return BLIND if len(special) == sum(x.size for x in broken.trial.inputs) or broken.due_to(special) else None


EXCUSE = Excuse("jump", "the function is not continuous here", _element, _broken)
