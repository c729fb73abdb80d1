"""What campaigns have reached so far, read off the store: rules, pairs, bugs. New is what is not in here."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from gradfuzz.findings.labels import NEW
from gradfuzz.mutate.cover import Cover
from gradfuzz.store import Records
from gradfuzz.store.coverage import designs_of

MOST_RULES = 12  # in a prompt


def pairs_of(store: Records, campaign: int) -> dict[str, set[str]]:
    """The pairs that a campaign covered, by API: here the combinations of (rule, types and ranks and layouts, order, outcome)."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in store.batches(campaign):
        found[row.api].update(row.lesson.features)
    return dict(found)


@dataclass
class Known:
    """Everything that the campaigns on a target reached."""

    rules: set[str] = field(default_factory=set)
    existing: set[str] = field(default_factory=set)  # rules that can be reached
    pairs: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    designs: dict[str, Cover] = field(default_factory=dict)  # of the library's own seeds: what was tried of each API
    bugs: dict[str, str] = field(default_factory=dict)  # API by id, of findings that nobody has reported as far as is known

    @staticmethod
    def read(path: Path, target: str, first: int = 0, last: int | None = None) -> Known:
        """Of the campaigns after `first` and up to `last`; of none where there is no store."""
        known = Known()
        if not path.exists():
            return known
        with Records(path) as store:
            for row in store.campaigns():
                number = int(row["id"])
                if row["target"] == target and first < number and (last is None or number <= last):
                    known._add(store, number, own=not row["config"].get("seed_files"))
        return known

    def _add(self, store: Records, number: int, own: bool) -> None:
        """`own`: its seeds were the library's own, and nobody else's."""
        self.rules.update(store.rules(number))
        self.existing.update(rule for rule, reason in store.existing_rules(number).items() if not reason)
        for api, pairs in pairs_of(store, number).items():
            self.pairs[api].update(pairs)
        for api, cover in designs_of(store, number).items() if own else ():
            before = self.designs.get(api, Cover())
            self.designs[api] = cover | before if (before.levels, before.pairs) == (cover.levels, cover.pairs) else cover
        self.bugs.update({finding.id: finding.api for finding in store.findings(number) if finding.label_name == NEW})

    @property
    def all_pairs(self) -> set[str]:
        return set().union(*self.pairs.values()) if self.pairs else set()

    def missing(self, api: str) -> list[str]:
        """Rules not reached yet, those first that are named like the API."""
        word = _word(api.rpartition(".")[2])
        return sorted(self.existing - self.rules, key=lambda rule: (not word or word not in _word(rule), rule))[:MOST_RULES]

    def hopes(self, apis: list[str]) -> dict[str, float]:
        """APIs that a rule not reached yet is named like: there is something left to find."""
        left = " ".join(_word(rule) for rule in self.existing - self.rules)
        return {api: 2.0 for api in apis if len(_word(api.rpartition(".")[2])) > 2 and _word(api.rpartition(".")[2]) in left}


def last_campaign(path: Path) -> int:
    """The number of the store's newest campaign; 0 where there is none."""
    if not path.exists():
        return 0
    with Records(path) as store:
        return max((int(row["id"]) for row in store.campaigns()), default=0)


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
