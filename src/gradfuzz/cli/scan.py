"""`gradfuzz scan`: every hand-written derivative of a package, found, called as its own programs call it, and fuzzed."""

from __future__ import annotations

import importlib
import json
import operator
import time as clock
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, out, records, say_lines, seconds
from gradfuzz.cli.learning import LEAST, Scanned, as_program, learn, mentions
from gradfuzz.cli.run import run
from gradfuzz.cli.where import EnvOption, Place, PythonOption, place
from gradfuzz.errors import GradfuzzError
from gradfuzz.program.codec import from_json
from gradfuzz.program.model import Program
from gradfuzz.targets.homes import homes

# Of the time there is, importing a package and running its tests may take this part; what they have taught by then is what is known.
LEARNING = 0.5
TIME = "90s"
MOST_FAILED = 5  # modules that could not be imported, in full


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
    time: Annotated[str, typer.Option(help="How long in all: importing, its own programs, fuzzing, confirming.")] = TIME,
    mutants: Annotated[
        Optional[int], typer.Option(min=1, help="Instead of a time: stop after so many, and confirm all. Same --seed, same findings.")
    ] = None,
    order: Annotated[int, typer.Option(min=1, max=4, help="The highest order of derivative.")] = 2,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the store's last scan: with what was heard then, and what waits to be confirmed.")
    ] = False,
    contents: Annotated[bool, typer.Option("--contents", help="Keep the numbers that tensors held, too.")] = False,
) -> None:
    """Find every hand-written derivative of a package and fuzz it.

    `gradfuzz scan entmax -- pytest --pyargs entmax` imports the package, finds its autograd Functions, operators with a registered
    gradient and functions with a rule of their own, runs the tests and hears how each is called, and fuzzes each with mutated
    numbers, shapes, types and layouts. Findings are kept in the store as those of `gradfuzz run` are, with scripts that
    import the package. Derivatives that nobody called are tried with made-up tensors, through the package's own functions where those
    call them. Libraries that campaigns do not know (HIPS autograd) are checked in this process, and what is wrong is printed.

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
    if resume:
        sides = [_heard_before(package, store)]
    else:
        names = [target] if target else [name for name in scannable() if where.said or mentions(package, homes()[name].about["module"])]
        sides = [s for name in names if (s := learn(name, package, program, where, LEARNING * limit / len(names), contents))]
    worth = [side for side in sides if side.rules]
    if not worth:
        told = [line for side in sides for line in side.failed][:3]
        missing = f"; {'; '.join(told)}" if told else ""
        raise GradfuzzError(
            f"{package}: no hand-written derivative was found for {', '.join(s.target for s in sides) or 'any library'}{missing}"
        )
    status = NOTHING_NEW
    for side in worth if not resume else ():
        _tell(side, package, program)
    fuzzed = [side for side in worth if side.seeds]
    if not fuzzed:
        say_lines(
            "nothing could be called, so nothing was fuzzed; name a script that calls these functions after --, or give it more --time"
        )
    for position, side in enumerate(fuzzed):
        left = max(LEAST, limit - (clock.monotonic() - begun)) / (len(fuzzed) - position)
        if "target" not in homes()[side.target].about:
            status = max(status, _checked_here(side, where, order, left, seed))
            continue
        path = _seeds_of(side.target, store)
        try:
            path.write_text("".join(side.seeds), encoding="utf-8")
        except OSError as error:
            raise GradfuzzError(f"--store {store}: {error.strerror}") from None
        lent = [rule["lent"] for rule in side.rules if rule["calls"]]
        try:
            run(
                side.target, python, env, None if mutants else f"{left:.0f}s", mutants, seeds=[path], module=lent, order=order,
                profile="quick", workers=workers, seed=seed, store=store, resume=resume,
            )  # fmt: skip
        except typer.Exit as end:
            status = max(status, end.exit_code)
        _tell_fuzzed(side, package, store)
    raise typer.Exit(status)


def _seeds_of(target: str, store: Path) -> Path:
    """Where what was heard lies, beside the store."""
    return store.with_suffix(f".{target}.seeds.jsonl")


def _heard_before(package: str, store: Path) -> Scanned:
    """What the store's last scan of the package has heard. The store is data, perhaps a stranger's: only the package itself is lent."""
    with records(store) as opened:
        last = opened.campaign()
    modules = last["config"].get("launch", {}).get("modules", ()) if last is not None else ()
    own = [name for name in modules if str(name).partition(":")[0].partition(".")[0] == package.partition(".")[0]]
    if last is None or not own or not _seeds_of(last["target"], store).exists():
        raise GradfuzzError(f"--resume: the last campaign in {store} is no scan of {package}; leave --resume out to start one")
    rules = [{"lent": name, "path": name.replace(":", "."), "calls": 1} for name in own]
    return Scanned(last["target"], rules, seeds=_seeds_of(last["target"], store).read_text(encoding="utf-8").splitlines(keepends=True))


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


def _tell(side: Scanned, package: str, program: list[str]) -> None:
    called = [rule for rule in side.rules if rule["calls"]]
    made_up = sum(rule.get("made_up", False) for rule in called)
    tried = f" ({made_up} with made-up tensors: nobody called them)" if made_up else ""
    say_lines(f"{side.target}: {len(side.rules)} hand-written derivatives in {package}, {len(called)} of which can be called{tried}")
    if program and side.status is None:
        say_lines("  the program was cut short to leave time for fuzzing; --time says how long there is")
    elif program and side.status:
        say_lines(f"  the program ended with status {side.status}; what it taught until then is used")
    for rule in side.rules:
        if not rule["calls"]:
            say_lines(f"  {rule['path']} ({rule['kind']}): not called: {rule['reason'] or 'nobody called it'}", rest="    ")
    for line in side.failed[:MOST_FAILED]:
        say_lines(f"  could not be imported: {line}", rest="    ")
    if len(side.failed) > MOST_FAILED:
        say_lines(f"  and {len(side.failed) - MOST_FAILED} more modules could not be imported")


def _tell_fuzzed(side: Scanned, package: str, store: Path) -> None:
    """One line for each derivative: how often it was examined, what came of it, and what is not confirmed yet."""
    with records(store) as opened:
        last = opened.campaign()
        counts = opened.by_api(last["id"]) if last is not None else {}
        waiting = Counter(pending.report.api for pending in opened.suspicions(last["id"])) if last is not None else Counter()
        findings = opened.findings()
        known = {json.loads(line).get("api") for line in opened.corpus(last["id"])} if last is not None else set()
    out.print("")
    for rule in side.rules:
        if rule["calls"]:
            seen = counts.get(rule["path"], {})
            wrong, waits = sum(f.api == rule["path"] for f in findings), waiting[rule["path"]]
            told = [_counted(wrong, "finding")] * bool(wrong) + [f"{_counted(waits, 'suspicion')} not confirmed yet"] * bool(waits)
            unseen = "not reached; --resume goes on with it" if rule["path"] in known else "its calls do not run a second time"
            nothing = "nothing found" if seen else unseen
            judged = ", ".join(f"{n} {name}" for name, n in sorted(seen.items(), key=lambda item: -item[1]))
            domain = "; nobody called it, so that these inputs are made up" if wrong and rule.get("made_up") else ""
            say_lines(f"{rule['path']}: {', '.join(told) or nothing} ({judged or 'no mutants'}){domain}", rest="    ")
    if waiting:
        again = f" --store {store}" if store != DEFAULT_STORE else ""
        say_lines(f"{_counted(waiting.total(), 'suspicion')} to be confirmed; go on with: gradfuzz scan {package} --resume{again}")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


__all__ = ["scan", "scannable"]
