"""What a store says. Reading changes nothing; what cannot be read is left out and counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.store import reading, salvage, shards
from gradfuzz.store.opening import connect_to_read
from gradfuzz.store.reading import BatchRow, Pending

# How the rules are told that were at work where a program ran in a further way; those reached plainly are `TABLE:RULE`.
IN_WAY = "in "

Read = TypeVar("Read")


class Records:
    """Campaigns and what they found, for those who only look. To them the shards of a campaign that lie in one store are one."""

    def __init__(self, path: Path, db: sqlite3.Connection | None = None) -> None:
        """Open the file to read; StoreError, and the file untouched, if it is not a store of ours or is of a newer kind."""
        self.path = path
        self.db = connect_to_read(path) if db is None else db
        self.db.row_factory = sqlite3.Row
        self.db.text_factory = lambda text: text.decode("utf-8", "replace")
        self._tables = salvage.tables(self.db)
        self._lost: dict[tuple[str, int], int] = {}  # by table and row: read twice is lost once

    @property
    def unreadable(self) -> int:
        """Rows that could not be read so far, as far as that can be known."""
        return sum(self._lost.values())

    def rows(self, table: str, reader: Callable[[sqlite3.Row], Read], *campaigns: int) -> Iterator[Read]:
        """What the reader makes of each row of a table, of these campaigns where any are named."""
        if table not in self._tables:
            return  # an older form had fewer
        number = 0

        def lost(rows: int) -> None:
            self._lost[table, -1 - number] = rows

        for row in salvage.rows(self.db, table, lost):
            number = row["row_number"]
            try:
                if not campaigns or row["campaign"] in campaigns:
                    yield reader(row)
            except StoreError:
                raise  # by a newer gradfuzz: the user can mend that
            except Exception:  # whatever a damaged row makes the reader stumble over
                self._lost[table, number] = 1

    # Campaigns -------------------------------------------------------------------------------------------------------

    def campaigns(self) -> list[dict[str, Any]]:
        return list(self.rows("campaigns", reading.campaign_of))

    def campaign(self, number: int | None = None) -> dict[str, Any] | None:
        """A campaign's row with its config read; the last one if no number is given."""
        found = [row for row in self.campaigns() if number is None or row["id"] == number]
        return found[-1] if found else None

    def wholes(self) -> list[dict[str, Any]]:
        """Campaigns, those in shards once."""
        return shards.wholes(self.campaigns())

    def parts(self, campaign: int) -> tuple[int, ...]:
        """The campaign and the other shards of it."""
        rows = shards.together(self.campaigns(), campaign)
        return tuple(row["id"] for row in rows.values()) or (campaign,)

    def corpus(self, campaign: int) -> list[str]:
        """The seeds of a campaign as lines of JSON, as they were kept; none where they were not. They are data, perhaps a stranger's."""
        found = list(self.rows("corpora", reading.corpus_of, campaign))
        return found[0] if found else []

    def spending(self, campaign: int) -> dict[str, float]:
        """Seconds by what they were spent on, of all runs together; none where nobody wrote that down."""
        found: dict[str, float] = {}
        for (_, what), seconds in self.rows("spending", reading.spending_of, *self.parts(campaign)):
            found[what] = found.get(what, 0.0) + seconds
        return found

    # Batches ---------------------------------------------------------------------------------------------------------

    def batches(self, campaign: int) -> Iterator[BatchRow]:
        return self.rows("batches", reading.batch_of, *self.parts(campaign))

    def finished_batches(self, campaign: int) -> dict[int, BatchRow]:
        """What each finished batch came to, by its number."""
        return {row.number: row for row in self.rows("batches", reading.batch_of, campaign)}

    def totals(self, campaign: int) -> dict[str, Any]:
        """Mutants by outcome, reasons, refusals and CPU seconds of a campaign."""
        sums: dict[str, dict[str, int]] = {"counts": {}, "reasons": {}, "refusals": {}}
        cpu, batches = 0.0, 0
        for row in self.batches(campaign):
            batches += 1
            cpu += row.cpu
            for name, total in sums.items():
                for key, count in getattr(row, name).items():
                    total[key] = total.get(key, 0) + count
        return {**sums, "cpu": cpu, "batches": batches}

    def by_api(self, campaign: int) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for row in self.batches(campaign):
            total = found.setdefault(row.api, {})
            for key, count in row.counts.items():
                total[key] = total.get(key, 0) + count
        return found

    def reasons_by_api(self, campaign: int) -> dict[str, dict[str, int]]:
        """For each API, how many of its mutants each excuse took."""
        found: dict[str, dict[str, int]] = {}
        for row in self.batches(campaign):
            total = found.setdefault(row.api, {})
            for key, count in row.reasons.items():
                total[key] = total.get(key, 0) + count
        return found

    def refusals(self, campaign: int) -> list[tuple[str, str, str, int]]:
        """(API, kind, message, times) of what the library refused, most often first."""
        found: dict[tuple[str, str, str], int] = {}
        for row in self.batches(campaign):
            for text, count in row.refusals.items():
                kind, _, message = text.partition(": ")
                found[row.api, kind, message] = found.get((row.api, kind, message), 0) + count
        return sorted(((*key, count) for key, count in found.items()), key=lambda r: (-r[3], r[:3]))

    def existing_rules(self, campaign: int) -> dict[str, str]:
        """Why each rule that exists cannot be reached here; "" where it can."""
        rows = self.rows("existing_rules", lambda row: (reading.a(str, row["rule"]), reading.a(str, row["reason"])), *self.parts(campaign))
        return dict(sorted(rows))

    def rules(self, campaign: int) -> list[str]:
        return sorted(rule for rule in self._reached(campaign) if not rule.startswith(IN_WAY))

    def rules_in_ways(self, campaign: int) -> dict[str, set[str]]:
        """By further way of running: the names of the rules at work where a derivative was had in it."""
        found: dict[str, set[str]] = {}
        for reached in self._reached(campaign):
            if reached.startswith(IN_WAY):
                way, _, name = reached.removeprefix(IN_WAY).partition(":")
                found.setdefault(way, set()).add(name)
        return found

    def _reached(self, campaign: int) -> set[str]:
        return set(self.rows("rules", lambda row: str(reading.a(str, row["rule"])), *self.parts(campaign)))

    # Findings --------------------------------------------------------------------------------------------------------

    def suspicions(self, campaign: int) -> list[Pending]:
        """What waits to be looked into, in the order in which it was met."""
        return list(self.rows("suspicions", reading.pending_of, campaign))

    def questions(self, campaign: int) -> dict[int, Suspicion]:
        """What the reference has not answered yet, by number."""
        return dict(self.rows("questions", reading.question_of, campaign))

    def known_keys(self, campaign: int) -> dict[str, bool]:
        """The keys of findings, and whether each was confirmed."""
        return dict(self.rows("findings", lambda row: (reading.a(str, row["key"]), bool(row["confirmed"])), campaign))

    def aliases(self, campaign: int) -> dict[str, str]:
        """Under which key a suspicion's finding was filed, where that is another."""
        return dict(self.rows("aliases", lambda row: (reading.a(str, row["key"]), reading.a(str, row["final"])), campaign))

    def findings(self, campaign: int | None = None, unconfirmed: bool = False) -> list[Finding]:
        """Findings in the order in which they were met, the newest campaign's last."""
        parts = () if campaign is None else self.parts(campaign)
        found = [f for f in self.rows("findings", reading.finding_of, *parts) if f.confirmed or unconfirmed]
        return sorted(found, key=lambda f: f.campaign)

    def finding(self, prefix: str) -> Finding:
        """The one finding whose id starts so."""
        found = [f for f in self.findings(unconfirmed=True) if f.id.startswith(prefix)]
        ids = {f.id for f in found}
        if prefix in ids:  # one id may be the beginning of another
            return [f for f in found if f.id == prefix][-1]
        if len(ids) != 1:
            what = f"no finding starts with {prefix!r}" if not ids else f"{prefix!r} could be any of {', '.join(sorted(ids))}"
            raise StoreError(f"{what}; `gradfuzz findings` lists them")
        return found[-1]

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
