"""A function that is not one: two runs at the same inputs differ."""

from __future__ import annotations

from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _line(case: Case, line: Line) -> Says:
    return BLIND if not case.repeats else None


EXCUSE = Excuse("nondeterministic", "two runs differ", line=_line)
