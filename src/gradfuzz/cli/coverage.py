"""`gradfuzz coverage` and `gradfuzz refusals`: what a campaign reached, and what the library would not run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

import typer
from rich.table import Table

from gradfuzz.cli.console import cell, out, records, say
from gradfuzz.cli.run import DEFAULT_STORE, StoreOption
from gradfuzz.errors import StoreError
from gradfuzz.store import Records
from gradfuzz.store.coverage import Group, coverage_of

CampaignOption = Annotated[
    int | None, typer.Option("--campaign", min=1, max=2**31, help="Which campaign of the store; the last one by default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs.")]


def coverage(
    store: StoreOption = DEFAULT_STORE,
    campaign: CampaignOption = None,
    missing: Annotated[bool, typer.Option(help="List the rules that were not reached, with the reason.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Which derivative rules of the library a campaign reached, and why the others were not.

    PyTorch's rules come from its own table of derivatives: each entry counts once in reverse mode, once in forward mode if it has a
    forward formula, and once for second derivatives. JAX has tables of forward (jvp), transpose and batching rules, TensorFlow a
    registry of gradients.
    """
    with records(store) as opened:
        row = _campaign(opened, campaign)
        groups = coverage_of(opened, row["id"])
    if as_json:
        print(json.dumps({name: group.to_json() for name, group in groups.items()}, indent=2))
        return
    say(f"{row['target']} {row['version']}, campaign {row['id']}")
    if not any(group.existing for group in groups.values()):
        out.print("this release does not say which rules it has; reached were:")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("rules", "reached", "in reach", "share", "out of reach"):
        table.add_column(column, justify="left" if column == "rules" else "right")
    for name, group in groups.items():
        share = f"{100 * group.share:.1f} %" if group.existing else ""
        table.add_row(
            cell(name), str(len(group.hits)), str(len(group.in_reach)) if group.existing else "", share, str(len(group.out_of_reach))
        )
    out.print(table)
    if missing:
        for name, group in groups.items():
            for reason, rules in group.missing().items():
                say(f"\n{name}, {reason} ({len(rules)}):")
                say("  " + ", ".join(rules))


def refusals(
    store: StoreOption = DEFAULT_STORE,
    campaign: CampaignOption = None,
    api: Annotated[str | None, typer.Option(help="Only this API.")] = None,
    as_json: JsonOption = False,
) -> None:
    """What the library refused to run at all, by kind, with the APIs that it came from."""
    with records(store) as opened:
        row = _campaign(opened, campaign)
        found = [r for r in opened.refusals(row["id"]) if api is None or r[0] == api]
    if as_json:
        print(json.dumps([{"api": a, "kind": k, "message": m, "times": n} for a, k, m, n in found], indent=2))
        return
    if not found:
        out.print("nothing was refused")
        return
    totals: Counter[str] = Counter()
    for _, kind, _, times in found:
        totals[kind] += times
    for kind, times in totals.most_common():
        out.print(f"[bold]{cell(kind)}[/]: {times}")
        messages: Counter[str] = Counter()
        apis: dict[str, Counter[str]] = {}
        for name, its_kind, message, count in found:
            if its_kind == kind:
                messages[message] += count
                apis.setdefault(message, Counter())[name] += count
        for message, count in messages.most_common(8):
            names = ", ".join(f"{name} {n}" for name, n in apis[message].most_common(3))
            say(f"  {count:6d}  {message}  ({names})")


def _campaign(opened: Records, number: int | None) -> dict[str, Any]:
    row = opened.campaign(number)
    if row is None:
        raise StoreError(f"{opened.path} holds no campaign{f' {number}' if number else ''}; run `gradfuzz run` first")
    return row


__all__ = ["Group", "coverage", "refusals"]
