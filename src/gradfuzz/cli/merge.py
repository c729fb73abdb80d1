"""`gradfuzz merge`: several stores as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.cli.bugs import known_bugs
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, err, records, say_lines
from gradfuzz.store import merge as joining
from gradfuzz.store.shards import shards_told


def merge(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="The stores to join; they are only read.")],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Join stores of several machines in the one that --store names, together with what is there already.

    Campaigns, batches, findings, coverage, lessons, what waits to be looked into: each is there once, however often and in whichever order
    stores are merged. Shards of one campaign (`gradfuzz run --shard 3/16`) are then one to `bugs`, `findings`, `coverage` and `report`.
    Judgements lie in files of their own, and hold for any store.
    """
    joined, damaged = joining.merge(stores, store)
    for path, lost in damaged.items():
        err.print(f"gradfuzz: {path} is damaged: {lost} or more of its rows could not be read; the rest was merged", markup=False)
    with records(store) as opened:
        found, bugs = opened.findings(), known_bugs(opened)
        rows = opened.campaigns()
        told = [shards_told(rows, row["id"]) for row in opened.wholes()]
    ids = {(f.target, f.version, f.id) for f in found}
    batches = sum(len(kept.batches) for kept in joined.values())
    say_lines(f"{store}: {len(joined)} campaigns, {batches} batches, {len(ids)} findings of {len(bugs)} bugs", rest="  ")
    for line in filter(None, told):
        say_lines(line, "  ")
