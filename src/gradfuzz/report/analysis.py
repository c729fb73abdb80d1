"""The tables and pictures of an analysis, as data: every renderer draws the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradfuzz.report.model import Campaign
from gradfuzz.report.tally import ERROR, MISMATCH, SUCCESS, UNDECIDED, ApiTally

# An API with fewer mutants says nothing about a rate: one of one is no hundred per cent.
LEAST_MUTANTS = 10
TOP = 10
MOST_BARS = 20  # APIs by name in one picture
BINS = 20  # of a distribution
CELLS = 10  # of a heat map, each way
MOST_PARAMETERS = 10  # in a heat map; what has more is in its last row

Cells = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Picture:
    """Bars (one series, or several on top of each other) or a matrix of cells; `name` is that of its file."""

    name: str
    title: str
    note: str  # what is counted, in a sentence
    labels: tuple[str, ...]
    series: dict[str, tuple[float, ...]] = field(default_factory=dict)
    rows: tuple[str, ...] = ()  # of a matrix, whose columns are the labels
    cells: Cells = ()
    axis: str = ""  # what bars are long by, or what rows and columns are
    lying: bool = False  # bars from left to right, for long names
    signed: bool = False  # cells between -1 and 1

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ApiRow:
    """A line of the table: one API."""

    api: str
    tally: ApiTally
    parameters: float | None
    seeds: int

    def rate(self, what: str) -> float:
        return self.tally.classes[what] / self.tally.mutants if self.tally.mutants else 0.0


def rows_of(campaign: Campaign) -> list[ApiRow]:
    """Every API that had a batch, by name."""
    known = campaign.parameters
    return [
        ApiRow(api, found, known.average(api), known.by_api[api].total() if api in known.by_api else 0)
        for api, found in sorted(campaign.tally.apis.items())
    ]


def pictures(campaign: Campaign) -> list[Picture]:
    """All of them, in the order in which they are shown."""
    rows = [row for row in rows_of(campaign) if row.tally.mutants >= LEAST_MUTANTS]
    return [_overall(campaign), *_distributions(rows), *_tops(rows), _categories(rows), *_parameters(campaign, rows), *_correlations(rows)]


def _overall(campaign: Campaign) -> Picture:
    counts = dict.fromkeys((SUCCESS, MISMATCH, ERROR, UNDECIDED), 0)
    for row in campaign.tally.apis.values():
        for what, n in row.classes.items():
            counts[what] += n
    note = (
        "Success: all ways agree. Mismatch: some disagree. Error: refused by the library, not supported by it, a crash or a hang. "
        "Undecided: an excuse was heard."
    )
    return Picture("overall_test_results", "Overall results", note, tuple(counts), {"mutants": tuple(counts.values())}, axis="mutants")


def _distributions(rows: Sequence[ApiRow]) -> list[Picture]:
    edges = np.linspace(0, 100, BINS + 1)
    labels = tuple(f"{low:.0f}–{high:.0f} %" for low, high in zip(edges, edges[1:]))
    found = []
    for what in (SUCCESS, MISMATCH, ERROR):
        counts, _ = np.histogram([100 * row.rate(what) for row in rows], edges)
        note = f"APIs by the share of their mutants that are {_a(what)}; those with {LEAST_MUTANTS} mutants or more."
        title = f"Distribution of {what} rates"
        found.append(Picture(f"{what}_rate_distribution", title, note, labels, {"APIs": tuple(map(float, counts))}, axis="APIs"))
    return found


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _tops(rows: Sequence[ApiRow]) -> list[Picture]:
    found = []
    for what in (MISMATCH, ERROR):
        top = sorted(rows, key=lambda row: (-row.rate(what), row.api))[:TOP]
        values = tuple(100 * row.rate(what) for row in top)
        note = f"Of APIs with {LEAST_MUTANTS} mutants or more."
        names = tuple(row.api for row in top)
        title = f"The ten highest {what} rates"
        found.append(Picture(f"top10_{what}_rates", title, note, names, {f"{what} rate": values}, axis="% of mutants", lying=True))
    return found


def _categories(rows: Sequence[ApiRow]) -> Picture:
    top = sorted((row for row in rows if row.tally.errors), key=lambda row: (-row.tally.errors.total(), row.api))[:MOST_BARS]
    kinds = sorted({kind for row in top for kind in row.tally.errors})
    series = {kind: tuple(float(row.tally.errors[kind]) for row in top) for kind in kinds}
    note = f"The {MOST_BARS} APIs with the most, by what the library said or did."
    names = tuple(row.api for row in top)
    return Picture("error_categories_per_api", "Error categories per API", note, names, series, axis="times", lying=True)


def _parameters(campaign: Campaign, rows: Sequence[ApiRow]) -> list[Picture]:
    known = campaign.parameters
    seeds = "Read off the seeds that the campaign kept; of findings, where it kept none."
    top = sorted((row for row in rows if row.parameters is not None), key=lambda row: (-(row.parameters or 0.0), row.api))[:MOST_BARS]
    average = Picture(
        "average_parameters_per_api", "Average parameters per API", f"The {MOST_BARS} APIs with the most. {seeds}",
        tuple(row.api for row in top), {"parameters": tuple(row.parameters or 0.0 for row in top)}, axis="parameters of a call", lying=True,
    )  # fmt: skip
    types = known.types.most_common()
    kinds = Picture(
        "parameter_types_distribution", "Parameter types", seeds, tuple(kind for kind, _ in types),
        {"parameters": tuple(float(n) for _, n in types)}, axis="parameters", lying=True,
    )  # fmt: skip
    counts = sorted(known.counts.items())
    numbers = Picture(
        "parameters_distribution", "Numbers of parameters", seeds, tuple(str(n) for n, _ in counts),
        {"calls": tuple(float(times) for _, times in counts)}, axis="calls",
    )  # fmt: skip
    return [average, kinds, numbers, _success_by_parameters(rows)]


def _success_by_parameters(rows: Sequence[ApiRow]) -> Picture:
    groups: dict[int, list[ApiRow]] = {}
    for row in rows:
        if row.parameters is not None:
            groups.setdefault(round(row.parameters), []).append(row)
    shares = [100 * sum(r.tally.classes[SUCCESS] for r in groups[n]) / sum(r.tally.mutants for r in groups[n]) for n in sorted(groups)]
    labels = tuple(f"{n} ({len(groups[n])} APIs)" for n in sorted(groups))
    note = "Of all mutants of the APIs whose calls have so many parameters on the average."
    title = "Success rate against number of parameters"
    return Picture("success_rate_vs_num_parameters", title, note, labels, {"success rate": tuple(shares)}, axis="% of mutants", lying=True)


def _correlations(rows: Sequence[ApiRow]) -> list[Picture]:
    counted = [row for row in rows if row.parameters is not None]
    columns: dict[str, Callable[[ApiRow], float]] = {
        "success rate": lambda row: row.rate(SUCCESS), "mismatch rate": lambda row: row.rate(MISMATCH),
        "error rate": lambda row: row.rate(ERROR), "undecided rate": lambda row: row.rate(UNDECIDED),
        "parameters": lambda row: row.parameters or 0.0,
    }  # fmt: skip
    names = tuple(columns)
    table = [[column(row) for row in counted] for column in columns.values()]
    cells = tuple(tuple(_correlation(a, b) for b in table) for a in table)
    matrix = Picture(
        "correlation_matrix", "Correlations", "Pearson's, over APIs; a dash where one of the two never changes.", names, rows=names,
        cells=cells, signed=True,
    )  # fmt: skip
    shares = tuple(f"{100 * i // CELLS}–{100 * (i + 1) // CELLS} %" for i in range(CELLS))
    success = Picture(
        "success_vs_mismatch_heatmap", "Success against mismatch", "APIs by both rates.", shares, rows=shares,
        cells=_counted([(row.rate(SUCCESS), row.rate(MISMATCH)) for row in rows]), axis="mismatch rate ↓, success rate →",
    )  # fmt: skip
    known = [(row.rate(ERROR), min(round(row.parameters or 0.0), MOST_PARAMETERS) / (MOST_PARAMETERS + 1)) for row in counted]
    labels = tuple(str(n) for n in range(MOST_PARAMETERS)) + (f"{MOST_PARAMETERS} or more",)
    errors = Picture(
        "params_vs_error_rate_heatmap", "Parameters against error rate", "APIs by both.", shares, rows=labels,
        cells=_counted(known, len(labels)), axis="parameters ↓, error rate →",
    )  # fmt: skip
    return [matrix, success, errors]


def _correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    found = float(np.corrcoef(a, b)[0, 1])
    return found if math.isfinite(found) else None


def _counted(points: Sequence[tuple[float, float]], rows: int = CELLS) -> Cells:
    """How many points fall into each cell; each is (column, row) as parts of one."""
    cells = np.zeros((rows, CELLS))
    for column, row in points:
        cells[min(int(row * rows + 1e-9), rows - 1), min(int(column * CELLS), CELLS - 1)] += 1
    return tuple(tuple(map(float, line)) for line in cells)
