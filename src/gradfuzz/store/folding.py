"""Keeping a store small: a campaign that follows another takes over what it knew, batches as one row for each API.

What is found stays as it is, and is not looked into again. What batches counted is added up; of their lessons stays what the next plan can
use: what was met, which edits were refused, how far designs have come, and the newest mutants that became seeds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from gradfuzz.mutate.cover import Cover
from gradfuzz.store.reading import BatchRow, Lesson
from gradfuzz.store.store import Store

FOLDED = 1 << 40  # from this number on batches are sums of earlier ones: no campaign plans so many
# Mutants of an API that stay seeds, the newest; words of an API that are remembered.
MOST_GROWN, MOST_FEATURES = 8, 4096
_MOVED = ("findings", "aliases", "suspicions", "questions")


def folded(rows: Iterable[BatchRow]) -> list[BatchRow]:
    """One row for each API, in the order of their names. Counts add up."""
    by_api: dict[str, list[BatchRow]] = {}
    for row in rows:
        by_api.setdefault(row.api, []).append(row)
    return [_sum(FOLDED + place, api, by_api[api]) for place, api in enumerate(sorted(by_api))]


def _sum(number: int, api: str, rows: list[BatchRow]) -> BatchRow:
    counts, reasons, refusals = (
        sum((Counter(getattr(row, name)) for row in rows), Counter()) for name in ("counts", "reasons", "refusals")
    )
    edits: dict[str, list[int]] = {}
    cover: Cover | None = None
    features: dict[str, None] = {}
    grown = []
    for lesson in (row.lesson for row in sorted(rows, key=lambda row: row.number < FOLDED)):  # the past first
        for name, (tried, valid) in lesson.edits.items():
            known = edits.setdefault(name, [0, 0])
            known[0], known[1] = known[0] + tried, known[1] + valid
        cover = lesson.cover if cover is None else cover | lesson.cover if lesson.cover is not None else cover
        features.update(dict.fromkeys(lesson.features))
        grown += lesson.grown
    told = Lesson(
        sorted(list(features)[-MOST_FEATURES:]), edits, [], sorted({o for row in rows for o in row.lesson.orders}),
        sum(row.lesson.deaths for row in rows), cover, grown[-MOST_GROWN:],
    )  # fmt: skip
    return BatchRow(rows[0].campaign, number, api, dict(counts), dict(reasons), dict(refusals), sum(row.cpu for row in rows), told, None)


def take_over(store: Store, old: int, new: int) -> None:
    """The new campaign has from now on all that the old one had, which is gone."""
    with store.transaction():
        for row in folded(store.batches(old)):
            store.add_batch(new, row.number, row.api, row.counts, row.reasons, row.refusals, row.cpu, (), row.lesson)
        db = store.db
        for table in _MOVED:
            db.execute(f"update {table} set campaign = ? where campaign = ?", (new, old))
        db.execute("insert or ignore into rules select ?, rule from rules where campaign = ?", (new, old))
        db.execute("insert into spending select ?, '', what, sum(seconds) from spending where campaign = ? group by what", (new, old))
        for table in ("batches", "rules", "existing_rules", "corpora", "spending"):
            db.execute(f"delete from {table} where campaign = ?", (old,))
        db.execute("delete from campaigns where id = ?", (old,))


def predecessor(store: Store, target: str, version: str, config: dict[str, object]) -> int | None:
    """The last campaign, if it is one that such a campaign goes on from: the same but for its seed and its length."""
    last = store.campaign()
    if last is None or (last["target"], last["version"]) != (target, version):
        return None
    kept = last["config"]
    same = all(json.dumps(kept.get(name)) == json.dumps(config.get(name)) for name in config if name not in _FREE)
    return int(last["id"]) if same else None


_FREE = ("seed", "seconds", "mutants", "workers", "cluster", "launch", "python_said", "follows", "round")
