"""Is an API being tested at all? Where one excuse takes many of its mutants, it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gradfuzz.store.records import Records

# More than this part of an API's mutants under one excuse: whatever else is wrong with them would not be seen.
SHARE = 0.05
# Fewer mutants than this say nothing about a share of that size.
LEAST = 20
# The library refuses these itself: they were never examined.
NOT_EXAMINED = ("invalid",)


@dataclass(frozen=True)
class Untested:
    """An API and the excuse that takes too many of its mutants."""

    api: str
    excuse: str
    taken: int
    mutants: int

    @property
    def share(self) -> float:
        return self.taken / self.mutants

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share}


def untested(store: Records, campaign: int) -> list[Untested]:
    """What a campaign has not tested although it ran it, the worst first."""
    return among(store.by_api(campaign), store.reasons_by_api(campaign))


def among(outcomes: Mapping[str, Mapping[str, int]], reasons: Mapping[str, Mapping[str, int]]) -> list[Untested]:
    """The same of APIs whose mutants were counted before, by outcome and by excuse."""
    found = []
    for api, counts in outcomes.items():
        mutants = sum(n for outcome, n in counts.items() if outcome not in NOT_EXAMINED)
        if mutants >= LEAST:
            found += [Untested(api, name, n, mutants) for name, n in reasons.get(api, {}).items() if n > SHARE * mutants]
    return sorted(found, key=lambda u: (-u.share, u.api, u.excuse))
