"""`gradfuzz bisect`: which release brought a bug, or mended it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table

from gradfuzz.cli.bugs import leading
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, cell, out, records, say
from gradfuzz.cli.env import IndexOption
from gradfuzz.cli.findings import IdArgument
from gradfuzz.cli.replay import ModuleOption, WaysOption, writing
from gradfuzz.cli.run import way_names
from gradfuzz.cli.steps import stepping
from gradfuzz.envs.bisect import bisect as by_halves
from gradfuzz.envs.environment import Environment, environments, environments_folder, remove
from gradfuzz.envs.install import offered
from gradfuzz.envs.make import add, default_name, told
from gradfuzz.envs.pythons import choose, installed
from gradfuzz.envs.recipe import Recipe, package_of, recipe_for
from gradfuzz.envs.versions import order, wanted
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import CANNOT, since
from gradfuzz.findings.releases import ask, ways_of
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.surveys.profiles import chosen
from gradfuzz.targets.homes import home_of


def bisect(
    identity: IdArgument,
    versions: Annotated[str, typer.Option(help="From which release to which, as in 1.11.0..2.15.0; or exactly these: 1.12.1,2.0.1,2.4.1.")],
    store: StoreOption = DEFAULT_STORE,
    module: ModuleOption = None,
    ways: WaysOption = None,
    index: IndexOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the environments that are made on the way.")] = False,
) -> None:
    """Find the first release with a bug, or without it, by its script in environments that are made on demand and removed again.

    What is installed is said before it is. The two ends are asked first, then halves; a release that cannot run it is passed over.
    Environments that are there already are used and stay. What each release said is kept with the finding: `gradfuzz issue ID` tells it.
    """
    with records(store) as opened:
        finding = leading(opened, identity)
    home = home_of(finding.target)
    modules = tuple(module or ())
    if not set(finding.modules) <= set(modules):
        raise GradfuzzError(f"{finding.id} calls {', '.join(finding.modules)}; to run it, lend that with --module")
    named = tuple(way.name for way in chosen(finding.target, names=way_names(ways)).ways) if ways else ()
    releases = _releases(finding.target, versions)
    if len(releases) < 2:
        raise GradfuzzError(f"--versions {versions}: there are not two releases of {package_of(home)} to tell apart; found: {releases}")
    say(f"{finding.id} {finding.api}: {finding.title}")
    say(f"{len(releases)} releases of {package_of(home)}: {', '.join(releases)}")
    reasons: dict[str, str] = {}

    def asked(release: str) -> str:
        try:
            with _there(recipe_for(finding.target, release), tuple(index or ()), keep) as found:
                word, reasons[release] = _ask(found, finding, modules, named)
                with writing(store) as kept:
                    kept.release_said(finding.id, release, word)
        except GradfuzzError as error:  # it could not be asked: nothing to remember
            word, reasons[release] = CANNOT, str(error)
        say(f"{release}: {word}{f' ({reasons[release]})' if reasons[release] else ''}")
        return word

    said = by_halves(releases, asked, CANNOT)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("release", "says", "why"):
        table.add_column(column, overflow="fold")
    for release in sorted(said, key=order):
        table.add_row(cell(release), said[release], cell(reasons[release]))
    out.print(table)
    say(f"{since(said) or 'too few releases can run it to say'} ({len(said)} of {len(releases)} releases were asked)")


def _releases(target: str, text: str) -> list[str]:
    if ".." not in text:
        return wanted(text, [])
    pythons = installed()
    if not pythons:
        raise GradfuzzError("no Python with venv was found to ask for releases with; name releases one by one, as in 1.12.1,2.0.1")
    return wanted(text, offered(package_of(home_of(target)), pythons[-1], [p.minor for p in pythons]))


@contextlib.contextmanager
def _there(recipe: Recipe, indexes: tuple[str, ...], keep: bool) -> Iterator[Environment]:
    """An environment with a release: one that is there, or one that is made and taken away again."""
    for found in environments():
        if found.target == recipe.target and order(found.version) == order(recipe.version):
            yield found
            return
    python, name = choose(recipe.pythons), default_name(recipe)
    for line in told(recipe, python, environments_folder() / name):
        say(line)
    with stepping(len(recipe.commands) + 2) as steps:
        made = add(recipe, python, name, indexes, steps)
    try:
        yield made
    finally:
        if not keep:
            remove(made)


def _ask(found: Environment, finding: Finding, modules: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, str]:
    paths = (os.getcwd(),) if modules else ()
    launch = Launch(found.target, found.python, modules, paths, ways=ways_of(found.target, [finding], said), variables=found.settings)
    with Pool(launch, 1) as pool:
        return ask(pool, finding)
