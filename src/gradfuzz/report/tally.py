"""What a campaign's batches add up to: one pass over them, in memory that does not grow with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gradfuzz.mutate.cover import Cover
from gradfuzz.oracles.verdict import AGREE, CRASH, DISAGREE, INCONCLUSIVE, INVALID, TIMEOUT, UNSUPPORTED
from gradfuzz.store.reading import BatchRow

# Between so many slices and half as many: what a plot of the campaign's course can show.
MOST_SLICES = 240
# Different messages that are counted one by one; a library has some hundreds, a stranger's store may have any number.
MOST_MESSAGES = 4096
OTHERS = "other messages"

SUCCESS, MISMATCH, ERROR, UNDECIDED = "success", "mismatch", "error", "undecided"
# What a mutant's outcome is to somebody who counts tests.
CLASSES = {
    AGREE: SUCCESS, DISAGREE: MISMATCH, INCONCLUSIVE: UNDECIDED, INVALID: ERROR, UNSUPPORTED: ERROR, CRASH: ERROR, TIMEOUT: ERROR,
}  # fmt: skip


@dataclass
class ApiTally:
    """One API: its mutants by outcome, the excuses that were heard, what kinds of errors there were, seconds of the processor."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0
    cover: Cover | None = None

    @property
    def mutants(self) -> int:
        return self.counts.total()

    @property
    def classes(self) -> Counter[str]:
        return classes(self.counts)


@dataclass
class Slice:
    """A stretch of the campaign: so many batches one after the other."""

    batches: int
    mutants: int
    cpu: float
    suspected: int  # what nobody had suspected before

    def __add__(self, other: Slice) -> Slice:
        return Slice(*(a + b for a, b in zip(vars(self).values(), vars(other).values())))


@dataclass
class Tally:
    """A whole campaign."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    messages: Counter[tuple[str, str]] = field(default_factory=Counter)  # (kind, message) of what the library refused
    refusing: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)  # and which APIs did
    apis: dict[str, ApiTally] = field(default_factory=dict)
    course: list[Slice] = field(default_factory=list)
    cpu: float = 0.0
    batches: int = 0

    @property
    def mutants(self) -> int:
        return self.counts.total()

    @property
    def validity(self) -> float:
        return 1 - self.counts[INVALID] / self.mutants if self.mutants else 1.0


def classes(counts: Counter[str]) -> Counter[str]:
    """Outcomes as success, mismatch, error and undecided."""
    found: Counter[str] = Counter(dict.fromkeys((SUCCESS, MISMATCH, ERROR, UNDECIDED), 0))
    for outcome, n in counts.items():
        found[CLASSES[outcome]] += n
    return found


def tally(batches: Iterable[BatchRow]) -> Tally:
    found = Tally()
    suspected: set[str] = set()
    width = 1
    for batch in batches:
        mutants = sum(batch.counts.values())
        found.counts.update(batch.counts)
        found.reasons.update(batch.reasons)
        found.cpu += batch.cpu
        found.batches += 1
        _of_api(found.apis.setdefault(batch.api, ApiTally()), batch)
        for text, times in batch.refusals.items():
            kind, _, message = text.partition(": ")
            which = (kind, message)
            if which not in found.messages and len(found.messages) >= MOST_MESSAGES:
                which = (kind, OTHERS)
            found.messages[which] += times
            found.refusing.setdefault(which, Counter())[batch.api] += times
        new = set(batch.lesson.findings) - suspected
        suspected |= new
        _append(found.course, Slice(1, mutants, batch.cpu, len(new)), width)
        if len(found.course) > MOST_SLICES:
            width *= 2
            found.course = [sum(found.course[i + 1 : i + 2], found.course[i]) for i in range(0, len(found.course), 2)]
    return found


def _append(course: list[Slice], new: Slice, width: int) -> None:
    if course and course[-1].batches < width:
        course[-1] = course[-1] + new
    else:
        course.append(new)


def _of_api(api: ApiTally, batch: BatchRow) -> None:
    api.counts.update(batch.counts)
    api.reasons.update(batch.reasons)
    api.cpu += batch.cpu
    for text, times in batch.refusals.items():
        api.errors[text.partition(": ")[0]] += times
    for outcome in (CRASH, TIMEOUT):
        if batch.counts.get(outcome):
            api.errors[outcome] += batch.counts[outcome]
    if batch.lesson.cover is not None:
        api.cover = (api.cover or Cover()) | batch.lesson.cover
