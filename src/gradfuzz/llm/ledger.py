"""The book of one folder: what was asked, what it took, what came of it, a line of JSON each. What is in it is not done again."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.cache import Reply

FILE = "ledger.jsonl"
OWNER, SETTINGS, PLAN, REPLY, ROUND = "owner", "settings", "plan", "reply", "round"
Row = dict[str, Any]


@dataclass
class Totals:
    """Tokens and money. What came out of the cache of another folder was paid for there."""

    requests: int = 0
    cached: int = 0
    prompt: int = 0
    completion: int = 0
    cost: float = 0.0
    priced: bool = True  # every request had a price
    estimated: int = 0  # requests whose tokens the server did not count

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def add(self, row: Row) -> None:
        self.requests += 1
        if not row["paid"]:
            self.cached += 1
            return
        self.prompt += row["prompt"]
        self.completion += row["completion"]
        self.estimated += bool(row["estimated"])
        if row["cost"] is None:
            self.priced = False
        else:
            self.cost += row["cost"]

    @property
    def money(self) -> str:
        return f"${self.cost:.4f}" if self.priced else "price unknown"


@dataclass
class Ledger:
    """Rows in order. A line that was cut short by a crash is left out."""

    path: Path
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._hashes: set[str] = set()
        self.totals = Totals()

    @staticmethod
    def read(folder: Path) -> Ledger:
        """What is there; an empty one where there is nothing."""
        ledger = Ledger(folder / FILE)
        try:
            text = ledger.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ledger
        except OSError as error:
            raise GradfuzzError(f"{ledger.path} cannot be read ({error.strerror}); name another folder with --out") from None
        for line in text.splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                if isinstance(row, dict) and isinstance(row.get("row"), str):
                    ledger._take(row)
        return ledger

    def _take(self, row: Row) -> None:
        if row["row"] == REPLY:
            self.totals.add(row)
            self._hashes.add(str(row["hash"]))
        self.rows.append(row)

    def of(self, kind: str) -> Iterator[Row]:
        return (row for row in list(self.rows) if row["row"] == kind)

    def add(self, kind: str, **fields: Any) -> Row:
        """A row that is on the disk when this returns."""
        row = {"row": kind, **fields}
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with open(self.path, "a+b") as file:
                    if file.tell() and not _ends_a_line(file):
                        file.write(b"\n")
                    file.write(json.dumps(row).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise GradfuzzError(f"{self.path} cannot be written ({error.strerror}); name another folder with --out") from None
            self._take(row)
        return row

    def owner(self) -> str:
        """Who pays for what this folder asks."""
        first = next(self.of(OWNER), None) or self.add(OWNER, owner=uuid.uuid4().hex)
        return str(first["owner"])

    def settings(self, **fields: Any) -> Row:
        """The folder's settings; GradfuzzError if it was begun with others."""
        first = next(self.of(SETTINGS), None)
        if first is None:
            return self.add(SETTINGS, **fields)
        for key, value in fields.items():
            if first.get(key) != value:
                was = str(first.get(key))[:60]
                raise GradfuzzError(f"{self.path.parent} was begun with {key.replace('_', ' ')} {was!r}; name another folder with --out")
        return first

    def knows(self, key: str) -> bool:
        return key in self._hashes

    def reply(self, identity: int, phase: str, key: str, model: str, reply: Reply, paid: bool, cost: float | None, seconds: float) -> None:
        self.add(
            REPLY, id=identity, phase=phase, hash=key, model=model, prompt=reply.prompt_tokens, completion=reply.completion_tokens,
            estimated=reply.estimated, finish=reply.finish, paid=paid, cost=cost, seconds=round(seconds, 3),
        )  # fmt: skip


def _ends_a_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")
