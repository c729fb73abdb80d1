"""Vectors that are free up to a sign or a phase: what is defined of the decomposition moves as AD says."""

from __future__ import annotations

from gradfuzz.oracles.evidence.invariants import Judged, invariants_of
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.excuses.base import BLIND, SUPPORTS, Excuse, Says


def _element(suspect: Suspect) -> Says:
    trial = suspect.trial
    defined = invariants_of(trial.direct, trial.inputs) if suspect.case.order == 1 else None
    if defined is None:
        return None
    judged = Judged(trial, defined, suspect.line.along, suspect.wrong)
    right = [judged.right(scenario) for scenario in suspect.wrong]
    return None if False in right else SUPPORTS if all(right) else BLIND


EXCUSE = Excuse("gauge", "vectors are free up to a phase: projectors and products move as AD says", _element, dear=True)
