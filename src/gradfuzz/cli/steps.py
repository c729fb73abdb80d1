"""How work in a few long steps looks: a bar with what the installer says on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gradfuzz.cli.console import cell, out, say, shown_time, visible

PLAIN_EVERY = 10.0
WIDEST = 70


class PlainSteps:
    """A line for each step, and one now and then while it lasts."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began, self.last = total, 0, time.monotonic(), time.monotonic()

    def __enter__(self) -> PlainSteps:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, text: str) -> None:
        self.done += 1
        self.last = time.monotonic()
        say(f"{self.done} of {self.total}: {text}")

    def note(self, text: str) -> None:
        if time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            say(f"  {shown_time(self.last - self.began)} {text[:WIDEST]}")

    def say(self, text: str) -> None:
        say(text)


class LiveSteps:
    """A bar that goes away at the end."""

    def __init__(self, total: int) -> None:
        columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        self.bar = Progress(*columns, TextColumn("[dim]{task.fields[note]}"), console=out, transient=True)
        self.task = self.bar.add_task("", total=total, completed=-1, note="")

    def __enter__(self) -> LiveSteps:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def step(self, text: str) -> None:
        self.bar.update(self.task, advance=1, description=cell(text), note="")

    def note(self, text: str) -> None:
        self.bar.update(self.task, note=cell(text[:WIDEST]))

    def say(self, text: str) -> None:
        self.bar.console.print(visible(text), markup=False)


def stepping(total: int) -> PlainSteps | LiveSteps:
    return LiveSteps(total) if out.is_terminal else PlainSteps(total)
