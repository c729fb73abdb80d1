"""The tables of a report for spreadsheets: one of APIs, one of bugs, one of where the time went."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from gradfuzz.report.analysis import rows_of
from gradfuzz.report.files import write_text
from gradfuzz.report.model import Campaign, Report
from gradfuzz.report.tally import ERROR, MISMATCH, SUCCESS, UNDECIDED
from gradfuzz.store.comparison import plain_cell

FORMAT = "csv"
COLUMNS = (
    "campaign", "target", "version", "api", "mutants", SUCCESS, MISMATCH, ERROR, UNDECIDED, "success_rate", "mismatch_rate", "error_rate",
    "undecided_rate", "seeds", "average_parameters", "values_met", "values", "pairs_met", "pairs", "cpu_seconds",
)  # fmt: skip
BUG_COLUMNS = (
    "bug", "severity", "because", "label", "judgement", "proven", "new", "api", "what", "order", "scenarios", "findings", "times",
)  # fmt: skip
TIME_COLUMNS = ("campaign", "target", "version", "what", "seconds", "share")


def write(report: Report, folder: Path) -> Path:
    """analysis_report.csv, a line an API and campaign; bugs.csv and time.csv beside it."""
    kinds = sorted({kind for c in report.campaigns for row in c.tally.apis.values() for kind in row.errors})
    head = (*COLUMNS, *(f"error: {kind}" for kind in kinds))
    bugs = [
        (
            b.id, b.severity.grade.name, b.severity.because, b.label_name, b.judged, b.proven, report.is_new(b), b.leading.api,
            b.leading.title, b.leading.verdict.order, b.affects, len(b.findings), b.times,
        )
        for b in report.bugs
    ]  # fmt: skip
    write_text(folder / "bugs.csv", _table(BUG_COLUMNS, bugs))
    times = [(c.number, c.target, c.version, t.what, f"{t.seconds:.3f}", f"{t.share:.4f}") for c in report.campaigns for t in c.times]
    write_text(folder / "time.csv", _table(TIME_COLUMNS, times))
    return write_text(folder / "analysis_report.csv", _table(head, (row for c in report.campaigns for row in _rows(c, kinds))))


def _rows(campaign: Campaign, kinds: Sequence[str]) -> Iterable[Sequence[object]]:
    for row in rows_of(campaign):
        found, classes, cover = row.tally, row.tally.classes, row.tally.cover
        met = (cover.levels_met, cover.levels, cover.pairs_met, cover.pairs_possible) if cover else (0, 0, 0, 0)
        yield (
            campaign.number, campaign.target, campaign.version, row.api, found.mutants, *(classes[what] for what in _CLASSES),
            *(f"{row.rate(what):.4f}" for what in _CLASSES), row.seeds, "" if row.parameters is None else f"{row.parameters:.2f}", *met,
            f"{found.cpu:.3f}", *(found.errors[kind] for kind in kinds),
        )  # fmt: skip


_CLASSES = (SUCCESS, MISMATCH, ERROR, UNDECIDED)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([plain_cell(name) for name in head])
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return text.getvalue()
