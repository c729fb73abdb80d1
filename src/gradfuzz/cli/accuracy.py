"""`gradfuzz accuracy`: how many digits special functions and their derivatives lose, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table as Grid

from gradfuzz.cli.console import FOUND, NOTHING_NEW, out, seconds
from gradfuzz.cli.display import Quiet, watching
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.engine.config import Config
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.launch import Launch
from gradfuzz.reference.digits import ALL, UNITS, Loss, worst
from gradfuzz.reference.picture import png
from gradfuzz.surveys.accuracy import Table, accuracy_points, forms, measure
from gradfuzz.surveys.tails import page as page_of_tails
from gradfuzz.surveys.tails import tail_points
from gradfuzz.targets.homes import home_of, known_targets
from gradfuzz.testing.step_curve import inline_image

# Half of a type's digits: what is left is what the next lower type would have given.
HALF = 0.5


def accuracy(
    target: Annotated[str, typer.Argument(help="The library: " + ", ".join(known_targets()) + ".")],
    op: Annotated[Optional[list[str]], typer.Option(help="Only functions that fit this glob, as in 'erf*'. May be given again.")] = None,
    points: Annotated[
        int, typer.Option(min=2, max=100_000, help="Sizes over the whole range; three times as many lie between 0.001 and 1000.")
    ] = 21,
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    to: Annotated[Optional[Path], typer.Option("--out", help="A folder for pictures and a page; nothing is drawn without.")] = None,
    tails: Annotated[
        Optional[Path],
        typer.Option(
            help="Sweep from 1e-300 to 1e300 instead, and write every point at which a derivative is lost to this page (Markdown)."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    python: PythonOption = None,
    env: EnvOption = None,
    timeout: Annotated[str, typer.Option(help="How long one point may take.")] = "10s",
) -> None:
    """Compare values, first and second derivatives of functions of one number with the exact ones, enclosed by ball arithmetic.

    A number that has lost more than half of its type's digits is a finding. What underflows or overflows the type is left out, and what
    a rounding of the input explains is not held against the library.

    Exit status: 0 nothing found, 1 findings, 2 wrong use or broken set-up.
    """
    home_of(target)  # raises for a name that is none
    if tails is not None and dtype != "float64":
        raise GradfuzzError("--tails is about doubles; leave --dtype out")
    if dtype not in UNITS:
        raise GradfuzzError(f"--dtype {dtype}: it is for {', '.join(UNITS)}")
    chosen = forms(target, tuple(op or ()))
    where = place(python, env, target)
    launch = Launch(target, where.python, timeout=seconds(timeout), variables=where.variables)
    swept = accuracy_points(points, dtype) if tails is None else tail_points(points)
    with Quiet() if as_json else watching() as display:
        version, tables = measure(Config(launch, seconds=None), chosen, swept, dtype, display)
    if tails is not None:
        title = home_of(target).title
        write_page(
            tails, page_of_tails(title, version, tables, swept, f"gradfuzz accuracy {target} --tails {tails.name} --points {points}")
        )
    found = [finding(table, loss) for table in tables for loss in worst(table.losses).values() if loss.lost >= HALF * ALL[dtype]]
    hung = [(table, x, cause) for table in tables for x, cause in table.lost_workers]
    if as_json:
        out.print(json.dumps(found, indent=2), markup=False)
    else:
        show(target, version, tables, dtype)
        for table, x, cause in hung:
            out.print(
                f"{table.text} at {x:.6e}: the worker {'did not come back' if cause == 'timeout' else 'died: ' + cause}", markup=False
            )
    if to is not None:
        page(to, target, version, tables, dtype)
        if not as_json:
            out.print(f"wrote {to / 'index.html'}", markup=False)
    raise typer.Exit(FOUND if found or hung else NOTHING_NEW)


def write_page(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GradfuzzError(f"--tails {path}: {error.strerror}") from None


def finding(table: Table, loss: Loss) -> dict[str, Any]:
    where = sorted(
        abs(f.x) for f in table.losses if (f.kind, f.way) == (loss.kind, loss.way) and f.lost > loss.lost / 2 and f.x * loss.x > 0
    )
    return {
        "function": table.text, "what": loss.kind, "way": loss.way, "digits_lost": round(loss.lost, 1), "worst_at": loss.x,
        "from": where[0], "to": where[-1], "expected": repr(loss.expected), "got": repr(loss.got),
    }  # fmt: skip


def show(target: str, version: str, tables: list[Table], dtype: str) -> None:
    grid = Grid(box=None, pad_edge=False, header_style="bold", title=f"{target} {version}, {dtype}: digits lost, of {ALL[dtype]:.0f}")
    for column in ("function", "what", "way", "lost", "worst at", "expected", "got"):
        grid.add_column(column)
    for table in tables:
        for (kind, way), loss in worst(table.losses).items():
            if loss.lost >= 2.0:
                style = "bold red" if loss.lost >= HALF * ALL[dtype] else "yellow"
                row = (table.text, kind, way, f"[{style}]{loss.lost:.1f}[/]", f"{loss.x:.6g}", f"{loss.expected:.6g}", f"{loss.got:.6g}")
                grid.add_row(*row)
    out.print(grid)


def page(folder: Path, target: str, version: str, tables: list[Table], dtype: str) -> None:
    """A picture for each function that loses something, and a page with all of them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = [f"<!doctype html><meta charset=utf-8><title>accuracy of {target} {version}</title><h1>{target} {version}, {dtype}</h1>"]
        for table in tables:
            if any(loss.lost >= 1.0 for loss in table.losses):
                picture = png(table.text, table.losses, dtype)
                (folder / f"{table.name.replace(' ', '-')}.png").write_bytes(picture)
                parts.append(inline_image(picture, f"digits lost by {table.text}"))
        (folder / "index.html").write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise GradfuzzError(f"--out {folder}: {error.strerror}") from None
