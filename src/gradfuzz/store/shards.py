"""Which campaigns of a store are shards of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# What may differ between shards of one campaign: which part each is, how long it ran and on what machine.
_OWN = ("shard", "workers", "seconds", "mutants", "python_said", "launch", "cluster", "follows", "round")
# Of the launch, what decides what is seen; interpreters lie elsewhere on every machine.
_LAUNCH = ("target", "modules", "timeout", "memory", "ways", "device")
Row = dict[str, Any]


def shard_of(row: Row) -> tuple[int, int] | None:
    """(number, of) of a campaign's row; None where it is a whole one, or does not say so sensibly."""
    shard = row["config"].get("shard")
    if not isinstance(shard, dict):
        return None
    number, of = shard.get("number"), shard.get("of")
    return (number, of) if type(number) is int and type(of) is int and 1 <= number <= of > 1 else None


def together(rows: Sequence[Row], campaign: int) -> dict[int, Row]:
    """The campaign and the other shards of it by their numbers; of a shard that was run several times the newest. Alone: under 0."""
    row = next((row for row in rows if row["id"] == campaign), None)
    shard = shard_of(row) if row is not None else None
    if row is None or shard is None:
        return {} if row is None else {0: row}
    found: dict[int, Row] = {}
    for other in sorted(rows, key=lambda r: (r["created"], r["id"])):
        which = shard_of(other)
        if which is not None and which[1] == shard[1] and _plan(other) == _plan(row):
            found[which[0]] = other
    return {**found, shard[0]: row}


def shards_told(rows: Sequence[Row], campaign: int) -> str:
    """`shards 1, 3 of 16`; nothing where it is whole."""
    row = next((row for row in rows if row["id"] == campaign), None)
    shard = shard_of(row) if row is not None else None
    return f"shards {', '.join(map(str, sorted(together(rows, campaign))))} of {shard[1]}" if shard is not None else ""


def wholes(rows: Sequence[Row]) -> list[Row]:
    """One row for each campaign, however many shards of it there are: its newest shard's."""
    found, counted = [], set()
    for row in reversed(rows):
        if row["id"] not in counted:
            counted |= {part["id"] for part in together(rows, row["id"]).values()}
            found.append(row)
    return found[::-1]


def _plan(row: Row) -> str:
    config = row["config"]
    launch = config.get("launch")
    said = {name: launch.get(name) for name in _LAUNCH} if isinstance(launch, dict) else None
    deciding = {name: value for name, value in config.items() if name not in _OWN}
    return json.dumps([row["target"], row["version"], deciding, said], sort_keys=True)
