"""`gradfuzz env add`, `list`, `remove`: releases of libraries, each in a virtual environment of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import cell, err, guarded, out, say
from gradfuzz.cli.steps import stepping
from gradfuzz.envs.environment import SMOKE, Environment, environment, environments, environments_folder
from gradfuzz.envs.environment import remove as take_away
from gradfuzz.envs.make import add as make
from gradfuzz.envs.make import default_name, smoke_tested, told
from gradfuzz.envs.pythons import choose, named
from gradfuzz.envs.recipe import read_request, recipe_for
from gradfuzz.errors import GradfuzzError

app = typer.Typer(
    help="Releases of libraries, each in a virtual environment of its own. `gradfuzz run torch --env NAME` then fuzzes that release.",
    no_args_is_help=True,
)

IndexOption = Annotated[
    Optional[list[str]],
    typer.Option("--index", help="A further package index, as pip's --extra-index-url: one with CPU builds, say. May be given again."),
]


def add(
    release: Annotated[str, typer.Argument(metavar="LIBRARY==VERSION", help="As in torch==1.13.1, jax==0.4.30, tensorflow==2.9.3.")],
    python: Annotated[
        Optional[str], typer.Option(help="The Python to make it with, as in python3.10; by default the newest that has this release.")
    ] = None,
    name: Annotated[Optional[str], typer.Option(help="What to call it; by default as in torch-1.13.1.")] = None,
    index: IndexOption = None,
) -> None:
    """Make an environment with one release of a library and what it needs, try it out, and remember it.

    What will be installed is said first. uv does it where it is installed, pip otherwise. What a release needs beside what it declares
    (an older NumPy, say) is known for some of them, with reasons. An install that fails or is stopped leaves nothing behind.
    """
    recipe = recipe_for(*read_request(release))
    try:
        chosen = named(python) if python is not None else choose(recipe.pythons)
    except GradfuzzError as error:
        raise GradfuzzError(f"{recipe.requirement}: {error}") from None
    called = name or default_name(recipe)
    for line in told(recipe, chosen, environments_folder() / called):
        say(line)
    with stepping(len(recipe.commands) + 2) as steps:
        made = make(recipe, chosen, called, tuple(index or ()), steps)
    out.print(
        f"{made.name}: {made.target} {made.version}, Python {made.python_version}, {shown_size(made.size)}, {_smoke(made)}", markup=False
    )
    out.print(f"use it with: gradfuzz run {made.target} --env {made.name}", markup=False)


def listed(
    check: Annotated[bool, typer.Option("--check", help="Run the smoke tests again, rather than show how they went at the time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects, for programs.")] = False,
) -> None:
    """List the environments: what is in them, how large they are, and whether every scenario passes its smoke test."""
    found = environments()
    if check:
        found = [_again(e) for e in found]
    if as_json:
        print(json.dumps([_public(e) for e in found], indent=2))
        return
    if not found:
        out.print(f"there are none in {environments_folder()} yet; make one with: gradfuzz env add torch==1.13.1", markup=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "library", "release", "Python", "size", "smoke test"):
        table.add_column(column, overflow="fold", justify="right" if column == "size" else "left")
    for e in found:
        table.add_row(*map(cell, (e.name, e.target, e.version, e.python_version, shown_size(e.size), _smoke(e))))
    out.print(table)


def remove(names: Annotated[list[str], typer.Argument(metavar="NAME…", help="As `gradfuzz env list` shows them.")]) -> None:
    """Take environments away, with all that is in them."""
    for found in [environment(name) for name in names]:
        take_away(found)
        say(f"removed {found.name} ({shown_size(found.size)})")


def _again(found: Environment) -> Environment:
    try:
        tested = smoke_tested(found)
    except GradfuzzError as error:
        err.print(f"gradfuzz: {found.name}: {error}", markup=False)
        tested = replace(found, scenarios=())
    tested.write()
    return tested


def _smoke(found: Environment) -> str:
    """Whether every scenario works, and which do not."""
    if not found.missing:
        return f"all {len(SMOKE)} scenarios pass"
    if not found.scenarios:
        return "nothing works"
    return f"{len(SMOKE) - len(found.missing)} of {len(SMOKE)} pass; not {', '.join(found.missing)}"


def _public(e: Environment) -> dict[str, object]:
    return {
        "name": e.name, "target": e.target, "version": e.version, "python": e.python, "python_version": e.python_version, "size": e.size,
        "created": e.created, "scenarios": list(e.scenarios), "missing": e.missing, "requirements": list(e.requirements),
        "variables": dict(e.settings),
    }  # fmt: skip


def shown_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


app.command("add")(guarded(add))
app.command("list")(guarded(listed))
app.command("remove")(guarded(remove))
