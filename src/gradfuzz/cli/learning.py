"""What `gradfuzz scan` knows of a package before it fuzzes: its hand-written derivatives, and how its own programs call them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import tempfile
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfuzz.cli.console import say_lines
from gradfuzz.cli.where import Place
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import homes

_SCRIPT = Path(__file__).parent.parent / "worker" / "run_scanned.py"
# A package whose import takes longer than this hangs.
IMPORTING = 120.0
# However long the import took, a program of the package's gets this long: who is stopped at once has learnt nothing.
LEAST = 10.0
# Of its time, how much longer a program may run that has called nothing yet.
PATIENCE = 0.5
# What an input may be by chance.
LOOSE = ("positive", "unit", "sorted")


@dataclass
class Scanned:
    """What one library's side of a package has shown."""

    target: str
    rules: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)
    status: int | None = None  # of the program that was run; None if it was cut short


def as_program(command: list[str]) -> list[str]:
    """What is run in the package's interpreter: `pytest …`, `-m module …` or a script, with a leading `python` left out."""
    if command and "python" in os.path.basename(command[0]):
        command = command[1:]
    if command and command[0] not in ("pytest", "-m") and not Path(command[0]).exists():
        raise GradfuzzError(f"there is no program {command[0]}; say what to run after --, as in: -- pytest --pyargs PKG")
    return command


def mentions(package: str, module: str) -> bool:
    """Whether a package's text imports a library; True where its text cannot be read."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise GradfuzzError(f"{package}: there is no such package here; install it, or name the interpreter that has it with --python")
    folders = [Path(p) for p in spec.submodule_search_locations or ()]
    files = [path for folder in folders for path in folder.rglob("*.py")] or ([Path(spec.origin)] if spec.origin else [])
    imports = re.compile(rf"^\s*(?:import|from)\s+{re.escape(module)}\b", re.MULTILINE)
    return any(imports.search(path.read_text(encoding="utf-8", errors="replace")) for path in files if path.suffix == ".py")


def learn(target: str, package: str, program: list[str], where: Place, limit: float | None, contents: bool) -> Scanned | None:
    """Import the package, hear its programs for so many seconds in all; None where the library or the package is not there."""
    home = homes()[target]
    with tempfile.TemporaryDirectory(prefix="gradfuzz-scan-") as folder:
        path = Path(folder) / "heard.jsonl"
        settings = [home.name, home.package, str(home.folder), package, str(path), "contents" if contents else "shapes", "--", *program]
        say_lines(f"{target}: importing {package}" + (f", then running {' '.join(program)}" if program else ""))
        try:
            with open(Path(folder) / "log", "w+", encoding="utf-8") as log:
                process = subprocess.Popen(
                    [where.python, str(_SCRIPT), *settings], stdout=log, stderr=log, env={**os.environ, **dict(where.variables)}
                )
                try:
                    status: int | None = _waited(process, path, limit)
                except subprocess.TimeoutExpired:
                    status = None
                    _stopped(process)
                log.seek(0)
                said = log.read().strip().splitlines()
        except OSError as error:
            raise GradfuzzError(f"{where.python} cannot be started: {error.strerror}") from None
        found = _read(target, path, status)
    if found is None and said and "cannot be imported here" not in said[-1]:
        found = Scanned(target, failed=[said[-1][:300]])
    return found


def _waited(process: subprocess.Popen[bytes], path: Path, limit: float | None) -> int:
    """The status of the process, which writes a line when the package is imported and one for each call that is heard."""
    begun = clock.monotonic()
    while not _lines(path):
        try:
            return process.wait(0.1)
        except subprocess.TimeoutExpired:
            if clock.monotonic() > begun + IMPORTING:
                raise
    if limit is None:
        return process.wait()
    try:
        return process.wait(max(LEAST, begun + limit - clock.monotonic()))
    except subprocess.TimeoutExpired:
        if _lines(path) > 1:
            raise
        return process.wait(PATIENCE * limit)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _stopped(process: subprocess.Popen[bytes]) -> None:
    """As by Ctrl-C, so that rules which nobody has called are tried; and at once if that is not heeded."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(LEAST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read(target: str, path: Path, status: int | None) -> Scanned | None:
    if not path.exists():
        return None
    found: Scanned | None = None
    seeds = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):  # the last line of one that was cut short
            row = json.loads(line)
            if "rules" in row:
                found = Scanned(target, row["rules"], row["failed"], status=status)
            else:
                seeds.append((row["api"], line + "\n"))
    if found is not None:
        found.seeds = _agreed([json.loads(line) for _, line in seeds])
        heard = [api for api, _ in seeds]
        for rule in found.rules:  # of one that was cut short the last count is missing
            rule["calls"] = max(int(rule["calls"]), heard.count(rule["path"]))
    return found


def _agreed(rows: list[dict[str, Any]]) -> list[str]:
    """What one call shows of an input's range holds if no other call of the function shows otherwise."""
    free = {(row["api"], name) for row in rows for name, recipe in _inputs(row) if recipe.get("structure") in (None, "real")}
    for row in rows:
        for name, recipe in _inputs(row):
            if (row["api"], name) in free and recipe.get("structure") in LOOSE:
                recipe["structure"] = "real"
    return [json.dumps(row) + "\n" for row in rows]


def _inputs(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for statement in row["program"]["statements"]:
        if "tensor" in statement:
            yield statement["names"][0], statement["tensor"]


__all__ = ["Scanned", "as_program", "learn", "mentions"]
