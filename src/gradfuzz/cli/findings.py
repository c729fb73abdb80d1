"""`gradfuzz findings`, `show`, `repro`, `issue`: what was found."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from gradfuzz.cli.console import out
from gradfuzz.cli.display import COLOURS, label_of
from gradfuzz.cli.run import DEFAULT_STORE, StoreOption
from gradfuzz.findings.document import public
from gradfuzz.findings.issue import issue_text
from gradfuzz.store import Store

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="A finding's id, or its beginning.")]


def findings(
    store: StoreOption = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what could not be confirmed.")] = False,
) -> None:
    """List what was found, newest campaign last."""
    documents = Store(store, create=False).findings(unconfirmed=everything)
    if as_json:
        print(json.dumps([public(d) for d in documents], indent=2))
        return
    if not documents:
        out.print("nothing was found")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "api", "what is wrong", "expected", "actual", "met", "label"):
        table.add_column(column, overflow="fold")
    for d in documents:
        label = label_of(d) if d["confirmed"] else "unconfirmed"
        style = COLOURS.get(label, "dim")
        table.add_row(
            f"[{style}]{d['id']}[/]",
            escape(d["api"]),
            escape(d["title"]),
            _short(d["expected"]),
            _short(d["actual"]),
            str(d["times"]),
            label,
        )
    out.print(table)


def show(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Show one finding in full: the Program, what each scenario says, the error bar, the label."""
    d = Store(store, create=False).finding(identity)
    out.print(f"[bold]{d['id']}[/]  {escape(d['api'])}: {escape(d['title'])}")
    out.print(f"{d['target']} {d['version']}, met {d['times']} times, {'confirmed' if d['confirmed'] else 'not confirmed'}")
    if d["label"]:
        out.print(f"{d['label']['label']}: {d['label']['reason']} {d['label']['link']}", markup=False)
    out.print()
    out.print(d["explanation"], markup=False)
    out.print(Panel(Syntax(d["text"].rstrip(), "python", background_color="default"), title="Program", title_align="left"))
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario")
    table.add_column("says")
    for name, number in (d["detail"].get("numbers") or {}).items():
        table.add_row(name, repr(number))
    if d["detail"].get("numeric") is not None:
        error = d["detail"].get("numeric_error")
        table.add_row("numeric", repr(d["detail"]["numeric"]) + (f" ± {error:.1e}" if error is not None else ""))
    if d["detail"].get("steps"):
        table.add_row("steps of the ladder", f"{d['detail']['steps']}, {d['detail']['steps_agreeing_with_ad']} of them agree with AD")
    if table.row_count:
        out.print(table)
    out.print(escape(d["reason"]))
    if d.get("script_output"):
        out.print(Panel(escape(d["script_output"].rstrip()), title="its script says", title_align="left"))


def repro(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Print the script that proves a finding: `gradfuzz repro ID > bug.py; python bug.py` exits 1 while the bug is there."""
    print(Store(store, create=False).finding(identity)["reproducer"], end="")


def issue(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Print a text that can be pasted into an issue tracker."""
    print(issue_text(Store(store, create=False).finding(identity)), end="")


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value if value is not None else "")
    return escape(text if len(text) < 60 else text[:57] + "…")
