"""Status: where one scenario works, the others work too, or say in so many words that they are not supported."""

from __future__ import annotations

from gradfuzz.oracles import referee
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, INCONCLUSIVE, INTERNAL, MALFORMED, MEMORY, STATUS, UNSUPPORTED, Verdict
from gradfuzz.targets.protocol import Modes, Outcome, Refusal, scenario_name

# How far off (in units of the inputs) a point is another one for a message that depends on the numbers.
ELSEWHERE = 2.0**-10
_FINDINGS = {"internal": INTERNAL, "memory": MEMORY, "error": STATUS, "malformed": MALFORMED}


def check_status(trial: Trial, modes: Modes, refusal: Refusal) -> Verdict:
    """The verdict on a scenario that raised although the direct run did not."""
    name = scenario_name(modes)
    kind = _FINDINGS.get(refusal.kind)
    if refusal.kind == "overwritten":
        # A Program that writes to its inputs may destroy what backward needs, and is told so. One that does not must not be.
        kind = None if trial.point.mutates else STATUS
    if kind is None:
        return Verdict(UNSUPPORTED, "status", order=len(modes), scenarios=[name], reason=refusal.message[:300])
    excuse = _excuse(trial, modes) if kind == STATUS and modes else ""
    if excuse:
        return Verdict(INCONCLUSIVE, "status", order=len(modes), scenarios=[name], reason=excuse)
    return Verdict(
        DISAGREE, "status", kind, len(modes), [name], refusal.message[:600],
        expected="runs, as the direct scenario does", actual=refusal.message[:600],
    )  # fmt: skip


def _excuse(trial: Trial, modes: Modes) -> str:
    """Why nobody could do better at these very numbers; nothing if somebody could."""
    if not trial.finite_inputs:
        return "domain: an input is not finite itself"
    if not trial.finite:
        return "domain: the output itself is not finite"
    us = [trial.direction(i) for i in range(len(modes))]
    elsewhere = (trial.attempt(modes, us, us[0], sign * ELSEWHERE) for sign in (-1, 1))
    if any(isinstance(outcome, Outcome) for outcome in elsewhere) and not referee.smooth(trial, len(modes)):
        return "domain edge: it raises only here, where the numeric derivative cannot be had either"
    return ""
