"""A kink: AD may choose any slope between the one-sided ones. Above order one there is no telling what it may choose.

Where no slope is known to choose and no entry of the derivative exists, a number that is not finite says just that.
"""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says


def _line(case: Case, line: Line) -> Says:
    return _weighed(line, case.order)


def _element(suspect: Suspect) -> Says:
    return _weighed(suspect.line, suspect.case.order)


def _weighed(line: Line, order: int) -> Says:
    if not line.numeric.kink:
        return None
    if order > 1:
        return BLIND
    return None if any(map(line.outside, line.numbers)) else SUPPORTS


def _broken(broken: Broken) -> Says:
    if broken.case.order == 1:
        return BLIND if broken.line.numeric.kink and not broken.owing else None
    if broken.line.numeric.kink:
        return BLIND
    kinks = {place for place, line in broken.probed if line.ladder.kink}
    return BLIND if kinks and broken.due_to(kinks) else None


EXCUSE = Excuse("kink", "inside the one-sided derivatives", _element, _broken, _line)
