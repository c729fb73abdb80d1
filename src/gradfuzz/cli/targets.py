"""`gradfuzz targets`: what can be fuzzed here, in which ways, and what these cost."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import cell, out
from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.targets.base.ways import read_ways
from gradfuzz.targets.homes import home_of, known_targets
from gradfuzz.worker.walls import STRICT

COMPILERS = ("c++", "g++", "clang++")


def targets(python: Annotated[Optional[str], typer.Option(help="Look into this interpreter instead of this one.")] = None) -> None:
    """List the libraries that are installed here, the scenarios that work with them, and further ways of running with what they cost.

    Walls: what workers gave up before their first Program (files outside their folder, other programs, the network). `up`: all of
    that; `compiler`: they may start programs; `open` says what this system cannot keep from them.

    Ways: seconds on a tiny function, the first time and again; a way that compiles serves a family of mutants with its first time.
    """
    Launch(known_targets()[0], python or sys.executable).interpreter()  # raises where there is none
    usable, why = 0, ""
    ways = _table("way", "library", "first", "again", "profile", "what it is")
    table = _table("target", "version", "Python", "walls", "scenarios that work")
    for name in known_targets():
        try:
            with Pool(Launch(name, python or sys.executable), 1) as pool:
                about = pool.run("about", limit=120.0).data
            walls = f"open: {'; '.join(about['open'])}" if about["open"] else "up" if pool.launch.walls == STRICT else pool.launch.walls
            table.add_row(name, about["version"], about["python"], walls, ", ".join(about["scenarios"]))
            _rows(ways, name, about["ways"])
            usable += 1
        except GradfuzzError as error:
            why = str(error)
            table.add_row(name, "[dim]not here[/]", "", "", f"[dim]{cell(error)}[/]")
    if not usable:
        raise TargetError(f"nothing can be fuzzed with {python or sys.executable}; the last try said: {why}")
    out.print(table)
    out.print()
    out.print(ways)


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
