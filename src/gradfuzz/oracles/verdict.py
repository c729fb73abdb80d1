"""What an oracle says about one mutant."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

AGREE = "agree"
DISAGREE = "disagree"
INCONCLUSIVE = "inconclusive"
UNSUPPORTED = "unsupported"
CRASH = "crash"
TIMEOUT = "timeout"
INVALID = "invalid"  # the direct run itself refuses the inputs: nothing to differentiate

# From least to most interesting: a mutant is filed under its most interesting verdict.
RANK = (INVALID, UNSUPPORTED, AGREE, INCONCLUSIVE, DISAGREE, TIMEOUT, CRASH)

# Kinds of disagreement.
VALUE = "value"  # the output changes when it is computed under AD
GRADIENT = "gradient"  # a derivative is wrong
ACCURACY = "accuracy"  # a derivative has fewer digits than its inputs allow
NONFINITE = "nonfinite"  # a derivative is NaN or infinite where the true one is finite
KINK = "kink"  # at a kink, a derivative outside the one-sided ones
STATUS = "status"  # a scenario raises where others work
MALFORMED = "malformed"  # a derivative of another shape or type than what it belongs to
INTERNAL = "internal"  # the library's own assertion fails
MEMORY = "memory"  # a scenario runs out of memory where others work
VARIANT = "variant"  # another way to run a scenario gives another derivative
PRECISION = "precision"  # lower precision is further off than its rounding explains


@dataclass
class Verdict:
    """One oracle's word on one mutant."""

    outcome: str
    oracle: str
    kind: str = ""
    order: int = 0
    scenarios: list[str] = field(default_factory=list)  # those at fault
    reason: str = ""
    expected: Any = None
    actual: Any = None
    error_bar: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_finding(self) -> bool:
        return self.outcome in (DISAGREE, CRASH, TIMEOUT)


def most_interesting(verdicts: list[Verdict]) -> str:
    return max((v.outcome for v in verdicts), key=RANK.index, default=UNSUPPORTED)
