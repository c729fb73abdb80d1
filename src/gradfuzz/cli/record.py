"""`gradfuzz record`: the API calls of a real program as seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NoReturn, Optional

import typer

from gradfuzz.cli.console import out, say_lines
from gradfuzz.cli.learning import as_program, learn
from gradfuzz.cli.scan import scannable
from gradfuzz.cli.where import Place
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import default_target, homes
from gradfuzz.targets.record import recordable

_SCRIPT = Path(__file__).parent.parent / "worker" / "run_recorded.py"


def record(
    command: Annotated[list[str], typer.Argument(metavar="-- python PROGRAM …", help="What to run; PROGRAM is a file or -m MODULE.")],
    target: Annotated[str, typer.Option(help="Whose calls to record: " + ", ".join(recordable()) + ".")] = default_target(),
    to: Annotated[Path, typer.Option(help="The file of seeds to write.")] = Path("seeds.jsonl"),
    package: Annotated[
        Optional[str], typer.Option(help="Instead of the library's calls: those of this package's hand-written derivatives.")
    ] = None,
    contents: Annotated[
        bool, typer.Option("--contents", help="Also store what the tensors hold. Off: shapes, types, ranges and structure.")
    ] = False,
) -> None:
    """Run a Python program and write each distinct API call that it makes as a seed.

    `gradfuzz record -- python train.py` and then `gradfuzz run torch --seeds seeds.jsonl` fuzzes just what your program uses.
    `gradfuzz record --package entmax -- pytest --pyargs entmax` writes down how the package's own autograd Functions are called.
    The program runs as it would alone, a little slower; its exit status is passed on.
    """
    if target not in recordable():
        raise GradfuzzError(f"calls of {target!r} cannot be recorded; known: {', '.join(recordable())}")
    if package is not None:
        _record_package(package, target, command, to, contents)
    if len(command) < 2 or "python" not in os.path.basename(command[0]):
        raise GradfuzzError("say what to run after --, as in: gradfuzz record -- python train.py")
    if command[1] != "-m" and not Path(command[1]).exists():
        raise GradfuzzError(f"there is no program {command[1]}; say what to run after --, as in: gradfuzz record -- python train.py")
    if not to.parent.is_dir():
        raise GradfuzzError(f"--to {to}: there is no folder {to.parent}")
    before = to.stat().st_mtime_ns if to.exists() else None
    mode, home = "contents" if contents else "shapes", homes()[target]
    try:
        settings = [home.name, home.package, str(home.folder), str(to.resolve()), mode]
        done = subprocess.run([command[0], str(_SCRIPT), *settings, "--", *command[1:]], check=False)
    except OSError as error:
        raise GradfuzzError(f"{command[0]} cannot be started: {error.strerror}") from None
    if to.exists() and to.stat().st_mtime_ns != before:
        out.print(f"seeds are in {to}; fuzz them with: gradfuzz run {target} --seeds {to}", markup=False)
    raise typer.Exit(done.returncode)


def _record_package(package: str, target: str, command: list[str], to: Path, contents: bool) -> NoReturn:
    """The package's own derivatives, as the program calls them."""
    if target not in scannable():
        raise GradfuzzError(f"--package: hand-written derivatives can be found for {', '.join(scannable())}")
    if not to.parent.is_dir():
        raise GradfuzzError(f"--to {to}: there is no folder {to.parent}")
    python = command[0] if command and "python" in os.path.basename(command[0]) else sys.executable
    found = learn(target, package, as_program(command), Place(python), None, contents)
    if found is None or not found.rules:
        told = f"; {found.failed[0]}" if found is not None and found.failed else ""
        raise GradfuzzError(f"{package}: no hand-written derivative was found for {target}{told}")
    to.write_text("".join(found.seeds), encoding="utf-8")
    for rule in found.rules:
        say_lines(f"{rule['path']}: {rule['calls']} calls" + (f" ({rule['reason']})" if not rule["calls"] else ""), rest="    ")
    modules = " ".join(f"--module {rule['lent']}" for rule in found.rules if rule["calls"])
    say_lines(f"seeds are in {to}; fuzz them with: gradfuzz run {target} --seeds {to} {modules}")
    raise typer.Exit(found.status or 0)
