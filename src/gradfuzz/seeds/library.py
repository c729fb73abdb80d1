"""The library's own samples as seeds: read in shards by whoever is free, once per version, and kept on disk."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradfuzz.errors import WorkerError
from gradfuzz.pool.executor import Executor
from gradfuzz.seeds.cache import BESIDE_SEEDS, MOST_DEADLY, cache_path
from gradfuzz.seeds.seed import Seed, led
from gradfuzz.targets.base.seeds import SHARDS
from gradfuzz.targets.homes import home_of

# Seconds, unless probes.json says `limit`: the library's samples are imported first, and one API may take a while to be tried out.
READ_LIMIT = 180.0
Row = dict[str, Any]


class Parts:
    """Seeds in parts, as far as they are known: the same parts in the same order for everybody."""

    def __init__(self, parts: list[list[Seed]]) -> None:
        self.parts = parts
        self.ruled: list[frozenset[str]] = [frozenset() for _ in parts]  # by part, APIs that led to a derivative rule

    @property
    def complete(self) -> bool:
        return True

    @property
    def missing(self) -> int:
        """How many shards are not read yet."""
        return 0

    @property
    def under_way(self) -> int:
        """How many shards are being read."""
        return 0

    def next(self) -> int | None:
        """A shard that nobody has been asked to read."""
        return None


class Reading(Parts):
    """The library's own seeds: one for each shard, and a last one of what no shard could decide by itself.

    Shards are read by jobs, in any order; parts are handed out in theirs.
    """

    def __init__(self, pool: Executor, say: Callable[[str], None]) -> None:
        super().__init__([])
        self.pool, self.say = pool, say
        launch = pool.launch
        name = "-".join(("seeds", *launch.modules))  # a target may try out the user's modules, too
        self._paths = [cache_path(name, pool, f"{shard}.jsonl", beside=BESIDE_SEEDS) for shard in range(SHARDS)]
        self._rows: list[list[Row] | None] = [_kept(path) for path in self._paths]
        self._asked = {shard for shard, rows in enumerate(self._rows) if rows is not None}
        self._deadly: list[str] = []
        self._texts: set[str] = set()
        self._reached: set[str] = set()
        if self.missing:
            say(f"reading the samples of {launch.target} {pool.version} (once per version)")
        self._hand_out()

    @property
    def missing(self) -> int:
        return sum(rows is None for rows in self._rows)

    @property
    def complete(self) -> bool:
        return len(self.parts) > SHARDS

    @property
    def under_way(self) -> int:
        return sum(self._rows[shard] is None for shard in self._asked)

    def next(self) -> int | None:
        shard = next((shard for shard in range(SHARDS) if shard not in self._asked), None)
        if shard is not None:
            self._asked.add(shard)
        return shard

    def fields(self, shard: int) -> dict[str, Any]:
        """What a worker is told. It must be a fresh one: reading leaves much behind in its process."""
        limit = home_of(self.pool.launch.target).data("probes").get("limit", READ_LIMIT)
        return {"shard": shard, "path": str(self._written(shard)), "deadly": self._deadly, "fresh": True, "limit": limit}

    def _written(self, shard: int) -> Path:
        return self.pool.folder / f"seeds-{shard}.jsonl"  # behind its walls a worker cannot write elsewhere

    def read(self, shard: int) -> None:
        """A worker has come to the end of a shard."""
        part = self._paths[shard].with_name(f"{self._paths[shard].name}.{os.getpid()}.part")
        shutil.move(self._written(shard), part)
        part.replace(self._paths[shard])
        self._rows[shard] = _kept(self._paths[shard]) or []
        self._hand_out()

    def died(self, shard: int, cause: str) -> None:
        """A worker died at an API of a shard, which is left out from now on. WorkerError where that cannot be the reason."""
        note = self._written(shard).with_name(self._written(shard).name + ".trying")
        api = note.read_text(encoding="utf-8") if note.exists() else ""
        note.unlink(missing_ok=True)
        if not api or api in self._deadly or len(self._deadly) >= MOST_DEADLY:
            raise WorkerError(f"the samples of {self.pool.launch.target} could not be read: {cause}")
        self._deadly.append(api)
        self.say(f"trying out {api} killed its process ({cause}); going on without it")

    def _hand_out(self) -> None:
        while len(self.parts) < SHARDS and (rows := self._rows[len(self.parts)]) is not None:
            self.parts.append(self._new(row for row in rows if not row["spare"]))
            self._reached.update(rule for row in rows if not row["spare"] for rule in row["reached"])
        if len(self.parts) == SHARDS:
            spare = [row for rows in self._rows for row in rows or () if row["spare"]]
            self.parts.append(self._new(row for row in spare if not self._reached.issuperset(row["reached"])))

    def _new(self, rows: Any) -> list[Seed]:
        """Those whose Programs did not come before, with the one that is to lead each API before its others."""
        found, ruled = [], set[str]()
        for row in rows:
            text = json.dumps(row["program"], sort_keys=True)
            if text not in self._texts:
                self._texts.add(text)
                found.append(Seed(row["api"], row["source"], row["program"]))
                ruled |= {row["api"]} if row["reached"] else set()
        self.ruled.append(frozenset(ruled))
        return led(found)


def library_seeds(pool: Executor, say: Callable[[str], None]) -> list[Seed]:
    """All of the target's own samples, read by all workers of a pool that has nothing else to do."""
    reading = Reading(pool, say)
    jobs: dict[int, int] = {}
    while (shard := reading.next()) is not None:
        jobs[pool.submit("seeds", start=0, **reading.fields(shard))] = shard
    while jobs:
        for event in pool.poll():
            shard = jobs.get(event.job["id"])
            if shard is None or event.kind not in ("done", "died"):
                continue
            del jobs[event.job["id"]]
            if event.kind == "died":
                reading.died(shard, event.data["cause"])
                jobs[pool.submit("seeds", start=event.data["index"] + 1, **reading.fields(shard))] = shard
            elif "failed" in event.data:
                raise WorkerError(f"the samples of {pool.launch.target} could not be read: {event.data['failed']}")
            else:
                reading.read(shard)
                say(f"{SHARDS - reading.missing} of {SHARDS} parts of the samples are read")
    pool.jobs.forget()
    return [seed for part in reading.parts for seed in part]


def read_jsonl(path: Path) -> list[Seed]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [Seed(row["api"], row["source"], row["program"]) for row in rows]


def _kept(path: Path) -> list[Row] | None:
    """The rows of a shard; None where it is not there yet, or damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        for row in rows:
            row["api"], row["source"], row["program"], row["reached"], row["spare"]
        return rows
    return None
