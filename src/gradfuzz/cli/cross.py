"""`gradfuzz cross`: two libraries at the same inputs."""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, cell, out, say, seconds
from gradfuzz.cli.display import watching
from gradfuzz.cli.where import place
from gradfuzz.engine.config import Config
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.labels import NEWS
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.seeds.files import file_seeds
from gradfuzz.seeds.gather import gather
from gradfuzz.store.comparison import plain_cell
from gradfuzz.surveys.cross import Crossed, Pair, run_cross
from gradfuzz.targets.homes import home_of, known_targets


def cross(
    ours: Annotated[str, typer.Argument(metavar="LIBRARY", help="Whose seeds are taken: " + ", ".join(known_targets()) + ".")],
    theirs: Annotated[str, typer.Argument(metavar="OTHER", help="The library to hold against it.")],
    env: Annotated[Optional[str], typer.Option(help="An environment of `gradfuzz env add` that has the first.")] = None,
    other_env: Annotated[Optional[str], typer.Option(help="One that has the other.")] = None,
    api: Annotated[Optional[list[str]], typer.Option(help="Only functions of the first that fit this glob. May be given again.")] = None,
    time: Annotated[Optional[str], typer.Option(help="Stop comparing after so long: 90s, 5m. By default all that they share.")] = None,
    seeds: Annotated[Optional[list[Path]], typer.Option(help="Programs of the first to start from, not from its samples.")] = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Your own module, whose functions are held against the other's.")] = None,
    store: StoreOption = DEFAULT_STORE,
    to: Annotated[Optional[Path], typer.Option("--csv", help="Write every shared function to this file.")] = None,
    timeout: Annotated[str, typer.Option(help="How long one examination may take.")] = "30s",
) -> None:
    """Compare two libraries where they have the same function: values and derivatives of order one and two at the same inputs.

    Functions are matched by name and accepted where their values agree at the seeds and at other points. Where derivatives differ, each
    library's own referee looks at it, and the reference is asked; what they find is confirmed and kept as any finding is.

    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up.
    """
    if ours == theirs:
        raise GradfuzzError(f"{ours} is the same as itself; to compare two releases use `gradfuzz replay` and `gradfuzz compare`")
    modules, configs = tuple(module or ()), []
    given = [seed for path in seeds or () for seed in file_seeds(path, ours, modules)]
    for target, named in ((ours, env), (theirs, other_env)):
        home_of(target)
        where = place(None, named, target)
        lent, paths = (modules, (os.getcwd(),)) if modules and target == ours else ((), ())
        launch = Launch(target, where.python, lent, paths, seconds(timeout), variables=where.variables)
        configs.append(Config(launch, seconds=seconds(time) if time is not None else None, python_said=where.said))
    with watching() as display, Pool(configs[0].launch, 1) as first, Pool(configs[1].launch, 1) as second:
        display.say(f"{ours} {first.version} and {theirs} {second.version}")
        found = gather(first, given, display.say)
        crossed = run_cross(configs[0], configs[1], found, (first, second), tuple(api or ()), store, display)
    _show(crossed, ours, theirs)
    if to is not None:
        _write(to, crossed, ours, theirs)
    findings = [f for state in crossed.settled.values() for f in state.findings]
    raise typer.Exit(FOUND if any(f.label_name in NEWS for f in findings) else NOTHING_NEW)


def _columns(crossed: Crossed, ours: str, theirs: str) -> tuple[str, ...]:
    return (f"{ours} {crossed.versions[0]}", f"{theirs} {crossed.versions[1]}", "points", "entries", "values apart at", "first difference")


def _row(pair: Pair) -> tuple[object, ...]:
    told = ""
    if pair.differences:
        difference = pair.differences[0].difference
        told = f"order {difference.order}: {dict(difference.ours)} and {dict(difference.theirs)}"
    return (pair.ours, pair.theirs, pair.points, pair.entries, pair.apart, told)


def _write(path: Path, crossed: Crossed, ours: str, theirs: str) -> None:
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_columns(crossed, ours, theirs))
            writer.writerows([map(plain_cell, _row(pair)) for pair in crossed.pairs])
    except OSError as error:
        raise GradfuzzError(f"--csv {path}: {error.strerror}") from None


def _show(crossed: Crossed, ours: str, theirs: str) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _columns(crossed, ours, theirs):
        table.add_column(cell(column), overflow="fold")
    for pair in crossed.pairs:
        if pair.differences:
            table.add_row(*map(cell, _row(pair)))
    if table.row_count:
        out.print(table)
    pairs = crossed.pairs
    say(
        f"{len(pairs)} functions shared (of {crossed.named} with a namesake), {sum(p.points for p in pairs)} points, "
        f"{sum(p.entries for p in pairs)} entries of derivatives, {sum(bool(p.differences) for p in pairs)} functions with differences"
    )
    for target, state in crossed.settled.items():
        words = Counter(state.counts)
        asked = ", ".join(f"{n} {word}" for word, n in (state.asked + state.wondered).most_common()) or "not asked"
        say(f"{target}: its own oracles: {', '.join(f'{n} {w}' for w, n in words.most_common())}; the reference: {asked}")
        for finding in state.findings:
            say(f"  {finding.id}: {finding.api}: {finding.title} [{finding.label_name}]")
