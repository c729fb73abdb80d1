"""What a check has cost so far, and its limits: evaluations, seconds, and a line in the terminal for those who wait."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gradfuzz.errors import Through

# A failing check may cost this many evaluations; agreeing ones take about a dozen. `thorough=True` lifts it.
EVALUATIONS = 300
SECONDS = 30.0
# Who has waited this long is told what for, so often.
QUIET_SECONDS = 2.0
EVERY_SECONDS = 0.5


class Spent(Through):
    """A limit is reached. What is known by then is the answer."""


class Meter:
    """Counts evaluations of one function. `tick` raises Spent at a limit."""

    def __init__(self, title: str = "", evaluations: int | None = None, seconds: float | None = None) -> None:
        self.title, self.limit = title, evaluations
        self.evaluations, self.phase = 0, "looking"
        self._began = time.monotonic()
        self._end = None if seconds is None else self._began + seconds
        self._seconds, self._told = seconds, 0.0

    def tick(self) -> None:
        """One evaluation is about to be made."""
        if self.reached:
            raise Spent(self.reached)
        self.evaluations += 1
        self._tell()

    @property
    def reached(self) -> str:
        """Which limit is reached, in words; nothing if none is."""
        if self.limit is not None and self.evaluations >= self.limit:
            return f"{self.limit} evaluations (thorough=True lifts that)"
        if self._end is not None and time.monotonic() >= self._end:
            return f"{self._seconds:g} seconds (seconds=… says how long it may take)"
        return ""

    @contextmanager
    def within(self, evaluations: int, phase: str) -> Iterator[None]:
        """A phase with a smaller limit of its own."""
        before, self.phase = (self.limit, self.phase), phase
        end = self.evaluations + evaluations
        self.limit = end if self.limit is None else min(self.limit, end)
        try:
            yield
        finally:
            self.limit, self.phase = before

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._began < QUIET_SECONDS or now - self._told < EVERY_SECONDS or not sys.stderr.isatty():
            return
        self._told = now
        print(f"\r\033[Kgradfuzz: {self.title}: {self.phase}, {self.evaluations} evaluations, {now - self._began:.0f} s", end="",
              file=sys.stderr, flush=True)  # fmt: skip

    def done(self) -> None:
        """The line in the terminal goes."""
        if self._told:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
