"""How a running campaign looks: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from gradfuzz.cli.console import out, say, say_lines, shown_time, visible
from gradfuzz.engine.survey import State
from gradfuzz.findings.finding import Finding
from gradfuzz.store.coverage import shares

PLAIN_EVERY = 10.0
COLOURS = {"regression": "bold red", "new": "bold red", "known": "yellow", "by-design": "dim"}


def watching() -> PlainDisplay | LiveDisplay:
    """A live panel on a terminal, plain lines elsewhere."""
    return LiveDisplay() if out.is_terminal else PlainDisplay()


class PlainDisplay:
    """A line now and then, and one for each finding."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def tick(self, state: State) -> None:
        if time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            say_lines(status_line(state), rest="  ")

    def found(self, finding: Finding) -> None:
        say_lines(f"found {finding.id}: {finding.api}: {finding.title} [{finding.label_name}]", rest="  ")

    def say(self, text: str) -> None:
        say(text)  # as a line: whoever reads it may be a program

    def row(self, name: str, row: dict[str, Any]) -> None:
        """One chain, in all detail: for those who asked for it."""


class Quiet(PlainDisplay):
    """Nothing at all: what follows is for programs."""

    def tick(self, state: State) -> None:
        return None

    def found(self, finding: Finding) -> None:
        return None

    def say(self, text: str) -> None:
        return None


class LiveDisplay:
    """A panel that stays in place; findings scroll past above it."""

    def __init__(self) -> None:
        self.live = Live(console=out, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveDisplay:
        self.live.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        self.live.__exit__(*args)

    def tick(self, state: State) -> None:
        self.live.update(panel(state))

    def found(self, finding: Finding) -> None:
        label = finding.label_name
        say_lines(f"{finding.api}: {finding.title} ({label})", f"{visible(finding.id)}  ", "  ", COLOURS[label])

    def say(self, text: str) -> None:
        say_lines(text, rest="  ")

    def row(self, name: str, row: dict[str, Any]) -> None:
        """One chain, in all detail: for those who asked for it."""


def rate(state: State) -> float:
    return (state.done - state.before) / max(1e-9, time.monotonic() - state.began)


def status_line(state: State) -> str:
    """Where it stands, in one line: how many were done, what came of them, how long it goes on."""
    kinds = Counter(f.kind for f in state.findings)
    found = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none yet"
    left = f", {shown_time(max(0.0, state.deadline - time.monotonic()))} left" if state.deadline else ""
    left += f", {100 * (1 - state.unread):.0f} % of the seeds read" if state.unread else ""
    done = f"{state.done} of {state.planned}" if state.planned else str(state.done)
    middle = _verdicts(state)
    if state.existing or state.rules:
        middle = f"{100 * state.validity:.1f} % valid, rules: {shares(state.existing, state.rules)}"
    polishing = f", {state.unpolished} being written up" if state.unpolished else ""
    confirming = f"{_confirming(state)} being confirmed{polishing}{_by_reference(state)}"
    return f"{done} {state.things} ({rate(state):.0f}/s), {middle}, findings: {found}, {confirming}{left}"


def _asked(state: State) -> str:
    """What the reference said: suspicions that it proved, that it refuted, and on which it is silent; and what else it was asked."""
    parts = [f"{n} {said}" for said, n in state.asked.most_common()]
    if state.wondered:
        parts.append(f"{sum(state.wondered.values())} mutants asked about ({state.wondered['proven']} of them wrong)")
    if state.asking and state.cpu:
        parts.append(f"{100 * sum(state.asking.values()) / (state.cpu + sum(state.asking.values())):.0f} % of the processor")
    return ", ".join(parts)


def _by_reference(state: State) -> str:
    return f", reference: {_asked(state)}" if state.asked or state.wondered else ""


def _confirming(state: State) -> str:
    return f"{state.waiting} ({state.put_off} of them put off)" if state.put_off else str(state.waiting)


def endings(state: State) -> list[str]:
    """What is said at the end beside the status: where the time went, and what was not reached."""
    said = [str(state.spending)]
    if state.apis and not state.unread and len(state.looked) >= state.apis:
        said.append(f"every one of {state.apis} APIs was looked at, its first seed in all orders that are checked")
    elif state.apis:
        more = " that were read so far" if state.unread else ""
        said.append(f"{len(state.looked)} of {state.apis} APIs{more} were looked at; --resume goes on with the others")
    if state.turns:
        left = "" if state.turns_had >= state.turns else "; --resume goes on with the others"
        said.append(f"operators have had {state.turns_had} of their {state.turns} first turns in further ways{left}")
    if state.waiting:
        alike = f", {state.put_off} of them most likely other sights of what was met before" if state.put_off else ""
        said.append(f"{state.waiting} suspicions were not looked into in time{alike}; --resume goes on with them")
    for mistake, n in state.mistakes.most_common():
        said.append(f"{mistake}, at {n} mutants of which nothing can be said: please report it")
    if state.unpolished:
        said.append(f"{state.unpolished} findings have no short script yet, for want of time; --resume goes on with them")
    return said


def _verdicts(state: State) -> str:
    return ", ".join(f"{n} {outcome}" for outcome, n in state.counts.most_common()) or "nothing yet"


def panel(state: State) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column()
    done, total = _progress(state)
    table.add_row("progress", ProgressBar(total=total, completed=done, width=48))
    left = shown_time(max(0.0, state.deadline - time.monotonic())) if state.deadline else "until all are done"
    if state.unread:
        table.add_row("seeds", ProgressBar(total=1.0, completed=1 - state.unread, width=48))
    table.add_row("time left", left if not state.finishing else "finishing what is suspected")
    table.add_row(state.things, f"{state.done}  ({rate(state):.0f}/s, {100 * state.validity:.1f} % valid)")
    table.add_row("verdicts", _verdicts(state))
    if state.existing or state.rules:
        table.add_row("rules", shares(state.existing, state.rules))
    kinds = Counter(f.kind for f in state.findings)
    table.add_row("findings", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none yet")
    table.add_row("being confirmed", _confirming(state))
    if state.asked or state.wondered:
        table.add_row("reference", _asked(state))
    return Panel(table, title="gradfuzz", title_align="left", border_style="blue", expand=False)


def _progress(state: State) -> tuple[float, float]:
    if state.planned:
        return float(min(state.done, state.planned)), float(state.planned)
    if state.deadline:
        return time.monotonic() - state.began, state.deadline - state.began
    return 0.0, 1.0
