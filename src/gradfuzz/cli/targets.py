"""`gradfuzz targets`: what can be fuzzed here."""

from __future__ import annotations

import sys
from typing import Annotated, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import cell, out
from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.targets.homes import known_targets
from gradfuzz.worker.walls import STRICT


def targets(python: Annotated[Optional[str], typer.Option(help="Look into this interpreter instead of this one.")] = None) -> None:
    """List the libraries that are installed here and the scenarios that work with them.

    Walls: what workers gave up before their first Program (files outside their folder, other programs, the network). `up`: all of
    that; `compiler`: they may start programs; `open` says what this system cannot keep from them.
    """
    Launch(known_targets()[0], python or sys.executable).interpreter()  # raises where there is none
    usable, why = 0, ""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "version", "Python", "walls", "scenarios that work"):
        table.add_column(column, overflow="fold")
    for name in known_targets():
        try:
            with Pool(Launch(name, python or sys.executable), 1) as pool:
                about = pool.run("about").data
            walls = f"open: {'; '.join(about['open'])}" if about["open"] else "up" if pool.launch.walls == STRICT else pool.launch.walls
            table.add_row(name, about["version"], about["python"], walls, ", ".join(about["scenarios"]))
            usable += 1
        except GradfuzzError as error:
            why = str(error)
            table.add_row(name, "[dim]not here[/]", "", "", f"[dim]{cell(error)}[/]")
    if not usable:
        raise TargetError(f"nothing can be fuzzed with {python or sys.executable}; the last try said: {why}")
    out.print(table)
