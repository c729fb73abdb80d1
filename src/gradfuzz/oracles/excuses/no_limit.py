"""A branch point: slopes keep growing by a steady factor as the steps shrink, so there is no derivative, whatever coarser steps say.

It excuses what is said of that output, as a jump does. So does a cusp, whose slopes grow to both sides and cancel each other,
where no other derivative is lost with it.
"""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _line(case: Case, line: Line) -> Says:
    return BLIND if line.ladder.growing and not any(line.wrong()) else None


def _element(suspect: Suspect) -> Says:
    diverging = suspect.line.ladder.diverging
    return BLIND if diverging.any() and not suspect.elsewhere(diverging) else None


def _broken(broken: Broken) -> Says:
    branches = {place for place, line in broken.probed if line.ladder.growing}
    if branches and broken.due_to(branches):
        return BLIND
    cusps = {place for place, line in broken.probed if line.cusp}
    return BLIND if cusps and not broken.owing and broken.due_to(cusps) else None


EXCUSE = Excuse("no limit", "slopes keep growing as the steps shrink", _element, _broken, _line)
