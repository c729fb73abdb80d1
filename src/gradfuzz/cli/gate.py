"""What makes a CI job fail: bugs of a grade or graver that nobody knew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer

from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import GRADES
from gradfuzz.cli.bugs import show_line
from gradfuzz.cli.console import FOUND, NOTHING_NEW, out, say_lines
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.labels import NEWS
from gradfuzz.report.baseline import Baseline, read_baseline

NAMES = tuple(grade.name for grade in GRADES)
FailOnOption = Annotated[
    Optional[str],
    typer.Option("--fail-on", metavar="SEVERITY", help="Exit with 1 only for new bugs this grave or graver: " + ", ".join(NAMES) + "."),
]
BaselineOption = Annotated[
    Optional[Path], typer.Option("--baseline", help="A report.json of before (`gradfuzz report --format json`): what it has is not new.")
]


def baseline_of(path: Path | None) -> Baseline | None:
    return read_baseline(path) if path is not None else None


def checked(severity: str | None) -> str | None:
    """The name itself; GradfuzzError if no grade is called so. Asked before anything is run."""
    if severity is not None and severity not in NAMES:
        raise GradfuzzError(f"--fail-on {severity}: there is no such severity; known, the gravest first: {', '.join(NAMES)}")
    return severity


def failing(bugs: Sequence[Bug], severity: str | None, baseline: Baseline | None) -> list[Bug]:
    """Bugs with a finding that is new to the list of known issues and to the baseline, of the grade or graver."""
    least = len(NAMES) - 1 if severity is None else NAMES.index(severity)
    known = baseline or Baseline()
    new = [bug for bug in bugs if any(f.label_name in NEWS and f not in known for f in bug.findings)]
    return [bug for bug in new if NAMES.index(bug.severity.grade.name) <= least]


def verdict(bugs: Sequence[Bug], severity: str | None, baseline: Baseline | None) -> typer.Exit:
    """Say which bugs the job fails for, and end with the status that goes with it."""
    found = failing(bugs, severity, baseline)
    than = f" as grave as {severity} or graver" if severity is not None else ""
    if not found:
        say_lines(f"no new bug{than}")
        return typer.Exit(NOTHING_NEW)
    out.print(f"\n{len(found)} new bug{'s' if len(found) > 1 else ''}{than}:")
    for bug in found:
        show_line(bug)
    return typer.Exit(FOUND)
