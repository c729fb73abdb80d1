"""What an oracle says about one mutant."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from gradfuzz.targets.base.scenario import Scenario

AGREE = "agree"
DISAGREE = "disagree"
INCONCLUSIVE = "inconclusive"
UNSUPPORTED = "unsupported"
CRASH = "crash"
TIMEOUT = "timeout"
INVALID = "invalid"  # the direct run itself refuses the inputs: nothing to differentiate

# From least to most interesting: a mutant is filed under its most interesting verdict.
RANK = (INVALID, UNSUPPORTED, AGREE, INCONCLUSIVE, DISAGREE, TIMEOUT, CRASH)

# What begins the reason of a verdict where an oracle itself has failed: it costs the mutant, not the campaign.
MISTAKE = "a mistake of gradfuzz's own"

# Kinds of disagreement.
VALUE = "value"  # the output changes when it is computed under AD
GRADIENT = "gradient"  # a derivative is wrong
ACCURACY = "accuracy"  # a derivative has fewer digits than its inputs allow
TAIL = "tail"  # a derivative is lost beside a larger number although it is an ordinary one
NONFINITE = "nonfinite"  # a derivative is NaN or infinite where the true one is finite
KINK = "kink"  # at a kink, a derivative outside the one-sided ones
STATUS = "status"  # a scenario raises where others work
MALFORMED = "malformed"  # a derivative of another shape or type than what it belongs to
INTERNAL = "internal"  # the library's own assertion fails
MEMORY = "memory"  # a scenario runs out of memory where others work
WAY = "way"  # another way to run a scenario gives another derivative
PRECISION = "precision"  # lower precision is further off than its rounding explains
# What is about the size of a derivative: the reference has something to say to it.
ABOUT_NUMBERS = (GRADIENT, ACCURACY, NONFINITE, KINK, PRECISION, WAY, TAIL)


@dataclass
class Verdict:
    """One oracle's word on one mutant."""

    outcome: str
    oracle: str
    kind: str = ""
    order: int = 0
    scenarios: list[Scenario] = field(default_factory=list)  # those at fault
    reason: str = ""
    expected: Any = None
    actual: Any = None
    error_bar: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    symptom: str = ""  # of an error: its message as far as it tells bugs apart
    subject: str = ""  # whose fault it is, where the error itself says so; else the rule's or the API's

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "scenarios": self.names}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Verdict:
        """Read what `to_json` wrote; what else the data holds is left alone."""
        known = {f.name: data[f.name] for f in fields(Verdict) if f.name in data}
        return Verdict(**{**known, "scenarios": [Scenario.named(name) for name in data["scenarios"]]})

    @property
    def names(self) -> list[str]:
        """What people call the scenarios at fault."""
        return [s.name for s in self.scenarios]

    @property
    def excuses(self) -> list[str]:
        """The names of what made it inconclusive."""
        return list(self.detail.get("excuses", ())) or [self.reason.split(":")[0]]

    @property
    def is_finding(self) -> bool:
        return self.outcome in (DISAGREE, CRASH, TIMEOUT)


def most_interesting(verdicts: list[Verdict]) -> str:
    return max((v.outcome for v in verdicts), key=RANK.index, default=UNSUPPORTED)
