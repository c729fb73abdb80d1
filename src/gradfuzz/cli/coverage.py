"""`gradfuzz coverage` and `gradfuzz refusals`: what a campaign reached, and what the library would not run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

import typer
from rich.table import Table

from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, cell, out, records, say
from gradfuzz.errors import StoreError
from gradfuzz.mutate.cover import Cover
from gradfuzz.store import Records
from gradfuzz.store.coverage import Group, coverage_of, designs_of
from gradfuzz.store.proofs import proofs_of
from gradfuzz.store.shards import shards_told

CampaignOption = Annotated[
    int | None, typer.Option("--campaign", min=1, max=2**31, help="Which campaign of the store; the last one by default.")
]
# APIs shown by name whose designs have come least far.
FURTHEST_BEHIND = 5
# Lines that a person still reads; --json has all.
MOST_UNTESTED = 30
JsonOption = Annotated[bool, typer.Option("--json", help="For programs.")]


def coverage(
    store: StoreOption = DEFAULT_STORE,
    campaign: CampaignOption = None,
    missing: Annotated[bool, typer.Option(help="List the rules that were not reached, with the reason.")] = True,
    as_json: JsonOption = False,
) -> None:
    """What a campaign reached: the library's derivative rules, and of every API the values and pairs of values that it was tried with.

    PyTorch's rules come from its own table of derivatives: each entry counts once in reverse mode, once in forward mode if it has a
    forward formula, and once for second derivatives. JAX has tables of forward (jvp), transpose and batching rules, TensorFlow a
    registry of gradients. Rules that were not reached are listed with the reason.

    Values are types, kinds of numbers, sizes, layouts, options and so on, each tried alone, then in pairs; what an API refuses alone is not
    paired. Of every further way of running it is said how many of these rules were at work in it.
    """
    with records(store) as opened:
        row = _campaign(opened, campaign)
        groups = coverage_of(opened, row["id"])
        designs = designs_of(opened, row["id"])
        ways = opened.rules_in_ways(row["id"])
        proofs = proofs_of(opened, row["id"])
        shards = shards_told(opened.campaigns(), row["id"])
    if as_json:
        tables = {name: group.to_json() for name, group in groups.items()}
        shown = {"designs": {api: _design_json(design) for api, design in sorted(designs.items())}, "proofs": proofs.to_json()}
        shown["ways"] = {way: sorted(names) for way, names in sorted(ways.items())}
        print(json.dumps({**tables, **shown}, indent=2))
        return
    say(f"{row['target']} {row['version']}, campaign {row['id']}{f', {shards}' if shards else ''}")
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
    if ways:
        _show_ways(ways, {name for group in groups.values() for name in group.hits})
    if designs:
        _show_designs(designs)
    if proofs.lost:
        say(f"\n{proofs.told}")
    if missing:
        for name, group in groups.items():
            for reason, rules in group.missing().items():
                say(f"\n{name}, {reason} ({len(rules)}):")
                say("  " + ", ".join(rules))


def _show_ways(ways: dict[str, set[str]], reached: set[str]) -> None:
    say(f"\nrules at work in further ways, of {len(reached)} that were reached:")
    counts = sorted(((len(names & reached), way) for way, names in ways.items()), key=lambda had: (-had[0], had[1]))
    say("  " + ", ".join(f"{way} {count}" for count, way in counts))


def _show_designs(designs: dict[str, Cover]) -> None:
    every = list(designs.values())
    levels, met = sum(d.levels for d in every), sum(d.levels_met for d in every)
    pairs, paired = sum(d.pairs_possible for d in every), sum(d.pairs_met for d in every)
    say(f"\nvalues tried alone: {met} of {levels} ({_share(met, levels)}) of {len(every)} APIs")
    none = sum(d.pairs_possible > 0 == d.pairs_met for d in every)
    full = f"{sum(d.complete for d in every)} APIs have had all of theirs, {none} none yet"
    say(f"pairs of values: {paired} of {pairs} ({_share(paired, pairs)}); {full}")
    behind = sorted(designs.items(), key=lambda item: item[1].pairs_met / max(1, item[1].pairs_possible))[:FURTHEST_BEHIND]
    say("furthest behind: " + ", ".join(f"{api} {_share(d.pairs_met, d.pairs_possible)}" for api, d in behind))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _design_json(design: Cover) -> dict[str, int]:
    return {
        "values": design.levels, "values_met": design.levels_met, "values_refused": bin(design.refused).count("1"),
        "pairs": design.pairs_possible, "pairs_met": design.pairs_met,
    }  # fmt: skip


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
