"""`gradfuzz bugs`: what was found, by cause, the gravest first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Optional

import typer

from gradfuzz.bugs.bug import PREFIX, Bug, bugs_of, find_bug
from gradfuzz.bugs.judgements import beside, read_judgements
from gradfuzz.bugs.severity import Severity
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, out, records, say_lines, visible
from gradfuzz.cli.display import COLOURS
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.store import Records
from gradfuzz.worker.wire import finite_or_text

MOST_APIS = 4  # named in one line
INDENT = "    "

JudgementsOption = Annotated[
    Optional[Path], typer.Option("--judgements", help="The file of judgements; by default the one beside the store.")
]


def bugs(
    store: StoreOption = DEFAULT_STORE,
    judgements: JudgementsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also edge cases and what is by design, one by one.")] = False,
) -> None:
    """List bugs: findings gathered by their cause, the gravest first.

    Findings of one derivative rule, or of one function under its many names, or with one error message, are one bug. What hardly anybody
    meets (empty tensors, mixed types, arguments that should have been refused, deprecated and internal APIs) and what is by design is
    counted at the end. `gradfuzz show BUG` shows one.
    """
    with records(store) as opened:
        listed = known_bugs(opened, judgements)
    if as_json:
        print(json.dumps([finite_or_text(bug.to_json()) for bug in listed], indent=2))
        return
    if not listed:
        out.print("nothing was found")
        return
    show_bugs([bug for bug in listed if everything or not bug.severity.grade.folded])
    if not everything:
        fold([bug for bug in listed if bug.severity.grade.folded])


def known_bugs(opened: Records, judgements: Path | None = None, campaign: int | None = None) -> list[Bug]:
    """The bugs of a store, or of one campaign of it and no other shard, with what people said of them."""
    found = [f for f in opened.findings(campaign) if campaign is None or f.campaign == campaign]
    return bugs_of(found, read_judgements(judgements or beside(opened.path)))


def chosen(opened: Records, identity: str, judgements: Path | None = None) -> Finding | Bug:
    """The finding or the bug that an id, or its beginning, means."""
    if not identity.startswith(PREFIX):
        return opened.finding(identity)
    try:
        return find_bug(known_bugs(opened, judgements), identity)
    except GradfuzzError:
        if any(f.id.startswith(identity) for f in opened.findings(unconfirmed=True)):  # of a function that is called so
            return opened.finding(identity)
        raise


def leading(opened: Records, identity: str) -> Finding:
    """The finding that an id means, or the gravest of the bug that it means."""
    found = chosen(opened, identity)
    return found.leading if isinstance(found, Bug) else found


def show_bugs(listed: Sequence[Bug]) -> None:
    """Bugs under the titles of their grades."""
    for grade, group in groupby(listed, key=lambda bug: bug.severity.grade):
        out.print(f"\n[bold]{grade.title}[/]")
        for bug in group:
            show_line(bug)


def show_line(bug: Bug) -> None:
    """One bug: what is wrong, and in a second line what else is to be known at first sight."""
    say_lines(bug.title, f"{visible(bug.id)}  ", INDENT, COLOURS[bug.label_name])
    say_lines(", ".join(facts(bug)), INDENT, INDENT)


def facts(bug: Bug) -> list[str]:
    """What a line says of a bug beside its title."""
    said = [bug.label_name, *([f"judged {bug.judged}"] if bug.judged else []), *(["proven"] if bug.proven else [])]
    said += [bug.severity.because] if bug.severity.because else []
    said.append(f"{len(bug.findings)} finding{'s' if len(bug.findings) > 1 else ''}, {met(bug.times)}")
    others = bug.apis[1:]
    if others:
        more = f" and {len(others) - MOST_APIS} more" if len(others) > MOST_APIS else ""
        said.append(f"also in {', '.join(others[:MOST_APIS])}{more}")
    return said


def told_of(severity: Severity) -> str:
    """A grade with its reason in one line."""
    return f"{severity.grade.title} ({severity.because})" if severity.because else severity.grade.title


def met(times: int) -> str:
    return "met once" if times == 1 else f"met {times} times"


def fold(folded: Sequence[Bug]) -> None:
    """Edge cases and what is by design, in a line each."""
    for grade, group in groupby(folded, key=lambda bug: bug.severity.grade):
        members = list(group)
        kinds = Counter(bug.severity.because.partition(":")[0] for bug in members)
        told = ", ".join(f"{n} {why}" for why, n in kinds.most_common())
        out.print()
        say_lines(f"{grade.title}: {len(members)} ({told}); --all lists them")
