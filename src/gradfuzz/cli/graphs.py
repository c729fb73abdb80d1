"""`gradfuzz graphs`: random graphs of many calls."""

from __future__ import annotations

import os
import sys
import time as clock
from typing import Annotated, Any, Optional

import typer

from gradfuzz.campaign.config import DEFAULT_SECONDS, Config
from gradfuzz.campaign.graphs import GraphPlan, run_graphs
from gradfuzz.campaign.launch import Launch
from gradfuzz.campaign.survey import Tally
from gradfuzz.cli.chain import closing, say, status
from gradfuzz.cli.console import seconds
from gradfuzz.cli.display import PLAIN_EVERY, label_of
from gradfuzz.cli.run import DEFAULT_STORE, MAX_ORDER, StoreOption
from gradfuzz.errors import TargetError
from gradfuzz.program import known_targets


def graphs(
    target: Annotated[str, typer.Argument(help="The library: " + ", ".join(known_targets()) + ".")],
    time: Annotated[Optional[str], typer.Option(help="How long: 90s, 5m, 1h30m. Five minutes by default.")] = None,
    count: Annotated[Optional[int], typer.Option(min=1, help="Stop after so many graphs.")] = None,
    size: Annotated[Optional[int], typer.Option(min=3, max=30, help="Calls in a graph; by default anything from 3 to 30.")] = None,
    order: Annotated[int, typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative; every fourth graph goes there.")] = 2,
    python: Annotated[Optional[str], typer.Option(help="The interpreter that has the library.")] = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Also use functions of this Python module of yours. It is trusted.")] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    timeout: Annotated[str, typer.Option(help="How long one graph may take.")] = "10s",
) -> None:
    """Test random graphs: shared subexpressions, several inputs and outputs, broadcasting, reductions, products, indexing, casts.

    Graphs are made of functions found by trying, fitted to each other's shapes and domains. A graph that disagrees is narrowed down to
    the one call that does, or to the smallest composition.

    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up.
    """
    if target not in known_targets():
        raise TargetError(f"unknown target {target!r}; known targets: {', '.join(known_targets())}")
    paths = (os.getcwd(),) if module else ()
    launch = Launch(target, python or sys.executable, tuple(module or ()), paths, seconds(timeout))
    limit = seconds(time) if time else (None if count else DEFAULT_SECONDS)
    config = Config(launch, seed, limit, order=order, workers=workers or os.cpu_count() or 1)
    tally = run_graphs(config, GraphPlan(size, count), store, Watch(), say)
    say(summary(tally))
    closing(tally, "graphs", "graphs", (store != DEFAULT_STORE and f" --store {store}") or "")


def summary(tally: Tally) -> str:
    """How many ran, how many said something, how fast."""
    total = sum(tally.counts.values()) or 1
    valid = total - tally.counts["invalid"]
    conclusive = tally.counts["agree"] + tally.counts["disagree"]
    return (
        f"{100 * valid / total:.1f} % valid, {100 * conclusive / (valid or 1):.1f} % of these conclusive, "
        f"{tally.extra['calls'] / total:.1f} calls a graph, {total / (tally.cpu or 1):.0f} graphs per second of a worker's CPU"
    )


class Watch:
    """Progress now and then, and a line for each finding."""

    def __init__(self) -> None:
        self.last = clock.monotonic()

    def row(self, name: str, row: dict[str, Any]) -> None:
        return None

    def found(self, document: dict[str, Any]) -> None:
        say(f"found {document['id']}: {document['api']}: {document['title']} [{label_of(document)}]")

    def died(self, name: str, cause: str) -> None:
        say(f"graph {name}: the worker {'did not come back' if cause == 'timeout' else 'died: ' + cause}")

    def tick(self, tally: Tally) -> None:
        if clock.monotonic() - self.last >= PLAIN_EVERY:
            self.last = clock.monotonic()
            say(status(tally, "graphs", "graphs"))
