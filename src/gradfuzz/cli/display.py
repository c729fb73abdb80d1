"""How a running campaign looks: a live panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from gradfuzz.campaign.campaign import State
from gradfuzz.campaign.coverage import shares
from gradfuzz.cli.console import out, shown_time

PLAIN_EVERY = 10.0
COLOURS = {"new": "bold red", "known": "yellow", "by-design": "dim"}


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
            out.print(status_line(state), markup=False)

    def found(self, document: dict[str, Any]) -> None:
        out.print(f"found {document['id']}: {document['api']}: {document['title']} [{label_of(document)}]", markup=False)


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

    def found(self, document: dict[str, Any]) -> None:
        label = label_of(document)
        self.live.console.print(f"[{COLOURS[label]}]{document['id']}[/]  {document['api']}: {document['title']} [dim]({label})[/]")


def label_of(document: dict[str, Any]) -> str:
    return str((document["label"] or {}).get("label", "new"))


def rate(state: State) -> float:
    return (state.mutants - state.before) / max(1e-9, time.monotonic() - state.began)


def status_line(state: State) -> str:
    kinds = Counter(d["kind"] for d in state.findings)
    found = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none yet"
    left = f", {shown_time(max(0.0, state.deadline - time.monotonic()))} left" if state.deadline else ""
    return (
        f"{state.mutants} mutants ({rate(state):.0f}/s), {100 * state.validity:.1f} % valid, rules: {shares(state.existing, state.rules)}, "
        f"findings: {found}, {state.waiting} being confirmed{left}"
    )


def panel(state: State) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right")
    table.add_column()
    done, total = _progress(state)
    table.add_row("progress", ProgressBar(total=total, completed=done, width=48))
    left = shown_time(max(0.0, state.deadline - time.monotonic())) if state.deadline else "until all are done"
    table.add_row("time left", left if not state.finishing else "finishing what is suspected")
    table.add_row("mutants", f"{state.mutants}  ({rate(state):.0f}/s, {100 * state.validity:.1f} % valid)")
    table.add_row("verdicts", ", ".join(f"{n} {outcome}" for outcome, n in sorted(state.counts.items(), key=lambda c: -c[1])))
    table.add_row("rules", shares(state.existing, state.rules))
    kinds = Counter(d["kind"] for d in state.findings)
    table.add_row("findings", ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none yet")
    table.add_row("being confirmed", str(state.waiting))
    return Panel(table, title="gradfuzz", title_align="left", border_style="blue", expand=False)


def _progress(state: State) -> tuple[float, float]:
    if state.planned:
        return float(min(state.mutants, state.planned)), float(state.planned)
    if state.deadline:
        return time.monotonic() - state.began, state.deadline - state.began
    return 0.0, 1.0
