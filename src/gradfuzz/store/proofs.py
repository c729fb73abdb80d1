"""Proofs that were lost: suspicions that a fresh process saw again, and whose script then did not show them. Each is a defect of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.store.records import Records
from gradfuzz.targets.base.errors import normalised

# Reasons that a person still reads in one line.
MOST_REASONS = 5


@dataclass(frozen=True)
class Proofs:
    """How many suspicions were seen twice and had their script run, and why some of these scripts showed nothing."""

    seen: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def told(self) -> str:
        """One line; nothing where nothing was lost."""
        if not self.lost:
            return ""
        reasons = "; ".join(f"{reason} ({n})" for reason, n in self.lost.most_common(MOST_REASONS))
        return f"{self.lost.total()} of {self.seen} seen twice were lost to their script: {reasons}"

    def to_json(self) -> dict[str, Any]:
        return {"seen_twice": self.seen, "lost": self.lost.total(), "reasons": dict(self.lost.most_common())}


def proofs_of(store: Records, campaign: int | None = None) -> Proofs:
    """Of one campaign, or of all."""
    return lost_proofs(store.findings(campaign, unconfirmed=True))


def lost_proofs(found: Sequence[Finding]) -> Proofs:
    """Of findings that were read before, the unconfirmed ones among them."""
    lost = Counter(normalised(f.lost) for f in found if f.lost)
    return Proofs(sum(f.confirmed for f in found) + lost.total(), lost)
