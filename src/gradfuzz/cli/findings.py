"""`gradfuzz findings`, `show`, `repro`, `issue`: what was found."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from gradfuzz.cli.console import cell, out, records, say, visible
from gradfuzz.cli.display import COLOURS
from gradfuzz.cli.run import DEFAULT_STORE, StoreOption
from gradfuzz.findings.issue import issue_text
from gradfuzz.store.proofs import proofs_of

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="A finding's id, or its beginning.")]


def findings(
    store: StoreOption = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what could not be confirmed.")] = False,
) -> None:
    """List what was found, newest campaign last."""
    with records(store) as opened:
        listed = opened.findings(unconfirmed=everything)
        lost = proofs_of(opened).told
    if as_json:
        print(json.dumps([f.public() for f in listed], indent=2))
        return
    if lost and not everything:
        say(f"{lost}; --all lists them")
    if not listed:
        out.print("nothing was found")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "api", "what is wrong", "expected", "actual", "met", "label"):
        table.add_column(column, overflow="fold")
    for f in listed:
        label = f.label_name if f.confirmed else "refuted" if f.refuted else "lost to its script" if f.lost else "unconfirmed"
        style = COLOURS.get(label, "dim")
        table.add_row(
            f"[{style}]{cell(f.id)}[/]",
            cell(f.api),
            cell(f.title),
            _short(f.verdict.expected),
            _short(f.verdict.actual),
            str(f.times),
            f"{label}, proven" if f.proven else label,
        )
    out.print(table)


def show(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Show one finding in full: the Program, what each scenario says, the error bar, the label."""
    with records(store) as opened:
        f = opened.finding(identity)
    verdict, detail = f.verdict, f.verdict.detail
    out.print(f"[bold]{cell(f.id)}[/]  {cell(f.api)}: {cell(f.title)}")
    say(f"{f.target} {f.version}, met {f.times} times, {'confirmed' if f.confirmed else 'not confirmed'}")
    if f.label:
        say(f"{f.label.label}: {f.label.reason} {f.label.link}")
    out.print()
    out.print(f.explanation, markup=False)
    out.print(Panel(Syntax(visible(f.text.rstrip()), "python", background_color="default"), title="Program", title_align="left"))
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario")
    table.add_column("says")
    for name, number in (detail.get("numbers") or {}).items():
        table.add_row(cell(name), cell(repr(number)))
    if detail.get("numeric") is not None:
        error = detail.get("numeric_error")
        table.add_row("numeric", cell(repr(detail["numeric"])) + (f" ± {error:.1e}" if error is not None else ""))
    if detail.get("steps"):
        table.add_row("steps of the ladder", cell(f"{detail['steps']}, {detail['steps_agreeing_with_ad']} of them agree with AD"))
    if table.row_count:
        out.print(table)
    say(verdict.reason)
    if f.proof is not None:
        say(f.proof.told)
    if f.script_output:
        out.print(Panel(cell(f.script_output.rstrip()), title="its script says", title_align="left"))


def repro(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Print the script that proves a finding: `gradfuzz repro ID > bug.py; python bug.py` exits 1 while the bug is there."""
    with records(store) as opened:
        print(visible(opened.finding(identity).script), end="")


def issue(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Print a text that can be pasted into an issue tracker."""
    with records(store) as opened:
        print(visible(issue_text(opened.finding(identity))), end="")


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value if value is not None else "")
    return cell(text if len(text) < 60 else text[:57] + "…")
