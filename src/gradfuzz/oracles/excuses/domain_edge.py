"""A point at the edge of the function's domain: a step to one side leaves it."""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _line(case: Case, line: Line) -> Says:
    return BLIND if line.numeric.one_sided else None


def _element(suspect: Suspect) -> Says:
    return BLIND if suspect.line.numeric.one_sided else None


def _broken(broken: Broken) -> Says:
    edges = {place for place, line in broken.probed if line.ladder.one_sided or not line.ladder.usable}
    return BLIND if edges and broken.due_to(edges) else None


EXCUSE = Excuse("domain edge", "the function lives on one side of this point only", _element, _broken, _line)
