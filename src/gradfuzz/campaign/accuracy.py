"""The accuracy of special functions: a library's numbers over the whole sweep, against closed forms."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz import closed
from gradfuzz.campaign.launch import Launch
from gradfuzz.campaign.pool import Pool
from gradfuzz.chains.sweep import LEAST, MOST, ORDINARY
from gradfuzz.closed.digits import Loss, losses
from gradfuzz.errors import GradfuzzError
from gradfuzz.program import Program, language_for, parse, to_json

_SPELLING = json.loads((Path(closed.__file__).parent / "spelling.json").read_text())["forms"]


@dataclass
class Table:
    """One function: its losses at every point, and the points it did not come back from."""

    name: str
    text: str
    losses: list[Loss] = field(default_factory=list)
    lost_workers: list[tuple[float, str]] = field(default_factory=list)


def forms(target: str, globs: tuple[str, ...] = ()) -> dict[str, str]:
    """Closed forms that the target has, by name, as the target spells them."""
    known = {name: ways[target] for name, ways in _SPELLING.items() if target in ways}
    chosen = {name: text for name, text in known.items() if not globs or any(fnmatchcase(name, g) for g in globs)}
    if not chosen:
        raise GradfuzzError(f"no closed form of {target} fits {', '.join(globs) or 'it'}; known: {', '.join(known) or 'none'}")
    return chosen


def program_for(target: str, text: str, dtype: str) -> Program:
    return parse(f'x = tensor((), "{dtype}", full(1.0))\ny = {text}\n', language_for(target))


def accuracy_points(count: int, dtype: str) -> list[float]:
    """`count` sizes over the whole range of the dtype and three times as densely where people's numbers are, both signs."""
    ends = (LEAST, MOST) if dtype == "float64" else (-30.0, 30.0)
    sizes = np.concatenate([10.0 ** np.linspace(*ends, count), 10.0 ** np.linspace(-3, 3, 3 * count), ORDINARY])
    with np.errstate(all="ignore"):
        held = np.unique(sizes.astype(dtype)).astype(float)
    return [float(s * x) for x in held for s in (1.0, -1.0)]


def measure(launch: Launch, chosen: dict[str, str], points: list[float], dtype: str) -> tuple[str, list[Table]]:
    """Every form at every point; returns the library's version and the tables."""
    tables = []
    with Pool(launch, 1) as pool:
        for name, text in chosen.items():
            table = Table(name, text)
            for index, got in _tabulated(pool, program_for(launch.target, text, dtype), points, table):
                table.losses.extend(losses(name, points[index], got, dtype))
            tables.append(table)
        return pool.version, tables


def _tabulated(pool: Pool, program: Program, points: list[float], table: Table) -> list[tuple[int, dict[str, Any]]]:
    """What the library gave, point by point. A point that kills its worker is left behind."""
    rows: list[tuple[int, dict[str, Any]]] = []
    start = 0
    while start < len(points):
        event = pool.run("tabulate", program=to_json(program), points=points, start=start)
        if event.kind == "died":
            index = event.data["index"]
            table.lost_workers.append((points[index], event.data["cause"]))
            rows.extend(_quick(pool, program, points, start, index))
            start = index + 1
            continue
        if "failed" in event.data:
            raise GradfuzzError(f"{table.text}: {event.data['failed']}")
        rows.extend((index, got) for index, got in event.data["rows"])
        start = len(points)
    return rows


def _quick(pool: Pool, program: Program, points: list[float], start: int, stop: int) -> list[tuple[int, dict[str, Any]]]:
    """The points before the one that killed the worker, once more: their answers went with it."""
    if start == stop:
        return []
    event = pool.run("tabulate", program=to_json(program), points=points[start:stop], start=0)
    return [(start + index, got) for index, got in event.data["rows"]] if event.kind == "done" and "rows" in event.data else []
