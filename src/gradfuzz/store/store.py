"""The store: one SQLite file in WAL mode that outlives any crash of the campaign."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.postmortem import Death
from gradfuzz.findings.shown import Short
from gradfuzz.store.opening import APPLICATION, SCHEMA, missing, refuse_foreign
from gradfuzz.store.reading import Lesson, pending_json
from gradfuzz.store.records import IN_WAY, Records

_SCHEMA_FILE = Path(__file__).with_name("schema.sql")
# What each form added to the one before; nothing in an older store changes.
_ADDED = {
    2: "alter table batches add column lesson text not null default '';"
    "create table if not exists existing_rules (campaign integer not null references campaigns(id), rule text not null,"
    " reason text not null, primary key (campaign, rule));",
    3: "alter table batches add column until integer;"
    "alter table suspicions add column times integer not null default 1;"
    "create table if not exists aliases (campaign integer not null references campaigns(id), key text not null,"
    " final text not null, primary key (campaign, key));",
    4: "create table if not exists questions (number integer primary key, campaign integer not null references campaigns(id),"
    " report text not null);"
    "create table if not exists corpora (campaign integer primary key references campaigns(id), seeds blob not null);",
    5: "create table if not exists spending (campaign integer not null references campaigns(id), run text not null, what text not null,"
    " seconds real not null, primary key (campaign, run, what));",
}


class Store(Records):
    """A store that is written to. Whatever is acknowledged is in the file; whatever belongs together is there together or not at all."""

    def __init__(self, path: Path, create: bool) -> None:
        """Open the file to write; StoreError, and the file untouched, if it is not a store of ours or is of a newer kind."""
        if not path.exists() and not create:
            raise missing(path)
        new = not path.exists() or not refuse_foreign(path)
        self.path, self._depth = path, 0
        try:
            db = sqlite3.connect(path, isolation_level=None)
            if new:
                # Before WAL: what tells our files from others' must be in the file itself, whenever the process dies.
                header = f"pragma application_id = {APPLICATION}; pragma user_version = {SCHEMA};"
                db.executescript("begin;" + header + _SCHEMA_FILE.read_text() + "commit;")
            else:
                _bring_up_to_date(db)
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
            self._file = os.stat(path)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path} cannot be used as a store ({error}); name another with --store") from None
        super().__init__(path, db)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written inside is there as a whole or not at all. One inside another is part of it."""
        if self._depth:
            yield
            return
        self._still_there()
        self._depth = 1
        try:
            self.db.execute("begin immediate")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.db.execute("rollback")
                raise
            self.db.execute("commit")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("rollback")
            raise StoreError(f"{self.path} cannot be written to any more ({error}); what was told before is in it") from None
        finally:
            self._depth = 0

    def _still_there(self) -> None:
        """StoreError if somebody took the file away: what is written to it now would be gone with us."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self.path), self._file):
                return
        told = f"{self.path} was deleted or replaced while the campaign ran"
        if os.path.lexists(self.path):
            raise StoreError(f"{told}; the campaign has ended, since nothing it finds could be kept")
        try:
            for end in ("-wal", "-shm"):  # the old file's, of no use to the new one
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)
            with contextlib.closing(sqlite3.connect(self.path)) as again:
                self.db.backup(again)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{told}, and could not be written again ({error})") from None
        raise StoreError(f"{told}; what it held has been written there again, and --resume goes on from there")

    def parts(self, campaign: int) -> tuple[int, ...]:
        """Whoever writes a campaign deals with that one alone."""
        return (campaign,)

    # Campaigns -------------------------------------------------------------------------------------------------------

    def begin(self, target: str, version: str, config: dict[str, Any]) -> int:
        created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        with self.transaction():
            cursor = self.db.execute(
                "insert into campaigns (created, target, version, config, status) values (?, ?, ?, ?, 'running')",
                (created, target, version, json.dumps(config)),
            )
        return int(cursor.lastrowid or 0)

    def set_status(self, campaign: int, status: str) -> None:
        self._write("update campaigns set status = ? where id = ?", status, campaign)

    def _write(self, statement: str, *values: Any) -> int:
        """One statement; returns how many rows it changed."""
        with self.transaction():
            return self.db.execute(statement, values).rowcount

    # Batches ---------------------------------------------------------------------------------------------------------

    def add_batch(
        self, campaign: int, number: int, api: str, counts: Mapping[str, int], reasons: Mapping[str, int], refusals: Mapping[str, int],
        cpu: float, rules: Iterable[str], lesson: Lesson | None = None, until: int | None = None, ways: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """A finished batch, the rules it reached and the ways it ran in; in the place of the same batch where it was cut short before."""
        rules = set(rules)
        reached = rules | {f"{IN_WAY}{way}:{rule.partition(':')[2]}" for way in ways for rule in rules}
        taught = json.dumps(lesson.to_json(), separators=(",", ":")) if lesson is not None else ""
        told = (json.dumps(dict(row)) for row in (counts, reasons, refusals))
        with self.transaction():
            row = (campaign, number, api, *told, cpu, taught, until)
            self.db.execute("insert or replace into batches values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self.db.executemany("insert or ignore into rules values (?, ?)", [(campaign, rule) for rule in reached])

    def set_existing_rules(self, campaign: int, rules: dict[str, str]) -> None:
        with self.transaction():
            self.db.executemany("insert or replace into existing_rules values (?, ?, ?)", [(campaign, r, why) for r, why in rules.items()])

    def keep_corpus(self, campaign: int, seeds: list[dict[str, Any]]) -> None:
        """The seeds of a campaign, so that it can be run again elsewhere."""
        lines = "\n".join(json.dumps(seed, separators=(",", ":")) for seed in seeds)
        self._write("insert or replace into corpora values (?, ?)", campaign, zlib.compress(lines.encode()))

    def spend(self, campaign: int, run: str, seconds: Mapping[str, float]) -> None:
        """What a run of the campaign has spent on each thing so far; other runs' stays."""
        with self.transaction():
            rows = [(campaign, run, what, spent) for what, spent in seconds.items()]
            self.db.executemany("insert or replace into spending values (?, ?, ?, ?)", rows)

    # Findings --------------------------------------------------------------------------------------------------------

    def release_said(self, identity: str, version: str, said: str) -> None:
        """What a release says of the findings with this id."""
        self._amend(identity, lambda document: {"releases": {**(document.get("releases") or {}), version: said}})

    def keep_short(self, identity: str, short: Short) -> None:
        """The short script of the findings with this id."""
        self._amend(identity, lambda _: {"short": short.to_json()})

    def _amend(self, identity: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        with self.transaction():
            for row in self.db.execute("select rowid, document from findings where id = ?", (identity,)).fetchall():
                document = json.loads(row["document"])
                self._write("update findings set document = ? where rowid = ?", json.dumps({**document, **change(document)}), row["rowid"])

    def suspect(self, campaign: int, key: str, report: Suspicion | Death) -> None:
        """Something new was seen: it waits to be looked into."""
        self._write("insert or ignore into suspicions values (?, ?, ?, 1)", campaign, key, pending_json(report))

    def met_again(self, campaign: int, key: str, times: int = 1) -> None:
        """A finding, or a suspicion that waits, was met so many times more."""
        for table in ("findings", "suspicions"):
            self._write(f"update {table} set times = times + ? where campaign = ? and key = ?", times, campaign, key)

    def wonder(self, campaign: int, question: Suspicion) -> int:
        """Nothing is suspected, and the reference is to be asked all the same; returns the question's number."""
        with self.transaction():
            row = self.db.execute("insert into questions (campaign, report) values (?, ?)", (campaign, pending_json(question)))
        return int(row.lastrowid or 0)

    def answered(self, number: int) -> None:
        """A question is one no longer."""
        self._write("delete from questions where number = ?", number)

    def add_finding(self, campaign: int, key: str, finding: Finding) -> None:
        """The finished finding, in the place of its suspicion and of what was kept under its key; times add up."""
        with self.transaction():
            self._write(
                "insert into findings values (?, ?, ?, ?, ?, ?) on conflict (campaign, key) do update set id = excluded.id,"
                " confirmed = excluded.confirmed, times = times + excluded.times, document = excluded.document",
                campaign, key, finding.id, int(finding.confirmed), finding.times, json.dumps(finding.to_json(), default=_plain),
            )  # fmt: skip
            self._write("delete from suspicions where campaign = ? and key = ?", campaign, key)

    def refine(self, campaign: int, finding: Finding) -> None:
        """A finding that is there, with more to tell of it."""
        document = json.dumps(finding.to_json(), default=_plain)
        self._write("update findings set document = ? where campaign = ? and id = ?", document, campaign, finding.id)

    def settle(self, campaign: int, key: str, final: str, finding: Finding | None = None) -> int:
        """A suspicion turned out to be the finding `final`, a new one or one that is there; returns the times it was met.

        It will be the same when it is met again, and so is what was suspected under the final key itself.
        """
        with self.transaction():
            waiting = self.db.execute("select sum(times) from suspicions where campaign = ? and key in (?, ?)", (campaign, key, final))
            met = int(waiting.fetchone()[0] or 1)
            if finding is not None:
                self.add_finding(campaign, final, replace(finding, times=met))
            else:
                self.met_again(campaign, final, met)
            self._write("delete from suspicions where campaign = ? and key in (?, ?)", campaign, key, final)
            if key != final:
                self._write("insert or replace into aliases values (?, ?, ?)", campaign, key, final)
        return met


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    """A store of an older form gets what has been added since."""
    form = int(db.execute("pragma user_version").fetchone()[0])
    for number in range(form + 1, SCHEMA + 1):
        db.executescript(f"begin; {_ADDED[number]} pragma user_version = {number}; commit;")


def _plain(value: Any) -> Any:
    """What JSON lacks: complex numbers, as the workers send them."""
    return {"complex": [value.real, value.imag]} if isinstance(value, complex) else str(value)
