"""`gradfuzz scan`: every hand-written derivative of a package, found, called as its own programs call it, and fuzzed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import operator
import os
import re
import subprocess
import tempfile
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, out, records, say_lines, seconds
from gradfuzz.cli.run import run
from gradfuzz.cli.where import EnvOption, Place, PythonOption, place
from gradfuzz.errors import GradfuzzError
from gradfuzz.program.codec import from_json
from gradfuzz.program.model import Program
from gradfuzz.targets.homes import homes

_SCRIPT = Path(__file__).parent.parent / "worker" / "run_scanned.py"
# Of the time there is, a package's own tests may take this part; what they have taught by then is what is known.
LEARNING = 0.5
# Importing the library and the package is no part of that: it takes long on a busy machine, and who is stopped there has learnt nothing.
IMPORTING = 120.0
TIME = "90s"
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


def scannable() -> list[str]:
    """Targets whose hand-written derivatives can be found."""
    return sorted(name for name, home in homes().items() if "handwritten" in home.about)


def scan(
    package: Annotated[str, typer.Argument(help="An installed package, by the name that is imported. It is imported and trusted.")],
    command: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="-- pytest --pyargs PKG | python PROGRAM …", help="What calls it: its tests, an example, a script of yours."
        ),
    ] = None,
    target: Annotated[Optional[str], typer.Option(help="Only derivatives for this library: " + ", ".join(scannable()) + ".")] = None,
    python: PythonOption = None,
    env: EnvOption = None,
    time: Annotated[str, typer.Option(help="How long in all, its own programs included.")] = TIME,
    order: Annotated[int, typer.Option(min=1, max=4, help="The highest order of derivative.")] = 2,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    contents: Annotated[bool, typer.Option("--contents", help="Keep the numbers that tensors held, too.")] = False,
) -> None:
    """Find every hand-written derivative of a package and fuzz it.

    `gradfuzz scan entmax -- pytest --pyargs entmax` imports the package, finds its autograd Functions, operators with a registered
    gradient and functions with a rule of their own, runs the tests and hears how each is called, and fuzzes each with mutated
    numbers, shapes, types and layouts. Findings are kept in the store as those of `gradfuzz run` are, with scripts that
    import the package. Without a command, derivatives are tried with plain tensors. Libraries that campaigns do not know (HIPS
    autograd) are checked in this process, and what is wrong is printed.

    The package and the command run with your rights, as they would without gradfuzz.
    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up.
    """
    begun, limit = clock.monotonic(), seconds(time)
    if target is not None and target not in scannable():
        raise GradfuzzError(f"--target {target}: hand-written derivatives can be found for {', '.join(scannable())}")
    if not all(part.isidentifier() for part in package.split(".")):
        raise GradfuzzError(f"{package}: write the name that is imported, as in entmax or torch_scatter")
    where = place(python, env, target)
    program = as_program(command or [])
    status = NOTHING_NEW
    names = [target] if target else [name for name in scannable() if where.said or _mentions(package, homes()[name].about["module"])]
    sides = [s for name in names if (s := learn(name, package, program, where, LEARNING * limit / len(names), contents))]
    if not any(side.rules for side in sides):
        told = [line for side in sides for line in side.failed][:3]
        missing = f"; {'; '.join(told)}" if told else ""
        raise GradfuzzError(
            f"{package}: no hand-written derivative was found for {', '.join(s.target for s in sides) or 'any library'}{missing}"
        )
    worth = [side for side in sides if side.rules]
    for side in worth:
        _tell(side, package, program)
    for position, side in enumerate(side for side in worth if side.seeds):
        left = max(10.0, limit - (clock.monotonic() - begun)) / (len(worth) - position)
        if "target" not in homes()[side.target].about:
            status = max(status, _checked_here(side, where, order, left, seed))
            continue
        path = store.with_suffix(f".{side.target}.seeds.jsonl")
        try:
            path.write_text("".join(side.seeds), encoding="utf-8")
        except OSError as error:
            raise GradfuzzError(f"--store {store}: {error.strerror}") from None
        lent = [rule["lent"] for rule in side.rules if rule["calls"]]
        try:
            run(
                side.target, python, env, f"{left:.0f}s", None, seeds=[path], module=lent, order=order, profile="quick", workers=workers,
                seed=seed, store=store,
            )  # fmt: skip
        except typer.Exit as end:
            status = max(status, end.exit_code)
        _tell_fuzzed(side, store)
    raise typer.Exit(FOUND if status == FOUND else status)


def _checked_here(side: Scanned, where: Place, order: int, left: float, seed: int) -> int:
    """The derivatives of a library that campaigns do not know, fuzzed in this process and told; nothing is stored of them."""
    if where.said:
        raise GradfuzzError(f"derivatives for {side.target} are checked in gradfuzz's own interpreter; install the package beside gradfuzz")
    from gradfuzz.testing.calls import fuzz_calls

    calls: dict[str, list[Program]] = {}
    for row in map(json.loads, side.seeds):
        calls.setdefault(row["api"], []).append(from_json(row["program"]))
    status = NOTHING_NEW
    for rule in (rule for rule in side.rules if rule["path"] in calls):
        module, _, name = rule["lent"].partition(":")
        function: Any = operator.attrgetter(name)(importlib.import_module(module))
        line = fuzz_calls(rule["path"], function, calls[rule["path"]], side.target, order, left / len(calls), seed)
        say_lines(f"{line.name}: {line.outcome} ({line.evaluations} evaluations) {line.reason}", rest="    ")
        if line.error is not None:
            out.print(str(line.error), markup=False, highlight=False)
            status = FOUND
    return status


def as_program(command: list[str]) -> list[str]:
    """What is run in the package's interpreter: `pytest …`, `-m module …` or a script, with a leading `python` left out."""
    if command and "python" in os.path.basename(command[0]):
        command = command[1:]
    if command and command[0] not in ("pytest", "-m") and not Path(command[0]).exists():
        raise GradfuzzError(f"there is no program {command[0]}; say what to run after --, as in: -- pytest --pyargs PKG")
    return command


def _mentions(package: str, module: str) -> bool:
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
    """Import the package, hear its programs; None where the library or the package is not there."""
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
                    process.kill()
                    process.wait()
                log.seek(0)
                said = log.read().strip().splitlines()
        except OSError as error:
            raise GradfuzzError(f"{where.python} cannot be started: {error.strerror}") from None
        found = _read(target, path, status)
    if found is None and said and "cannot be imported here" not in said[-1]:
        found = Scanned(target, failed=[said[-1][:300]])
    return found


def _waited(process: subprocess.Popen[bytes], path: Path, limit: float | None) -> int:
    """The status of the process. Its time begins with the first line it writes, which it does when the package is imported."""
    end = clock.monotonic() + IMPORTING
    while not (path.exists() and path.stat().st_size):
        try:
            return process.wait(0.1)
        except subprocess.TimeoutExpired:
            if clock.monotonic() > end:
                raise
    return process.wait(limit)


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


def _tell(side: Scanned, package: str, program: list[str]) -> None:
    called = [rule for rule in side.rules if rule["calls"]]
    say_lines(f"{side.target}: {len(side.rules)} hand-written derivatives in {package}, {len(called)} of which can be called")
    if program and side.status is None:
        say_lines("  the program was cut short to leave time for fuzzing; --time says how long there is")
    elif program and side.status:
        say_lines(f"  the program ended with status {side.status}; what it taught until then is used")
    for rule in side.rules:
        if not rule["calls"]:
            say_lines(f"  {rule['path']} ({rule['kind']}): not called: {rule['reason'] or 'nobody called it'}", rest="    ")
    for line in side.failed:
        say_lines(f"  could not be imported: {line}", rest="    ")


def _tell_fuzzed(side: Scanned, store: Path) -> None:
    """One line for each derivative: how often it was examined, and what came of it."""
    with records(store) as opened:
        last = opened.campaign()
        counts = opened.by_api(last["id"]) if last is not None else {}
        findings = opened.findings()
    out.print("")
    for rule in side.rules:
        if rule["calls"]:
            seen = counts.get(rule["path"], {})
            wrong = [f for f in findings if f.api == rule["path"]]
            told = f"{len(wrong)} findings" if wrong else "nothing found" if seen else "not reached: its calls do not run a second time"
            judged = ", ".join(f"{n} {name}" for name, n in sorted(seen.items(), key=lambda item: -item[1]))
            say_lines(f"{rule['path']}: {told} ({judged or 'no mutants'})", rest="    ")


__all__ = ["Scanned", "as_program", "learn", "scan", "scannable"]
