"""What a running campaign's workers are at, in a small file beside its store: written whole, now and then, and gone with the campaign.

It is no part of the store: whoever looks at it takes nothing from the campaign, and what cannot be written is left out. A campaign that was
killed leaves its last board behind, which is told by its process: it is gone, or another one has its number.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

FORM = 1
EVERY = 1.0  # seconds between two boards
MOST_ROWS = 64  # of a board; more workers than that nobody reads
MOST_TEXT = 200
MOST_BYTES = 1 << 16
# Seconds after which a board of a process that lives is old: it is written each second, and a machine may be busy.
OLD = 15.0
# Two processes with one number began further apart than this.
_BEGAN = 2.0


@dataclass(frozen=True)
class Doing:
    """One worker, or a desk beside the workers: what it is at, and for how many seconds; None where that says nothing."""

    who: str
    what: str
    seconds: float | None = None
    pid: int = 0


@dataclass(frozen=True)
class Board:
    """What was said last, so many seconds ago."""

    campaign: int
    pid: int
    age: float
    rows: tuple[Doing, ...]
    more: int = 0  # rows that were left out

    @property
    def old(self) -> bool:
        return self.age > OLD

    def to_json(self) -> dict[str, Any]:
        return {"age": self.age, "old": self.old, "more": self.more, "rows": [vars(row) for row in self.rows]}


def board_beside(store: Path) -> Path:
    return Path(os.path.realpath(store) + ".now")


class Writing:
    """The board of a campaign that this process runs."""

    def __init__(self, store: Path, campaign: int) -> None:
        self.path, self.campaign = board_beside(store), campaign
        self._part = self.path.with_name(self.path.name + ".part")
        self._began = psutil.Process().create_time()
        self._next = 0.0

    def write(self, rows: Callable[[], Sequence[Doing]]) -> None:
        """The rows, asked for if it is time for another board. A disk that is full costs the board, not the campaign."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        said = rows()
        told = [{**vars(row), "who": row.who[:MOST_TEXT], "what": row.what[:MOST_TEXT]} for row in said[:MOST_ROWS]]
        content = {
            "form": FORM, "campaign": self.campaign, "pid": os.getpid(), "began": self._began, "written": time.time(), "rows": told,
            "more": max(0, len(said) - MOST_ROWS),
        }  # fmt: skip
        with contextlib.suppress(OSError):
            handle = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(handle, "wb") as file:
                file.write(json.dumps(content).encode())
            os.replace(self._part, self.path)

    def close(self) -> None:
        for path in (self.path, self._part):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def read_board(store: Path) -> Board | None:
    """The board of whoever writes to a store at this moment; None where nobody does, or says nothing of use. It is data."""
    try:
        # Whatever somebody may have put there: nobody waits for the other end of a pipe.
        with open(os.open(board_beside(store), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            data = json.loads(file.read(MOST_BYTES))
        if data["form"] != FORM or abs(psutil.Process(int(data["pid"])).create_time() - float(data["began"])) > _BEGAN:
            return None
        rows = tuple(
            Doing(str(row["who"]), str(row["what"]), None if row["seconds"] is None else float(row["seconds"]), int(row["pid"]))
            for row in data["rows"][:MOST_ROWS]
        )
        age = max(0.0, time.time() - float(data["written"]))
        return Board(int(data["campaign"]), int(data["pid"]), age, rows, int(data["more"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, psutil.Error):
        return None
