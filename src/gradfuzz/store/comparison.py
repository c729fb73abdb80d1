"""Two releases side by side: what became of each bug. Reads what releases have said; asks nobody."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import CANNOT, GONE, SHOWS, regressed, since
from gradfuzz.store.records import Records

REGRESSION, NEW, BOTH, FIXED, NEITHER, NOT_RUN, NOT_ASKED = (
    "regression", "new", "in both", "fixed", "in neither", "cannot run", "not asked",
)  # fmt: skip
# In the order in which they matter: a bug that came back first.
CHANGES = (REGRESSION, NEW, BOTH, FIXED, NOT_RUN, NEITHER, NOT_ASKED)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # what a cell begins with that is computed, in the wide forms, too
COLUMNS = ("change", "id", "api", "what is wrong", "label", "before", "after", "history")


@dataclass(frozen=True)
class Compared:
    """One bug: what the two releases say of it, and what that makes."""

    finding: Finding
    said: dict[str, str]  # by every release that was asked
    before: str
    after: str
    change: str

    def row(self) -> tuple[str, ...]:
        f = self.finding
        return (self.change, f.id, f.api, f.title, f.label_name, self.before, self.after, since(self.said))


def bugs(store: Records, target: str) -> dict[str, tuple[Finding, dict[str, str]]]:
    """Every confirmed finding on a target by its key, whichever campaigns met it and under which API, with what each release says of it."""
    found: dict[str, tuple[Finding, dict[str, str]]] = {}
    for finding in store.findings():
        if finding.target == target:
            _, said = found.get(finding.key, (finding, {}))
            found[finding.key] = (finding, {**said, **finding.said})
    return found


def compare(store: Records, target: str, old: str, new: str) -> list[Compared]:
    """Every bug of a store in two releases, what matters most first."""
    rows = []
    for finding, said in bugs(store, target).values():
        before, after = said.get(old, NOT_ASKED), said.get(new, NOT_ASKED)
        rows.append(Compared(finding, said, before, after, change(said, old, new)))
    return sorted(rows, key=lambda row: (CHANGES.index(row.change), row.finding.api, row.finding.id))


def change(said: dict[str, str], old: str, new: str) -> str:
    """What became of a bug from one release to the other."""
    before, after = said.get(old, NOT_ASKED), said.get(new, NOT_ASKED)
    if NOT_ASKED in (before, after):
        return NOT_ASKED
    if CANNOT in (before, after):
        return NOT_RUN
    if after == SHOWS and regressed(said, new):
        return REGRESSION
    return {(SHOWS, SHOWS): BOTH, (SHOWS, GONE): FIXED, (GONE, SHOWS): NEW, (GONE, GONE): NEITHER}[before, after]


def as_csv(rows: list[Compared], old: str, new: str) -> str:
    """A line a bug, for spreadsheets. What would be read there as a formula is not one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([old if c == "before" else new if c == "after" else c for c in COLUMNS])
    writer.writerows([[plain_cell(cell) for cell in row.row()] for row in rows])
    return text.getvalue()


def plain_cell(cell: object) -> str:
    """A cell that no spreadsheet takes for a formula, in one line, with what cannot be seen spelt out."""
    said = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(str(cell).split()))
    return f"'{said}" if said.startswith(_FORMULA) and not _NUMBER.fullmatch(said) else said
