"""`gradfuzz nightly`: tonight's campaigns of a rotation, and what is new since the night before."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.bugs.bug import Bug
from gradfuzz.cli.bugs import facts, known_bugs, show_line
from gradfuzz.cli.console import FOUND, NOTHING_NEW, WRONG_USE, err, out, records, say_lines, visible
from gradfuzz.cli.display import watching
from gradfuzz.cli.nights import Night, Rotation, read_rotation
from gradfuzz.cli.where import place
from gradfuzz.engine.config import Config
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.launch import Launch
from gradfuzz.store import Records
from gradfuzz.surveys.forever import following
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import chosen
from gradfuzz.targets.homes import home_of

SUMMARY = "summary.md"


def nightly(
    rotation: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The campaigns; docs/nightly.md shows such a file.")],
) -> None:
    """Run tonight's campaigns of a rotation over releases and profiles, and say what is new.

    Each campaign has a store of its own in the rotation's folder and goes on where its last night ended: other mutants, and nothing that
    was found before is looked into again. Those that have not had a turn for longest are tonight's. What is new since the last night
    is printed and written to summary.md there.

    Exit status: 0 nothing new, 1 new bugs, 2 a campaign could not be run.
    """
    plan = read_rotation(rotation)
    for night in plan.nights:
        home_of(night.target)  # before anything is run
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradfuzzError(f"{plan.folder} cannot be written to ({error.strerror}); name another folder in {rotation}") from None
    told: list[tuple[Night, list[Bug] | str]] = []
    for night in tonight(plan):
        try:
            told.append((night, _run(night, plan.store(night))))
        except GradfuzzError as error:  # the other campaigns have their turn all the same
            err.print(visible(f"gradfuzz: {night.name}: {error}"), markup=False)
            told.append((night, str(error)))
    (plan.folder / SUMMARY).write_text(_summary(told), encoding="utf-8", errors="backslashreplace")
    for night, bugs in told:
        out.print()
        say_lines(f"{night.name}: {bugs if isinstance(bugs, str) else _counted(bugs)}", style="bold")
        for bug in bugs if isinstance(bugs, list) else ():
            show_line(bug)
    failed = any(isinstance(bugs, str) for _, bugs in told)
    raise typer.Exit(FOUND if any(bugs and isinstance(bugs, list) for _, bugs in told) else WRONG_USE if failed else NOTHING_NEW)


def tonight(plan: Rotation) -> list[Night]:
    """Those whose last turn is longest ago, these first."""

    def last(night: Night) -> str:
        path = plan.store(night)
        if not path.exists():
            return ""
        with Records(path) as store:
            return max((row["created"] for row in store.campaigns()), default="")

    return sorted(plan.nights, key=last)[: plan.tonight]


def _run(night: Night, path: Path) -> list[Bug]:
    """The bugs of which no finding was known before."""
    known = _ids(path)
    where = place(night.python, night.env, night.target)
    ways = tuple(way.name for way in chosen(night.target, night.profile, ()).ways)
    launch = Launch(night.target, where.python, ways=ways, device=night.device, variables=where.variables)
    config = Config(
        launch, night.seed, apis=night.apis, order=night.order, profile=night.profile, device=night.device,
        workers=night.workers or os.cpu_count() or 1, python_said=where.said,
    )  # fmt: skip
    say_lines(f"{night.name}: {night.target}, profile {night.profile}", style="bold")
    with watching() as display:
        state = run_mutants(following(config, path, night.seconds), path, False, display)
    if state.stopped:
        raise KeyboardInterrupt  # all of it
    with records(path) as opened:
        return [bug for bug in known_bugs(opened) if not known & {f.id for f in bug.findings} and not bug.severity.grade.folded]


def _ids(path: Path) -> set[str]:
    if not path.exists():
        return set()
    with records(path) as opened:
        return {finding.id for finding in opened.findings()}


def _counted(bugs: list[Bug]) -> str:
    return "nothing new" if not bugs else f"{len(bugs)} new bug{'s' if len(bugs) > 1 else ''}"


def _summary(told: list[tuple[Night, list[Bug] | str]]) -> str:
    """For a chat or a mail: what is new, campaign by campaign."""
    lines = [f"# gradfuzz, {datetime.now(timezone.utc):%Y-%m-%d}", ""]
    for night, bugs in told:
        lines += [f"## {night.name}: {bugs if isinstance(bugs, str) else _counted(bugs)}", ""]
        for bug in bugs if isinstance(bugs, list) else ():
            lines += [f"- `{visible(bug.id)}`: {visible(bug.title)} ({visible(', '.join(facts(bug)))})"]
        lines += [""]
    return "\n".join(lines)
