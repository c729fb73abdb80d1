"""Several stores as one: the least store that holds all that any of them holds.

A store is a set of campaigns. What two stores hold of one campaign is joined piece by piece, and every piece has an order of its own in
which the greater of two stays: the batch that came further, the finding that was confirmed, the larger number of times met. So it does not
matter in which order, how often or in which groups stores are merged. Shards are campaigns of their own; readers add them up.

Stores may be strangers': every row passes the reader that the reading commands use, and what does not is left out and counted.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gradfuzz.store import reading
from gradfuzz.store.lock import Claim
from gradfuzz.store.records import Records
from gradfuzz.store.store import Store

Identity = tuple[str, str, str, str]  # created, target, version, config as canonical JSON: what no two campaigns share
Key = TypeVar("Key")
Value = TypeVar("Value")
_WHOLE = 1 << 62  # a batch of which nobody wrote down where it stopped came to its end


@dataclass(frozen=True)
class Found:
    """A finding as it lies in a store; `said`: what each release says of it, which other machines may know more of."""

    confirmed: int
    document: str  # canonical, without `said`
    id: str
    times: int
    said: tuple[tuple[str, str], ...]

    def join(self, other: Found) -> Found:
        best = max(self, other, key=lambda f: (f.confirmed, f.document, f.id))
        said = _joined(dict(self.said), dict(other.said), max)
        return Found(best.confirmed, best.document, best.id, max(self.times, other.times), tuple(sorted(said.items())))


@dataclass
class Kept:
    """All that is kept of one campaign."""

    status: str = reading.STATUSES[0]
    batches: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # by number: until, then the other columns
    rules: set[str] = field(default_factory=set)
    existing: dict[str, str] = field(default_factory=dict)
    findings: dict[str, Found] = field(default_factory=dict)
    waiting: dict[str, tuple[str, int]] = field(default_factory=dict)  # report and times met, by key
    aliases: dict[str, str] = field(default_factory=dict)
    questions: set[str] = field(default_factory=set)
    seeds: bytes = b""
    spending: dict[tuple[str, str], float] = field(default_factory=dict)  # seconds by run and what for

    @property
    def settled(self) -> set[str]:
        """Keys that were looked into, and do not wait once more."""
        return (self.findings.keys() | self.aliases.keys()) - self.waiting.keys()

    def join(self, other: Kept) -> Kept:
        settled = self.settled | other.settled
        waiting = _joined(self.waiting, other.waiting, lambda a, b: (max(a[0], b[0]), max(a[1], b[1])))
        return Kept(
            max(self.status, other.status, key=_STATUSES.index),
            _joined(self.batches, other.batches, max),
            self.rules | other.rules,
            _joined(self.existing, other.existing, max),
            _joined(self.findings, other.findings, Found.join),
            {key: value for key, value in waiting.items() if key not in settled},
            _joined(self.aliases, other.aliases, max),
            self.questions | other.questions,
            max(self.seeds, other.seeds, key=lambda seeds: (len(seeds), seeds)),
            _joined(self.spending, other.spending, max),
        )


_STATUSES = ("running", "stopped", "finished")
_TABLES = ("batches", "rules", "existing_rules", "findings", "suspicions", "aliases", "questions", "corpora", "spending", "campaigns")
Campaigns = dict[Identity, Kept]


def merge(stores: Iterable[Path], into: Path) -> tuple[Campaigns, dict[Path, int]]:
    """Join stores, and the one at `into` if there is one, in that file; returns what it holds now, and rows of each that were left out.

    StoreError, and nothing changed, if any of them is not a store of ours, is of a newer kind, or cannot be read at all.
    """
    with Claim(into):
        joined: Campaigns = {}
        damaged: dict[Path, int] = {}
        for path in dict.fromkeys((*stores, *([into] if into.exists() else []))):
            with Records(path) as store:
                joined = join(joined, read(store))
                damaged[path] = store.unreadable
        _write(into, joined)
    return joined, {path: rows for path, rows in damaged.items() if rows}


def join(one: Campaigns, other: Campaigns) -> Campaigns:
    """The campaigns of both."""
    return _joined(one, other, Kept.join)


def _joined(one: dict[Key, Value], other: dict[Key, Value], both: Callable[[Any, Any], Any]) -> dict[Key, Value]:
    found = dict(one)
    for key, value in other.items():
        found[key] = both(found[key], value) if key in found else value
    return found


# Reading -----------------------------------------------------------------------------------------------------------------


def read(store: Records) -> Campaigns:
    """Everything that a store holds, as it was at one moment."""
    with _at_one_moment(store.db):
        found: Campaigns = {}
        for row in store.campaigns():
            identity = (row["created"], row["target"], row["version"], _canonical(row["config"]))
            found = join(found, {identity: _kept(store, row)})  # the same campaign twice in one store is one
    return found


@contextlib.contextmanager
def _at_one_moment(db: sqlite3.Connection) -> Iterator[None]:
    """A campaign may be writing: what is read belongs together."""
    with contextlib.suppress(sqlite3.Error):  # a file so damaged that not even this works is read as far as it goes
        db.execute("begin")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            db.execute("rollback")


def _kept(store: Records, row: dict[str, Any]) -> Kept:
    number = row["id"]
    return Kept(
        row["status"],
        dict(store.rows("batches", _batch, number)),
        set(store.rows("rules", lambda row: str(reading.a(str, row["rule"])), number)),
        dict(store.rows("existing_rules", lambda row: (reading.a(str, row["rule"]), reading.a(str, row["reason"])), number)),
        dict(store.rows("findings", _finding, number)),
        dict(store.rows("suspicions", _waiting, number)),
        store.aliases(number),
        set(store.rows("questions", _question, number)),
        max(store.rows("corpora", _seeds, number), default=b""),
        dict(store.rows("spending", reading.spending_of, number)),
    )


def _batch(row: sqlite3.Row) -> tuple[int, tuple[Any, ...]]:
    batch = reading.batch_of(row)
    lesson = str(row["lesson"]) if "lesson" in row.keys() else ""  # noqa: SIM118 - a row is no dict
    until = _WHOLE if batch.until is None else batch.until
    return batch.number, (until, batch.api, str(row["counts"]), str(row["reasons"]), str(row["refusals"]), batch.cpu, lesson)


def _finding(row: sqlite3.Row) -> tuple[str, Found]:
    finding = reading.finding_of(row)
    document = json.loads(row["document"])
    document.pop("releases", None)
    return reading.a(str, row["key"]), Found(
        int(bool(row["confirmed"])), _canonical(document), reading.a(str, row["id"]), finding.times, tuple(sorted(finding.releases))
    )


def _waiting(row: sqlite3.Row) -> tuple[str, tuple[str, int]]:
    pending = reading.pending_of(row)
    return pending.key, (_canonical(json.loads(row["report"])), pending.times)


def _question(row: sqlite3.Row) -> str:
    reading.question_of(row)
    return _canonical(json.loads(row["report"]))


def _seeds(row: sqlite3.Row) -> bytes:
    reading.corpus_of(row)
    return bytes(row["seeds"])


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


# Writing -----------------------------------------------------------------------------------------------------------------


def _write(path: Path, campaigns: Campaigns) -> None:
    """All of it or nothing: in one transaction, and a file that was not there is gone again where that fails."""
    new = not path.exists()
    try:
        with Store(path, create=True) as store, store.transaction():
            for table in _TABLES:
                store.db.execute(f"delete from {table}")
            for number, (identity, kept) in enumerate(sorted(campaigns.items(), key=lambda item: item[0]), 1):
                _write_campaign(store.db, number, identity, kept)
    except BaseException:
        if new:
            for end in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + end).unlink(missing_ok=True)
        raise


def _write_campaign(db: sqlite3.Connection, number: int, identity: Identity, kept: Kept) -> None:
    db.execute("insert into campaigns values (?, ?, ?, ?, ?, ?)", (number, *identity, kept.status))
    for batch, (until, *columns) in sorted(kept.batches.items()):
        db.execute("insert into batches values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, batch, *columns, None if until == _WHOLE else until))
    db.executemany("insert into rules values (?, ?)", [(number, rule) for rule in sorted(kept.rules)])
    db.executemany("insert into existing_rules values (?, ?, ?)", [(number, *pair) for pair in sorted(kept.existing.items())])
    for key, found in sorted(kept.findings.items()):
        document = {**json.loads(found.document), "releases": dict(found.said)}
        row = (number, key, found.id, found.confirmed, found.times, json.dumps(document))
        db.execute("insert into findings values (?, ?, ?, ?, ?, ?)", row)
    db.executemany("insert into suspicions values (?, ?, ?, ?)", [(number, key, *told) for key, told in sorted(kept.waiting.items())])
    db.executemany("insert into aliases values (?, ?, ?)", [(number, *pair) for pair in sorted(kept.aliases.items())])
    db.executemany("insert into questions (campaign, report) values (?, ?)", [(number, report) for report in sorted(kept.questions)])
    if kept.seeds:
        db.execute("insert into corpora values (?, ?)", (number, kept.seeds))
    rows = [(number, *key, seconds) for key, seconds in sorted(kept.spending.items())]
    db.executemany("insert into spending values (?, ?, ?, ?)", rows)
