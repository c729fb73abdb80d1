"""A function that is constant as far as can be seen, and a derivative that is no more than its terms' rounding.

The same of a part of it: an output, or the imaginary part of one, that fine steps do not move: rounded away beside a larger number.
"""

from __future__ import annotations

from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says

# Derivatives of a function that is constant as far as can be seen: this many units of its terms may be left over.
BELOW_ROUNDING = 2.0**14
# Second derivatives hold differences of first ones whose terms, exp(x - y) say, are known to as many units as |x|: a few of those.
UNITS_OF_TERMS = 16.0
# And below these a result of that rounding unit underflows.
SMALLEST = {2.0**-52: 1e-300, 2.0**-23: 1e-36}


def _element(suspect: Suspect) -> Says:
    unit, numeric = suspect.trial.inside, suspect.line.numeric
    terms = max(BELOW_ROUNDING, UNITS_OF_TERMS * abs(suspect.value) if suspect.case.order > 1 else 0.0)
    leftover = max(terms * unit * suspect.line.typical, SMALLEST.get(unit, 1e-4))
    if numeric.value == 0.0 or suspect.line.flat:
        return BLIND if abs(suspect.number) < leftover else None
    return BLIND if suspect.gap < leftover and _of_what_rests(suspect) else None


def _of_what_rests(suspect: Suspect) -> bool:
    """Whether all that AD says too much is about outputs that fine steps do not move."""
    line, v = suspect.line, suspect.line.still
    if v is None:
        return False
    gaps = ((s, abs(line.numbers[s] - line.number_of(s, v) - line.numeric.value)) for s in suspect.wrong)
    return all(gap <= line.bar(scenario) for scenario, gap in gaps)


EXCUSE = Excuse("below rounding", "the function is constant as far as can be seen", _element)
