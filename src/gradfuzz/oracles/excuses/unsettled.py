"""Differences that settle on nothing."""

from __future__ import annotations

from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _line(case: Case, line: Line) -> Says:
    return BLIND if not line.numeric.usable and not line.numeric.one_sided else None


EXCUSE = Excuse("unsettled", "the numeric derivative does not settle", line=_line)
