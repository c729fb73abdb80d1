"""`gradfuzz replay` and `gradfuzz compare`: a stored campaign on another release, and two releases side by side."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.table import Table

from gradfuzz.bugs.judgements import beside, read_judgements
from gradfuzz.cli.bugs import JudgementsOption
from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, cell, out, records, say, seconds
from gradfuzz.cli.display import status_line, watching
from gradfuzz.cli.modules import lent
from gradfuzz.cli.run import MAX_ORDER, way_names
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.engine.config import Config
from gradfuzz.envs.environment import environment, environments
from gradfuzz.errors import GradfuzzError, ProgramError
from gradfuzz.findings.releases import ask, ways_of
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.report.compared import by_cause, compared_page, counted
from gradfuzz.store import Claim, Records, Store
from gradfuzz.store.comparison import COLUMNS, NEW, REGRESSION, as_csv, bugs
from gradfuzz.store.comparison import compare as side_by_side
from gradfuzz.surveys.profiles import chosen
from gradfuzz.surveys.replay import run_replay, stored
from gradfuzz.targets.homes import home_of

HERE = "here"  # the interpreter that runs gradfuzz, as the name of a release
STYLES = {REGRESSION: "bold red", NEW: "red", "in both": "yellow", "fixed": "green"}
ModuleOption = Annotated[Optional[list[str]], typer.Option(help="Lend your own module that findings call. It is trusted.")]

WaysOption = Annotated[
    Optional[str],
    typer.Option(help="Ways of findings that need a compiler, as in inductor: yours to allow, not a store's."),
]


def replay(
    python: PythonOption = None,
    env: EnvOption = None,
    store: StoreOption = DEFAULT_STORE,
    campaign: Annotated[Optional[int], typer.Option(min=1, help="Which one, by its number; by default the last with a corpus.")] = None,
    each: Annotated[int, typer.Option("--mutants", min=0, max=10_000, help="Of each seed, itself among them; 0: findings alone.")] = 4,
    time: Annotated[Optional[str], typer.Option(help="Stop the corpus after so long: 90s, 5m. By default all of it is run.")] = None,
    order: Annotated[Optional[int], typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative to check.")] = None,
    profile: Annotated[str, typer.Option(help="How much goes into further ways of running: quick, default, nightly, full.")] = "quick",
    module: ModuleOption = None,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    timeout: Annotated[str, typer.Option(help="How long one mutant may take.")] = "10s",
) -> None:
    """Run a stored campaign's findings and corpus on another release of the same library.

    Each finding's script is written anew and run there; what it says is kept with the finding. Then every seed of the corpus is run with
    a few mutants, as a campaign of its own in the same store. `gradfuzz compare` shows the two side by side.

    Exit status: 0 nothing new, 1 the corpus brought findings that the campaign did not have, 2 wrong use or broken set-up.
    """
    with records(store) as opened:
        row = opened.campaign(campaign)
    if row is None:
        raise GradfuzzError(f"{store} holds no campaign{f' {campaign}' if campaign else ''}; run `gradfuzz run` first")
    target, modules = home_of(row["target"]).name, lent(module or ())
    where = place(python, env, target)
    seeds, findings = stored(store, target, campaign, modules)
    ways = ways_of(target, findings, (way.name for way in chosen(target, profile).ways))
    paths = (os.getcwd(),) if modules else ()
    launch = Launch(target, where.python, modules, paths, seconds(timeout), ways=ways, variables=where.variables)
    limit = seconds(time) if time is not None else None
    config = Config(launch, seconds=limit, order=order, profile=profile, workers=workers or os.cpu_count() or 1, python_said=where.said)
    with watching() as display:
        done = run_replay(config, seeds if each else [], findings, each or 1, store, display)
    words = Counter(word for word, _ in done.answers.values())
    out.print(status_line(done.state), markup=False)
    say(f"{target} {done.version}: of {len(findings)} findings " + (", ".join(f"{n} {word}" for word, n in words.most_common()) or "none"))
    known = {f.key for f in findings}
    new = [f for f in done.state.findings if f.key not in known]
    out.print(f"{len(new)} findings of the corpus that the campaign did not have", markup=False)
    raise typer.Exit(FOUND if new else NOTHING_NEW)


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="An environment, `here`, or a release that was asked before, as in 1.12.1.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The same; usually the newer one.")],
    store: StoreOption = DEFAULT_STORE,
    target: Annotated[Optional[str], typer.Option(help="The library; by default that of the store's last campaign.")] = None,
    module: ModuleOption = None,
    ways: WaysOption = None,
    to: Annotated[Optional[Path], typer.Option("--csv", help="Write the table to this file, too.")] = None,
    page: Annotated[Optional[Path], typer.Option(help="Write a page of Markdown: a line a bug, with its judgement.")] = None,
    judgements: JudgementsOption = None,
) -> None:
    """Say of every bug in a store what became of it between two releases: in both, fixed, new, a regression, or that it cannot run.

    Where A or B is an environment or `here`, bugs that it was not asked for are asked for now, and what it says is kept. A regression
    (there, gone in a later release, there again) comes first.

    Exit status: 0 nothing new in B, 1 new bugs or regressions in B, 2 wrong use or broken set-up.
    """
    with records(store) as opened:
        row = opened.campaign()
    name = target or (row["target"] if row is not None else "")
    home_of(name)
    named = tuple(way.name for way in chosen(name, names=way_names(ways)).ways) if ways else ()
    old, new = (_asked(side, name, store, lent(module or ()), named) for side in (before, after))
    with records(store) as opened:
        rows = side_by_side(opened, name, old, new)
        judged = read_judgements(judgements or beside(opened.path))
        written = [(to, "--csv", as_csv(rows, old, new)), (page, "--page", compared_page(opened, name, old, new, rows, judged))]
    if not any(v in row.said for row in rows for v in (old, new)):
        raise GradfuzzError(f"neither {old} nor {new} was asked about a bug in {store}; name environments, or replay it")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(cell(old if column == "before" else new if column == "after" else column), overflow="fold")
    for line in rows:
        first, *rest = map(cell, line.row())
        table.add_row(f"[{STYLES.get(line.change, 'dim')}]{first}[/]", *rest)
    out.print(table)
    changes = [line.change for line in rows]
    causes = [became.change for became in by_cause(rows)]
    say(f"{name} {old} and {new}: findings: {counted(changes)}; bugs: {counted(causes)}")
    for path, option, text in written:
        if path is not None:
            try:
                path.write_text(text, encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise GradfuzzError(f"{option} {path}: {error.strerror}") from None
    raise typer.Exit(FOUND if {NEW, REGRESSION} & set(changes) else NOTHING_NEW)


def _asked(side: str, target: str, store: Path, modules: tuple[str, ...], said: tuple[str, ...]) -> str:
    """The release that a name means; where it can be run, it is asked about what it has not been."""
    if side != HERE and side not in {e.name for e in environments()}:
        return side
    where = place(None, None if side == HERE else environment(side).name, target)
    with Records(store) as opened:
        ways = ways_of(target, (finding for finding, _ in bugs(opened, target).values()), said)
    launch = Launch(target, where.python, modules, (os.getcwd(),) if modules else (), ways=ways, variables=where.variables)
    with Pool(launch, 1) as pool:
        with Records(store) as opened:
            open_questions = [finding for finding, said in bugs(opened, target).values() if pool.version not in said]
        with writing(store) as kept:
            for number, finding in enumerate(open_questions, 1):
                if not set(finding.modules) <= set(modules):
                    continue
                try:
                    word, why = ask(pool, finding)
                except ProgramError as error:
                    say(f"{finding.id} is left out: {error}")
                    continue
                kept.release_said(finding.id, pool.version, word)
                say(f"{number} of {len(open_questions)}: {finding.id} on {pool.version}: {word}{f' ({why})' if why else ''}")
        return pool.version


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Store]:
    """A store to write what releases say into, which nobody else may write to meanwhile."""
    with Claim(path), contextlib.closing(Store(path, create=False)) as opened:
        yield opened
