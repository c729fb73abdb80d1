"""`gradfuzz targets`: what can be fuzzed here, in which ways, and what these cost."""

from __future__ import annotations

import shutil
from typing import Any

from rich.table import Table

from gradfuzz.cli.console import cell, err, out
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.envs.recipe import releases_tested
from gradfuzz.envs.versions import order
from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.targets.base.ways import read_ways
from gradfuzz.targets.homes import home_of, known_targets
from gradfuzz.worker.walls import STRICT

COMPILERS = ("c++", "g++", "clang++")


def targets(python: PythonOption = None, env: EnvOption = None) -> None:
    """List the libraries that are installed here, the releases that gradfuzz was tested with, the scenarios that work, and what ways cost.

    Walls: what workers gave up before their first Program (files outside their folder, other programs, the network). `up`: all of
    that; `compiler`: they may start programs; `open` says what this system cannot keep from them.

    Ways: seconds on a tiny function, the first time and again; a way that compiles serves a family of mutants with its first time.
    """
    where = place(python, env)
    Launch(known_targets()[0], where.python).interpreter()  # raises where there is none
    usable, why = 0, ""
    ways = _table("way", "library", "first", "again", "profile", "what it is")
    table = _table("target", "version", "tested with", "Python", "walls", "scenarios that work")
    warnings = []
    for name in known_targets():
        known = ", ".join(releases_tested(home_of(name)))
        try:
            with Pool(Launch(name, where.python, variables=where.variables), 1) as pool:
                about = pool.run("about", limit=120.0).data
            walls = f"open: {'; '.join(about['open'])}" if about["open"] else "up" if pool.launch.walls == STRICT else pool.launch.walls
            table.add_row(name, cell(about["version"]), known, about["python"], walls, ", ".join(about["scenarios"]))
            warnings += newer(name, about["version"])
            _rows(ways, name, about["ways"])
            usable += 1
        except GradfuzzError as error:
            why = str(error)
            table.add_row(name, "[dim]not here[/]", known, "", "", f"[dim]{cell(error)}[/]")
    if not usable:
        raise TargetError(f"nothing can be fuzzed with {where.python}; the last try said: {why}")
    out.print(table)
    out.print()
    out.print(ways)
    for warning in warnings:
        err.print(f"gradfuzz: {warning}", markup=False)


def newer(target: str, version: str) -> list[str]:
    """A line where a release is newer than any that gradfuzz was tested with."""
    known = releases_tested(home_of(target))
    if not known or order(version) <= order(known[-1]):
        return []
    title = home_of(target).title
    return [f"{title} {version} is newer than {known[-1]}, the newest that gradfuzz was tested with: look twice at what it finds there"]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _rows(table: Table, target: str, measured: dict[str, dict[str, Any]]) -> None:
    """A row for each way that the library's folder describes; dim where this release lacks it, or the tiny function has no such form."""
    for name, way in read_ways(home_of(target).data("ways")).items():
        cost = measured.get(name)
        profile = "nightly" if not way.default else "default" if way.compiles else "quick"
        if cost is not None and "needs" in cost:
            found = next((c for c in COMPILERS if shutil.which(c)), None)
            first, again = (f"with {found}", "") if found else ("[dim]no C++ compiler[/]", "")
        elif cost:
            first, again = f"{cost['first']:.3f}", f"{cost['again']:.4f}"
        else:
            first, again = "[dim]not here[/]" if cost is None else "[dim]other functions[/]", ""
        table.add_row(name, target, first, again, profile, cell(way.about))
