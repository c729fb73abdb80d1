"""Where a campaign's time went, as rows to show: what it was spent on, in the order of a mutant's way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradfuzz.engine import spending as names

# What each is called in a line, and in a sentence.
TITLES = {
    names.SEARCH: "examining mutants, in batches",
    names.CONFIRMING: "confirming in fresh processes",
    names.SHRINKING: "shrinking examples",
    names.SCRIPTS: "running and shortening scripts",
    names.POST_MORTEMS: "post-mortems of crashes",
    names.REFERENCE: "measuring for the reference",
    names.PROOFS: "proofs of the reference",
    names.SEEDS: "reading seeds",
    names.STEERING: "the campaign's own process",
    names.WAITING: "workers waiting",
}


@dataclass(frozen=True)
class Spent:
    """Seconds of the processor; of waiting, seconds of the clock, of all workers together."""

    what: str
    title: str
    seconds: float
    share: float  # of all that is told


def times_of(spending: Mapping[str, float], batches: float) -> list[Spent]:
    """Where nobody wrote it down, what batches took is all that is known."""
    known = {what: seconds for what, seconds in spending.items() if what != names.CLOCK} or {names.SEARCH: batches}
    total = sum(known.values()) or 1.0
    order = [*(what for what in TITLES if what in known), *sorted(known.keys() - TITLES.keys())]
    return [Spent(what, TITLES.get(what, what), known[what], known[what] / total) for what in order]


def told(rows: list[Spent]) -> str:
    """In a line: what took a hundredth or more, the most first."""
    grave = sorted((row for row in rows if row.share >= 0.005), key=lambda row: -row.seconds)
    return ", ".join(f"{row.what} {100 * row.share:.0f} %" for row in grave)
