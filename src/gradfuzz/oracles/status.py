"""Status: where one scenario works, the others work too, or say in so many words that they are not supported."""

from __future__ import annotations

from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, INTERNAL, MALFORMED, MEMORY, STATUS, UNSUPPORTED, Verdict
from gradfuzz.targets.protocol import Modes, Refusal, scenario_name

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
    return Verdict(
        DISAGREE, "status", kind, len(modes), [name], refusal.message[:600],
        expected="runs, as the direct scenario does", actual=refusal.message[:600],
    )  # fmt: skip
