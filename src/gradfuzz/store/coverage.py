"""Derivative rules reached out of those that exist, table by table; values and pairs of values met, API by API."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.mutate.cover import Cover
from gradfuzz.store.records import Records

NO_SEED = "no seed"
INVALID = "invalid"


@dataclass
class Group:
    """One table of rules: reverse, forward, second; or jvp, transpose, batch."""

    existing: dict[str, str] = field(default_factory=dict)  # rule -> why it is out of reach, "" if it is not
    reached: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)  # not reached, though it was in another table

    @property
    def in_reach(self) -> set[str]:
        return {rule for rule, reason in self.existing.items() if not reason}

    @property
    def out_of_reach(self) -> set[str]:
        return {rule for rule, reason in self.existing.items() if reason}

    @property
    def hits(self) -> set[str]:
        """What counts: rules reached among those in reach; all of them where the library does not say what it has."""
        return self.in_reach & self.reached if self.existing else self.reached

    @property
    def share(self) -> float:
        return len(self.hits) / len(self.in_reach) if self.in_reach else 0.0

    def missing(self) -> dict[str, list[str]]:
        """Rules never reached, by the reason, the most numerous first."""
        found: dict[str, list[str]] = defaultdict(list)
        for rule, reason in sorted(self.existing.items()):
            if rule not in self.reached:
                found[reason or (INVALID if rule in self.refused else NO_SEED)].append(rule)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def to_json(self) -> dict[str, Any]:
        return {"reached": sorted(self.reached), "in_reach": len(self.in_reach), "share": self.share, "missing": self.missing()}


def coverage_of(store: Records, campaign: int) -> dict[str, Group]:
    """Coverage of a stored campaign by table."""
    return grouped(store.existing_rules(campaign), set(store.rules(campaign)))


def designs_of(store: Records, campaign: int) -> dict[str, Cover]:
    """How far the covering design of each API has come."""
    found: dict[str, Cover] = {}
    for batch in store.batches(campaign):
        if batch.lesson.cover is not None:
            found[batch.api] = found.get(batch.api, Cover()) | batch.lesson.cover
    return found


def grouped(existing: dict[str, str], reached: set[str]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for rule, reason in existing.items():
        table, _, name = rule.partition(":")
        groups.setdefault(table, Group()).existing[name] = reason
    for rule in reached:
        table, _, name = rule.partition(":")
        group = groups.setdefault(table, Group())
        if not existing or name in group.existing:
            group.reached.add(name)
    # A rule that one table's scenarios reached and another's did not has a seed: what is missing is a run that works.
    anywhere = {rule.partition(":")[2] for rule in reached}
    for group in groups.values():
        group.refused = (group.in_reach - group.reached) & anywhere
    return groups


def shares(existing: set[str], reached: set[str]) -> str:
    """`reverse 451/542, forward 412/443`, for a status line; just a number where it is not known what exists."""
    if not existing:
        return f"{len(reached)} reached"
    totals = Counter(rule.partition(":")[0] for rule in existing)
    hits = Counter(rule.partition(":")[0] for rule in existing & reached)
    return ", ".join(f"{table} {hits[table]}/{total}" for table, total in totals.items())
