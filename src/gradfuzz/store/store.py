"""The store: one SQLite file in WAL mode that outlives any crash of the campaign."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion

APPLICATION = 0x67667A31  # says in the file's header that it is ours
SCHEMA = 2
_SCHEMA_FILE = Path(__file__).with_name("schema.sql")


@dataclass(frozen=True)
class Lesson:
    """What a batch taught: features that came up, edits as {name: [tried, valid]}, findings as keys, the orders they were of."""

    features: list[str] = field(default_factory=list)
    edits: dict[str, list[int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)


class Store:
    """Campaigns and what they found."""

    def __init__(self, path: Path, create: bool) -> None:
        """Open the file; StoreError, and the file untouched, if it is not a store of ours or is of a newer kind."""
        self.path = path
        if not path.exists() and not create:
            raise StoreError(f"there is no store at {path}; run `gradfuzz run` first or name another with --store")
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a store; name a file with --store")
        new = not path.exists() or path.stat().st_size == 0
        if not new:
            _refuse_foreign(path)
        try:
            self.db = sqlite3.connect(path, isolation_level=None)
            self.db.row_factory = sqlite3.Row
            if new:
                # Before WAL: what tells our files from others' must be in the file itself, whenever the process dies.
                header = f"pragma application_id = {APPLICATION}; pragma user_version = {SCHEMA};"
                self.db.executescript("begin;" + header + _SCHEMA_FILE.read_text() + "commit;")
            else:
                self._bring_up_to_date()
            self.db.execute("pragma journal_mode = wal")
            self.db.execute("pragma synchronous = normal")
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be used as a store ({error}); name another with --store") from None

    def _bring_up_to_date(self) -> None:
        """A store of an older form gets what has been added since; nothing in it changes."""
        form = int(self.db.execute("pragma user_version").fetchone()[0])
        if form < 2:
            self.db.executescript(
                "begin; alter table batches add column lesson text not null default '';"
                "create table if not exists existing_rules (campaign integer not null references campaigns(id), rule text not null,"
                " reason text not null, primary key (campaign, rule));"
                f"pragma user_version = {SCHEMA}; commit;"
            )

    # Campaigns -------------------------------------------------------------------------------------------------------

    def begin(self, target: str, version: str, config: dict[str, Any]) -> int:
        created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        cursor = self.db.execute(
            "insert into campaigns (created, target, version, config, status) values (?, ?, ?, ?, 'running')",
            (created, target, version, json.dumps(config)),
        )
        return int(cursor.lastrowid or 0)

    def campaign(self, number: int | None = None) -> dict[str, Any] | None:
        """A campaign's row with its config read; the last one if no number is given."""
        where, values = ("where id = ?", (number,)) if number else ("order by id desc limit 1", ())
        row = self.db.execute(f"select * from campaigns {where}", values).fetchone()
        return {**dict(row), "config": json.loads(row["config"])} if row else None

    def campaigns(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.db.execute("select * from campaigns order by id")]

    def set_status(self, campaign: int, status: str) -> None:
        self.db.execute("update campaigns set status = ? where id = ?", (status, campaign))

    # Batches ---------------------------------------------------------------------------------------------------------

    def add_batch(
        self, campaign: int, number: int, api: str, counts: Mapping[str, int], reasons: Mapping[str, int], refusals: Mapping[str, int],
        cpu: float, rules: Iterable[str], lesson: Lesson | None = None,
    ) -> None:  # fmt: skip
        """A finished batch and the rules it reached, in one transaction."""
        taught = json.dumps(vars(lesson), separators=(",", ":")) if lesson is not None else ""
        told = (json.dumps(dict(row)) for row in (counts, reasons, refusals))
        with self.db:
            self.db.execute("begin")
            self.db.execute("insert or replace into batches values (?, ?, ?, ?, ?, ?, ?, ?)", (campaign, number, api, *told, cpu, taught))
            self.db.executemany("insert or ignore into rules values (?, ?)", [(campaign, rule) for rule in rules])

    def finished_batches(self, campaign: int) -> dict[int, Lesson]:
        """What each finished batch taught, by its number."""
        rows = self.db.execute("select number, lesson from batches where campaign = ?", (campaign,))
        return {row[0]: Lesson(**json.loads(row[1])) if row[1] else Lesson() for row in rows}

    def totals(self, campaign: int) -> dict[str, Any]:
        """Mutants by outcome, reasons, refusals and CPU seconds of a campaign."""
        sums: dict[str, dict[str, int]] = {"counts": {}, "reasons": {}, "refusals": {}}
        cpu, batches = 0.0, 0
        for row in self.db.execute("select * from batches where campaign = ?", (campaign,)):
            batches += 1
            cpu += row["cpu"]
            for name, total in sums.items():
                for key, count in json.loads(row[name]).items():
                    total[key] = total.get(key, 0) + count
        return {**sums, "cpu": cpu, "batches": batches}

    def by_api(self, campaign: int) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for row in self.db.execute("select api, counts from batches where campaign = ?", (campaign,)):
            total = found.setdefault(row["api"], {})
            for key, count in json.loads(row["counts"]).items():
                total[key] = total.get(key, 0) + count
        return found

    def refusals(self, campaign: int) -> list[tuple[str, str, str, int]]:
        """(API, kind, message, times) of what the library refused, most often first."""
        found: dict[tuple[str, str, str], int] = {}
        for row in self.db.execute("select api, refusals from batches where campaign = ?", (campaign,)):
            for text, count in json.loads(row["refusals"]).items():
                kind, _, message = text.partition(": ")
                found[row["api"], kind, message] = found.get((row["api"], kind, message), 0) + count
        return sorted(((*key, count) for key, count in found.items()), key=lambda r: (-r[3], r[:3]))

    def set_existing_rules(self, campaign: int, rules: dict[str, str]) -> None:
        with self.db:
            self.db.execute("begin")
            self.db.executemany("insert or replace into existing_rules values (?, ?, ?)", [(campaign, r, why) for r, why in rules.items()])

    def existing_rules(self, campaign: int) -> dict[str, str]:
        """Why each rule that exists cannot be reached here; "" where it can."""
        rows = self.db.execute("select rule, reason from existing_rules where campaign = ? order by rule", (campaign,))
        return {row[0]: row[1] for row in rows}

    def rules(self, campaign: int) -> list[str]:
        return [row[0] for row in self.db.execute("select rule from rules where campaign = ? order by rule", (campaign,))]

    # Findings --------------------------------------------------------------------------------------------------------

    def suspect(self, campaign: int, key: str, suspicion: Suspicion) -> None:
        self.db.execute("insert or ignore into suspicions values (?, ?, ?)", (campaign, key, json.dumps(suspicion.to_json())))

    def suspicions(self, campaign: int) -> list[tuple[str, Suspicion]]:
        rows = self.db.execute("select key, report from suspicions where campaign = ? order by rowid", (campaign,))
        return [(row["key"], Suspicion.from_json(json.loads(row["report"]))) for row in rows]

    def forget_suspicion(self, campaign: int, key: str) -> None:
        self.db.execute("delete from suspicions where campaign = ? and key = ?", (campaign, key))

    def add_finding(self, campaign: int, key: str, finding: Finding) -> None:
        """The finished finding; its suspicion goes in the same transaction."""
        with self.db:
            self.db.execute("begin")
            self.db.execute(
                "insert or replace into findings values (?, ?, ?, ?, ?, ?)",
                (campaign, key, finding.id, int(finding.confirmed), finding.times, json.dumps(finding.to_json(), default=_plain)),
            )
            self.db.execute("delete from suspicions where campaign = ? and key = ?", (campaign, key))

    def met_again(self, campaign: int, key: str, times: int = 1) -> None:
        self.db.execute("update findings set times = times + ? where campaign = ? and key = ?", (times, campaign, key))

    def known_keys(self, campaign: int) -> set[str]:
        return {row[0] for row in self.db.execute("select key from findings where campaign = ?", (campaign,))}

    def findings(self, campaign: int | None = None, unconfirmed: bool = False) -> list[Finding]:
        """Findings in the order in which they were met, the newest campaign's last."""
        where, values = ("where campaign = ?", [campaign]) if campaign else ("where 1", [])
        if not unconfirmed:
            where += " and confirmed"
        rows = self.db.execute(f"select * from findings {where} order by campaign, rowid", values)
        return [Finding.from_json(json.loads(row["document"]), row["times"], row["campaign"]) for row in rows]

    def finding(self, prefix: str) -> Finding:
        """The one finding whose id starts so."""
        found = [f for f in self.findings(unconfirmed=True) if f.id.startswith(prefix)]
        ids = {f.id for f in found}
        if len(ids) != 1:
            what = f"no finding starts with {prefix!r}" if not ids else f"{prefix!r} could be any of {', '.join(sorted(ids))}"
            raise StoreError(f"{what}; `gradfuzz findings` lists them")
        return found[-1]

    def close(self) -> None:
        self.db.close()


def _plain(value: Any) -> Any:
    """What JSON lacks: complex numbers, as the workers send them."""
    return {"complex": [value.real, value.imag]} if isinstance(value, complex) else str(value)


def _refuse_foreign(path: Path) -> None:
    """Look at the file's header alone, so that a foreign file is not even locked."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); name another with --store") from None
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{path} is not a gradfuzz store; name another file with --store")
    application, version = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of another program; name another file with --store")
    if version > SCHEMA:
        raise StoreError(f"{path} was written by a newer gradfuzz (form {version}, this one knows {SCHEMA}); upgrade gradfuzz")
