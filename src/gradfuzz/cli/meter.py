"""How requests look: a bar with tokens and money on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gradfuzz.cli.console import out, say, visible
from gradfuzz.llm.ledger import Totals

PLAIN_EVERY = 10.0


def spent(totals: Totals) -> str:
    return f"{totals.tokens} tokens, {totals.money}"


class PlainMeter:
    """A line now and then."""

    def __init__(self) -> None:
        self.what, self.total, self.done, self.last = "", 0, 0, time.monotonic()

    def __enter__(self) -> PlainMeter:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0

    def advance(self, totals: Totals) -> None:
        self.done += 1
        if self.done == self.total or time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            say(f"asked for {self.what}: {self.done} of {self.total}, {spent(totals)}")

    def say(self, text: str) -> None:
        say(text)


class LiveMeter:
    """A bar that goes away once all have answered."""

    def __init__(self) -> None:
        self.bar: Progress | None = None
        self.total = self.done = 0

    def __enter__(self) -> LiveMeter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def begin(self, what: str, total: int) -> None:
        self._end()
        self.total, self.done = total, 0
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[spent]}"))
        self.bar = Progress(*columns, TimeElapsedColumn(), console=out, transient=True)
        self.bar.start()
        self.task = self.bar.add_task(what, total=total, spent="")

    def advance(self, totals: Totals) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update(self.task, advance=1, spent=spent(totals))
        if self.done == self.total:
            self._end()

    def say(self, text: str) -> None:
        (self.bar.console if self.bar is not None else out).print(visible(text), markup=False)

    def _end(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def metering() -> PlainMeter | LiveMeter:
    return LiveMeter() if out.is_terminal else PlainMeter()
