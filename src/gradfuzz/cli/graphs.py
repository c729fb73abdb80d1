"""`gradfuzz graphs`: random graphs of many calls."""

from __future__ import annotations

import os
from typing import Annotated, Optional

import typer

from gradfuzz.cli.chain import closing
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, out, seconds
from gradfuzz.cli.display import watching
from gradfuzz.cli.run import MAX_ORDER, way_names
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.engine.config import DEFAULT_SECONDS, Config
from gradfuzz.engine.survey import State
from gradfuzz.pool.launch import Launch
from gradfuzz.surveys.graphs import GraphPlan, run_graphs
from gradfuzz.surveys.profiles import DEFAULT, chosen
from gradfuzz.targets.homes import home_of, known_targets


def graphs(
    target: Annotated[str, typer.Argument(help="The library: " + ", ".join(known_targets()) + ".")],
    time: Annotated[Optional[str], typer.Option(help="How long: 90s, 5m, 1h30m. Five minutes by default.")] = None,
    count: Annotated[Optional[int], typer.Option(min=1, help="Stop after so many graphs.")] = None,
    size: Annotated[Optional[int], typer.Option(min=3, max=30, help="Calls in a graph; by default anything from 3 to 30.")] = None,
    order: Annotated[int, typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative; every fourth graph goes there.")] = 2,
    python: PythonOption = None,
    env: EnvOption = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Also use functions of this Python module of yours. It is trusted.")] = None,
    profile: Annotated[str, typer.Option(help="How much goes into further ways of running: quick, default, nightly, full.")] = DEFAULT,
    ways: Annotated[Optional[str], typer.Option(help="Exactly these ways, as in aot_eager,batched.")] = None,
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
    home_of(target)  # raises for a name that is none
    paths = (os.getcwd(),) if module else ()
    named = way_names(ways)
    wanted = tuple(way.name for way in chosen(target, profile, named).ways)
    where = place(python, env, target)
    launch = Launch(target, where.python, tuple(module or ()), paths, seconds(timeout), ways=wanted, variables=where.variables)
    limit = seconds(time) if time is not None else (None if count else DEFAULT_SECONDS)
    config = Config(launch, seed, limit, order=order, profile=profile, ways=named, workers=workers or os.cpu_count() or 1)
    with watching() as display:
        state = run_graphs(config, GraphPlan(size, count), store, display)
    out.print(summary(state), markup=False)
    closing(state, store)


def summary(state: State) -> str:
    """How many ran, how many said something, how fast."""
    total = sum(state.counts.values()) or 1
    valid = total - state.counts["invalid"]
    conclusive = state.counts["agree"] + state.counts["disagree"]
    return (
        f"{100 * valid / total:.1f} % valid, {100 * conclusive / (valid or 1):.1f} % of these conclusive, "
        f"{state.extra['calls'] / total:.1f} calls a graph, {total / (state.cpu or 1):.0f} graphs per second of a worker's CPU"
    )
