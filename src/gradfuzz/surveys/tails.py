"""Tails: every point of a sweep over the whole range of doubles at which a derivative has hardly a digit right, as a page."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from gradfuzz.reference.digits import KINDS, Loss
from gradfuzz.surveys.accuracy import Table

# A derivative with fewer right digits than this is no use to anybody.
ENOUGH_DIGITS = 4.0
ENDS = 300.0  # decades on both sides of one


def tail_points(count: int) -> list[float]:
    """`count` sizes from 1e-300 to 1e300, evenly in the exponent, and as many again where functions saturate; both signs."""
    sizes = np.concatenate([10.0 ** np.linspace(-ENDS, ENDS, count), 10.0 ** np.linspace(-3, 3, count)])
    return [float(s * x) for x in np.unique(sizes) for s in (1.0, -1.0)]


def is_lost(loss: Loss) -> bool:
    """Whether a derivative is lost at a point: a normal number, hardly a digit right, and rounding the input does not explain it."""
    return loss.kind != KINDS[0] and not loss.note and loss.lost > 0 and loss.right < ENOUGH_DIGITS


def page(title: str, version: str, tables: list[Table], points: list[float], command: str) -> str:
    """The list and the count, as Markdown."""
    lost = {table.name: [x for x in table.losses if is_lost(x)] for table in tables}
    count = len({(name, x.x) for name, found in lost.items() for x in found})
    looked = sum(len({x.x for x in table.losses}) for table in tables)
    silent = [table.text for table in tables if not table.losses]
    lines = [
        f"# Tails of {title} {version}",
        "",
        f"{len(tables)} functions of one number in double precision, at {len(points)} points from 1e-300 to 1e300 of both signs:"
        f" {looked} pairs of a function and a point inside its domain.",
        f"At **{count}** of these the first or second derivative is a normal number with fewer than {ENOUGH_DIGITS:.0f} digits right,"
        " in one mode at least, and rounding the input by half a unit does not explain it.",
        f"Functions with such points: {sum(bool(found) for found in lost.values())}.",
        "",
        f"Made by `{command}`.",
        *([f"Nothing could be compared of {', '.join(silent)}."] if silent else []),
        "",
        "| function | derivative | mode | points | worst at | exact | given |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for table in tables:
        for (kind, way), group in groupby(sorted(lost[table.name], key=lambda x: (x.kind, x.way)), key=lambda x: (x.kind, x.way)):
            found = list(group)
            worst = min(found, key=lambda x: (x.right, -abs(x.expected)))
            lines.append(
                f"| `{table.text}` | {kind.split()[0]} | {way} | {len(found)} | {worst.x:.6g} | {worst.expected:.6g} | {worst.got:.6g} |"
            )
    lines += ["", "## Every point", ""]
    for table in tables:
        where = sorted({x.x for x in lost[table.name]})
        if where:
            lines += [f"- `{table.text}` ({len(where)}): {', '.join(f'{x:.4g}' for x in where)}"]
    for table in tables:
        lines += [f"- `{table.text}` at {x:.4g}: the worker died or hung ({cause})" for x, cause in table.lost_workers]
    return "\n".join(lines) + "\n"
