"""`gradfuzz check`: one Program in every scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import FOUND, NOTHING_NEW, cell, out, say, seconds
from gradfuzz.cli.modules import lent
from gradfuzz.cli.run import MAX_ORDER, way_names
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.errors import GradfuzzError, ProgramError
from gradfuzz.oracles.check import Options
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import Program, parse, to_json
from gradfuzz.surveys.profiles import chosen
from gradfuzz.targets.homes import default_target, language_for

STYLES = {"agree": "green", "disagree": "bold red", "inconclusive": "yellow", "unsupported": "dim", "invalid": "yellow"}


def check(
    file: Annotated[Path, typer.Argument(help="A Program as text; see the README for the language.")],
    target: Annotated[str, typer.Option(help="The library the Program is written for.")] = default_target(),
    python: PythonOption = None,
    env: EnvOption = None,
    order: Annotated[int, typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative.")] = 2,
    module: Annotated[Optional[list[str]], typer.Option(help="Also allow calls into this Python module: your own ops.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses the random directions.")] = 0,
    profile: Annotated[
        str, typer.Option(help="In which further ways, too: quick (all that compile nothing), default, nightly, full.")
    ] = "quick",
    ways: Annotated[Optional[str], typer.Option(help="Exactly these ways, as in aot_eager,batched; `gradfuzz targets` lists them.")] = None,
    device: Annotated[str, typer.Option(help="Compare the processor with this device, as in cuda.")] = "",
    timeout: Annotated[str, typer.Option(help="How long it may take.")] = "60s",
) -> None:
    """Run one Program through every scenario and print the table.

    Exit status: 0 if all agree or nothing can be said, 1 if something is wrong, 2 for wrong use.
    """
    modules = lent(module or ())
    program = _read(file, target, modules)
    named = tuple(way.name for way in chosen(target, profile, way_names(ways)).ways)
    paths = (str(Path.cwd()),) if modules else ()
    where = place(python, env, target)
    launch = Launch(
        target, where.python, modules, paths, seconds(timeout), ways=named, device=device, variables=where.variables
    )  # fmt: skip
    with Pool(launch, 1) as pool:
        here = tuple(name for name in named if name in pool.ways)
        event = pool.run("examine", program=to_json(program), options=Options(order, None, seed, ways=here, device=device).to_json())
        version = pool.version
    if "refused" in event.data:
        raise GradfuzzError(f"{file}: {event.data['refused']}")
    say(f"{target} {version}, {program.api}")
    if event.kind == "died":
        out.print(f"[bold red]the process died: {event.data['cause']}[/]")
        raise typer.Exit(FOUND)
    if "failed" in event.data:
        raise GradfuzzError(event.data["failed"])
    _print(event.data)
    raise typer.Exit(FOUND if event.data["outcome"] == "disagree" else NOTHING_NEW)


def _read(file: Path, target: str, modules: tuple[str, ...]) -> Program:
    language = language_for(target, modules)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GradfuzzError(f"{file} cannot be read: {error}") from None
    try:
        return parse(text, language)
    except ProgramError as error:
        raise GradfuzzError(f"{file}: {error}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise GradfuzzError(f"{file}: this is no Program ({type(error).__name__}); see the README for the language") from None


def _print(data: dict[str, Any]) -> None:
    numbers = Table(box=None, pad_edge=False, header_style="bold")
    numbers.add_column("scenario")
    numbers.add_column("⟨v, J u⟩")
    for name, number in data["numbers"].items():
        numbers.add_row(name, cell(number if isinstance(number, str) else repr(number)))
    if data["numbers"]:
        out.print(numbers)
        out.print()
    verdicts = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("order", "oracle", "verdict", "scenarios", "why"):
        verdicts.add_column(column, overflow="fold")
    for v in data["verdicts"]:
        why = v["reason"]
        if v["outcome"] == "disagree" and isinstance(v["expected"], float):
            why += f": expected {v['expected']!r}, got {v['actual']!r}, error bar {v['error_bar'] or 0:.1e}"
        style = STYLES.get(v["outcome"], "")
        verdicts.add_row(str(v["order"] or ""), v["oracle"], f"[{style}]{v['outcome']}[/]", ", ".join(v["scenarios"]), cell(why))
    out.print(verdicts)
    if data["rules"]:
        names = sorted({rule.partition(":")[2] or rule for rule in data["rules"]})
        say("derivative rules: " + ", ".join(names))
