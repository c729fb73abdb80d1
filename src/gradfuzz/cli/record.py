"""`gradfuzz record`: the API calls of a real program as seeds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.cli.console import out
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import default_target, homes
from gradfuzz.targets.record import recordable

_SCRIPT = Path(__file__).parent.parent / "worker" / "run_recorded.py"


def record(
    command: Annotated[list[str], typer.Argument(metavar="-- python PROGRAM …", help="What to run; PROGRAM is a file or -m MODULE.")],
    target: Annotated[str, typer.Option(help="Whose calls to record: " + ", ".join(recordable()) + ".")] = default_target(),
    to: Annotated[Path, typer.Option(help="The file of seeds to write.")] = Path("seeds.jsonl"),
    contents: Annotated[bool, typer.Option("--contents", help="Also store what the tensors hold. Off: only shapes and types.")] = False,
) -> None:
    """Run a Python program and write each distinct API call that it makes as a seed.

    `gradfuzz record -- python train.py` and then `gradfuzz run torch --seeds seeds.jsonl` fuzzes just what your program uses.
    The program runs as it would alone, a little slower; its exit status is passed on.
    """
    if target not in recordable():
        raise GradfuzzError(f"calls of {target!r} cannot be recorded; known: {', '.join(recordable())}")
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
