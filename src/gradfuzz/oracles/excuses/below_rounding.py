"""A function that is constant as far as can be seen, and a derivative that is no more than its terms' rounding."""

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
    unit, numeric = suspect.trial.epsilon, suspect.line.numeric
    if numeric.value != 0.0 and not suspect.line.flat:
        return None
    terms = max(BELOW_ROUNDING, UNITS_OF_TERMS * abs(suspect.value) if suspect.case.order > 1 else 0.0)
    leftover = max(terms * unit * suspect.line.typical, SMALLEST.get(unit, 1e-4))
    return BLIND if abs(suspect.number) < leftover else None


EXCUSE = Excuse("below rounding", "the function is constant as far as can be seen", _element)
