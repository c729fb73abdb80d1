"""Two releases side by side, by cause: what became of each bug, and the page of Markdown that tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.bugs.bug import Bug, bugs_of
from gradfuzz.bugs.judgements import Judgement
from gradfuzz.report.marks import code, text
from gradfuzz.store import Records
from gradfuzz.store.comparison import CHANGES, Compared
from gradfuzz.targets.homes import homes


@dataclass(frozen=True)
class Became:
    """A bug and what became of it. It is fixed only where nothing of it still shows."""

    bug: Bug
    rows: tuple[Compared, ...]
    change: str


def by_cause(rows: Sequence[Compared], judgements: Sequence[Judgement] = ()) -> list[Became]:
    """Compared findings as bugs, what matters most first, the gravest of them first."""
    of = {row.finding.id: row for row in rows}
    found = []
    for bug in bugs_of([row.finding for row in rows], judgements):
        its = tuple(of[f.id] for f in bug.findings)
        found.append(Became(bug, its, min((row.change for row in its), key=CHANGES.index)))
    return sorted(found, key=lambda became: CHANGES.index(became.change))


def counted(changes: Sequence[str]) -> str:
    """How many there are of each, in words."""
    counts = Counter(changes)
    return ", ".join(f"{counts[c]} {c}" for c in CHANGES if counts[c]) or "none"


def compared_page(store: Records, target: str, old: str, new: str, rows: Sequence[Compared], judgements: Sequence[Judgement]) -> str:
    """The page: the campaigns that it rests on, then a line for each bug under what became of it."""
    bugs = by_cause(rows, judgements)
    home = homes().get(target)
    lines = [f"# {text(home.title if home is not None else target)} {text(old)} and {text(new)}", ""]
    lines += [line for row in store.campaigns() if row["target"] == target for line in _campaign(store, row)]
    lines += ["", f"**{len(bugs)} bugs in {len(rows)} findings: {counted([bug.change for bug in bugs])}.**", ""]
    lines.append("Made by `gradfuzz compare` from a store and judgements. A bug is fixed only where none of its findings shows any more.")
    for change in CHANGES:
        its = [became for became in bugs if became.change == change]
        if its:
            lines += ["", f"## {change[0].upper()}{change[1:]} ({len(its)})", "", *_table(its, old, new)]
    return "\n".join(lines) + "\n"


def _campaign(store: Records, row: dict[str, Any]) -> list[str]:
    """What a campaign ran; nothing, if it asked about findings alone."""
    totals, kept = store.totals(row["id"]), len(store.corpus(row["id"]))
    corpus = f", which kept a corpus of {kept:,} seeds" if kept else ""
    kind = f" ({text(row['config']['source'])})" if row["config"].get("source") else ""
    mutants, seconds = sum(totals["counts"].values()), totals["cpu"]
    line = f"- on {text(row['version'])}: a campaign{kind} of {mutants:,} mutants in {seconds:.0f} seconds of processor time{corpus}"
    return [line] if mutants else []


def _table(bugs: Sequence[Became], old: str, new: str) -> list[str]:
    lines = [f"| bug | what | {text(old)} | {text(new)} | findings | judgement |", "| --- | --- | --- | --- | --- | --- |"]
    for became in bugs:
        bug = became.bug
        said = "; ".join(f"{word}: {why}" for word, why in dict.fromkeys((j.judgement, j.why) for j in bug.judgements))
        words = [", ".join(dict.fromkeys(getattr(row, side) for row in became.rows)) for side in ("before", "after")]
        ids = ", ".join(f"`{code(f.id)}`" for f in bug.findings)
        lines.append(f"| `{code(bug.id)}` | {text(bug.title)} | {words[0]} | {words[1]} | {ids} | {text(said)} |")
    return lines
