"""Status: where one scenario works, the others work too, or say in so many words that they are not supported."""

from __future__ import annotations

from gradfuzz.oracles import referee
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, INCONCLUSIVE, INTERNAL, MALFORMED, MEMORY, STATUS, UNSUPPORTED, Verdict
from gradfuzz.targets.base.protocol import Outcome, Refusal
from gradfuzz.targets.base.scenario import Scenario

# How far off (in units of the inputs) a point is another one for a message that depends on the numbers.
ELSEWHERE = 2.0**-10
_FINDINGS = {"internal": INTERNAL, "memory": MEMORY, "error": STATUS, "malformed": MALFORMED}


def check_status(trial: Trial, scenario: Scenario, refusal: Refusal) -> Verdict:
    """The verdict on a scenario that raised although the direct run did not."""
    kind = _FINDINGS.get(refusal.kind)
    if refusal.kind == "overwritten":
        # A Program that writes to its inputs may destroy what backward needs, and is told so. One that does not must not be.
        kind = None if trial.point.mutates else STATUS
    if kind is None:
        return Verdict(UNSUPPORTED, "status", order=scenario.order, scenarios=[scenario], reason=refusal.message[:300])
    excuse = _excuse(trial, scenario.plain) if kind == STATUS and scenario.modes else ""
    if excuse:
        return Verdict(INCONCLUSIVE, "status", order=scenario.order, scenarios=[scenario], reason=excuse)
    # An assertion is one bug, whoever runs into it; so is an error that names the operator at fault.
    subject = "any" if kind == INTERNAL else f"any at order {scenario.order}" if refusal.names_fault else ""
    return Verdict(
        DISAGREE, "status", kind, scenario.order, [scenario], refusal.message[:600],
        expected="runs, as the direct scenario does", actual=refusal.message[:600], symptom=refusal.symptom, subject=subject,
    )  # fmt: skip


def _excuse(trial: Trial, scenario: Scenario) -> str:
    """Why nobody could do better at these very numbers; nothing if somebody could."""
    if not trial.finite_inputs:
        return "domain: an input is not finite itself"
    if not trial.finite:
        return "domain: the output itself is not finite"
    us = trial.directions(scenario.order)
    elsewhere = (trial.attempt(scenario, us, us[0], sign * ELSEWHERE) for sign in (-1, 1))
    if any(isinstance(outcome, Outcome) for outcome in elsewhere) and not referee.smooth(trial, scenario.order):
        return "domain edge: it raises only here, where the numeric derivative cannot be had either"
    return ""
