"""`gradfuzz watch`: a running or stored campaign in the terminal."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import GRADES
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, out, records, shown_time, visible
from gradfuzz.cli.display import COLOURS
from gradfuzz.errors import StoreError
from gradfuzz.report.model import Campaign, Report, report_of
from gradfuzz.report.serving import SHARE, stamp
from gradfuzz.report.times import told
from gradfuzz.store.board import Board, Doing, read_board

GRAVEST, MOST_WORKERS = 8, 16
RATE_OVER = 60.0  # seconds that a rate is taken over
BAR = 30
ALIVE = ("running", "sleeping", "disk-sleep")


@dataclass(frozen=True)
class Look:
    """What was seen at one moment."""

    moment: float
    mutants: int


def watch(
    store: StoreOption = DEFAULT_STORE,
    every: Annotated[float, typer.Option(min=0.2, max=3600.0, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and leave.")] = False,
) -> None:
    """Watch a campaign: bugs by severity, verdicts, rates, coverage, what each worker is at. Ctrl-C leaves, and the campaign goes on.

    It reads the store that the campaign writes, from any terminal. A campaign that has ended is shown once.
    """
    report, campaign = _look(store)
    writer = _writer(store)
    if once or not out.is_terminal or writer is None:
        out.print(panel(report, campaign, writer, (), _board(store, writer)))
        return
    looks: deque[Look] = deque([Look(time.monotonic(), campaign.tally.mutants)])
    with Live(panel(report, campaign, writer, looks, _board(store, writer)), console=out, refresh_per_second=4) as live:
        try:
            seen, rest = stamp(store), 0.0
            while writer is not None:
                time.sleep(every)
                writer = _writer(store)
                if stamp(store) != seen and (writer is None or time.monotonic() >= rest):
                    began, seen = time.monotonic(), stamp(store)
                    report, campaign = _look(store)
                    rest = time.monotonic() + (time.monotonic() - began) * (1 / SHARE - 1)
                looks.append(Look(time.monotonic(), campaign.tally.mutants))
                while looks[-1].moment - looks[0].moment > RATE_OVER and len(looks) > 2:
                    looks.popleft()
                live.update(panel(report, campaign, writer, looks, _board(store, writer)))
        except KeyboardInterrupt:
            return


def _look(store: Path) -> tuple[Report, Campaign]:
    with records(store) as opened:
        report = report_of(opened)
    if not report.campaigns:
        raise StoreError(f"{store} holds no campaign; run `gradfuzz run` first")
    return report, report.campaigns[-1]


def _writer(store: Path) -> psutil.Process | None:
    """The process that writes to a store; None where there is none any more."""
    try:
        said = Path(f"{store.resolve()}.lock").read_text(encoding="ascii").strip()
        found = psutil.Process(int(said))
        return found if found.status() in ALIVE else None
    except (OSError, ValueError, psutil.Error):
        return None


def _board(store: Path, writer: psutil.Process | None) -> Board | None:
    """What the campaign that runs says of its workers; what a dead one has left behind says nothing."""
    board = read_board(store) if writer is not None else None
    return board if board is not None and writer is not None and board.pid == writer.pid else None


def panel(
    report: Report, campaign: Campaign, writer: psutil.Process | None, looks: Sequence[Look], board: Board | None = None
) -> Panel:  # fmt: skip
    """One look at a campaign. Whatever is not ours is spelt out, and never read as markup."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", justify="right")
    rows.add_column()
    found = campaign.tally
    rows.add_row("campaign", Text(visible(f"{campaign.title}, {campaign.created}, {_status(campaign, writer)}")))
    rows.add_row("mutants", f"{found.mutants:,} of {len(found.apis):,} APIs, {100 * found.validity:.1f} % valid{_rate(campaign, looks)}")
    rows.add_row("verdicts", ", ".join(f"{n:,} {outcome}" for outcome, n in found.counts.most_common()) or "nothing yet")
    for name, group in campaign.coverage.items():
        if group.existing:
            bar = ProgressBar(total=max(1, len(group.in_reach)), completed=len(group.hits), width=BAR)
            beside = Table.grid(padding=(0, 1))
            beside.add_row(bar, Text(visible(f"{name} rules {len(group.hits)} of {len(group.in_reach)}")))
            rows.add_row("coverage", beside)
    rows.add_row("findings", f"{campaign.findings} confirmed, {campaign.waiting} being looked into")
    if campaign.clock is not None:
        rows.add_row("time", Text(visible(f"{shown_time(campaign.clock)} by the clock; {told(list(campaign.times))}")))
    if board is not None:
        rows.add_row("right now", _doing(board))
    if writer is not None:
        rows.add_row("processes", _processes(writer))
    parts: list[Any] = [rows, Text(), _severities(report.bugs), Text(), *_gravest(report.bugs)]
    return Panel(Group(*parts), title="gradfuzz watch", title_align="left", border_style="blue", expand=False)


def _status(campaign: Campaign, writer: psutil.Process | None) -> str:
    if campaign.status == "running" and writer is None:
        return "ended without a word; `gradfuzz run --resume` goes on with it"
    return campaign.status


def _rate(campaign: Campaign, looks: Sequence[Look]) -> str:
    """Mutants a second of the last minute where it is watched, of the processor's seconds where it is over."""
    if len(looks) > 1 and looks[-1].moment > looks[0].moment:
        return f", {(looks[-1].mutants - looks[0].mutants) / (looks[-1].moment - looks[0].moment):.0f} a second"
    cpu = campaign.tally.cpu
    return f", {campaign.tally.mutants / cpu:.0f} a second of the processor ({shown_time(cpu)} in all)" if cpu else ""


def _doing(board: Board) -> Table:
    """What each worker is at, and for how long; what it holds and has taken, where it is a process of this machine."""
    table = Table.grid(padding=(0, 2))
    if board.old:
        table.add_row(Text(f"nothing was heard for {shown_time(board.age)}", style="yellow"))
    for row in board.rows[:MOST_WORKERS]:
        since = "" if row.seconds is None else f"for {shown_time(row.seconds + board.age)}"
        table.add_row(Text(visible(row.who)), Text(visible(row.what)), Text(since, style="dim"), Text(_taken(row), style="dim"))
    more = len(board.rows) - MOST_WORKERS + board.more
    if more > 0:
        table.add_row(Text(f"and {more} more", style="dim"))
    return table


def _taken(row: Doing) -> str:
    try:
        process = psutil.Process(row.pid) if row.pid > 0 else None
        return "" if process is None else f"{process.memory_info().rss / 2**20:.0f} MB"
    except psutil.Error:
        return ""


def _processes(writer: psutil.Process) -> str:
    """What the campaign's processes take, all of them together."""
    cpu, memory, count = 0.0, 0, 0
    try:
        for process in (writer, *writer.children(recursive=True)):
            with contextlib.suppress(psutil.Error), process.oneshot():
                cpu, memory, count = cpu + sum(process.cpu_times()[:2]), memory + process.memory_info().rss, count + 1
    except psutil.Error:
        pass
    return f"{count}, with {memory / 2**30:.1f} GB and {shown_time(cpu)} of the processor among those that are there"


def _severities(bugs: Sequence[Bug]) -> Table:
    table = Table.grid(padding=(0, 1))
    counts = {grade: sum(bug.severity.grade == grade for bug in bugs) for grade in GRADES}
    for grade, n in counts.items():
        if n:
            table.add_row(str(n).rjust(5), ProgressBar(total=max(counts.values()), completed=n, width=BAR), grade.title)
    return table


def _gravest(bugs: Sequence[Bug]) -> list[Text]:
    lines = []
    for bug in [bug for bug in bugs if not bug.severity.grade.folded][:GRAVEST]:
        line = Text(visible(f"{bug.id}  "), style=COLOURS.get(bug.label_name, ""))
        line.append(Text(visible(bug.title + (", proven" if bug.proven else "")), style="default"))
        lines.append(line)
    return lines or [Text("no bug was found yet", style="dim")]
