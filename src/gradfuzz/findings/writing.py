"""The last steps of a finding. First what it is held against must stand by itself, and its script show it in a fresh process: then it is
one. A short script is looked for, and what lies around is measured, when nothing else waits to be confirmed, or in the turn of what was
put off."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradfuzz.findings import landscape
from gradfuzz.findings.direct import standing
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import has_whole, script
from gradfuzz.findings.short import shortening
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.program import to_json

SCRIPT_LIMIT = 60.0  # seconds of each step
LANDSCAPE = "landscape"  # the one job that proves nothing: any worker will do
DOING = {
    "direct": "running directly",
    "calls": "following the calls of",
    "script": "running a script of",
    "pinpoint": "shortening the script of",
    LANDSCAPE: "looking around",
}
# Putting findings in order takes longer the more there are: it is done when there are so many times as many as the last time.
ORDER_EVERY = 1.05
Order = Callable[[Sequence[Finding]], Sequence[Finding]]
# Hands out jobs for workers and is told their answers; returns the finding as it is then.
Steps = Generator[tuple[str, dict[str, Any]], Mapping[str, Any], Finding]


def proving(finding: Finding) -> Steps:
    """Whether it is one: the direct run is sound, and the script shows it. Of one that is, what its API passes through is told as well."""
    unsound = yield from standing(finding)
    if unsound:
        return replace(finding, confirmed=False, unsound=unsound)
    finding = yield from _shown(finding)
    if finding.lost and has_whole(finding):
        finding = yield from _shown(replace(finding, script=script(finding, whole=True)))
    if not finding.confirmed or finding.rule:  # a rule says whose fault it is
        return finding
    passed = (yield "calls", {"api": finding.api, "program": to_json(finding.program)}).get("calls") or ()
    return replace(finding, calls=tuple((str(name), int(callers)) for name, callers in passed))


def _shown(finding: Finding) -> Steps:
    """What its script makes of it."""
    answer = yield "script", {"source": finding.script}
    output = "\n".join(str(answer[key]) for key in ("output", "failed", "cause") if answer.get(key))
    return finding.shown_by(answer.get("status") == 1, output, answer.get("environment"))


def polishing(finding: Finding) -> Steps:
    """What makes a finding easy to read: a short script, and what the function does around the point."""
    finding = replace(finding, short=(yield from shortening(finding)))
    asked = landscape.question(finding)
    return finding if asked is None else replace(finding, landscape=landscape.told((yield LANDSCAPE, asked)))


@dataclass
class Work:
    """A finding on its way."""

    finding: Finding
    steps: Steps
    ended: Callable[[Finding], None]
    polish: bool = False


class Writing:
    """Findings are written up side by side; whoever asked is told of each when it is done.

    Polishing is begun with as many as there are workers, and what was begun is finished first: where there is not time for all, those that
    are done are done altogether, and they are the first in `order`.
    """

    def __init__(self, pool: Executor, order: Order = list) -> None:
        self.pool, self.order = pool, order
        self._at: dict[int, tuple[Work, str]] = {}  # by job, with what the job does
        self._waiting: dict[str, Work] = {}  # to be polished, by the finding's id
        self._known: list[Finding] = []  # all that were ever to be
        self._ranks: dict[str, int] = {}  # by id, as far as they were put in order
        self.spent, self.polished = 0.0, 0  # seconds of the processor that polishing took, and how many findings it was done to

    def prove(self, finding: Finding, ended: Callable[[Finding], None]) -> None:
        self._go_on(Work(finding, proving(finding), ended), None)

    def polish(self, finding: Finding, ended: Callable[[Finding], None]) -> None:
        """After what is to be confirmed; see `pool/jobs.py` for the turns of what was put off."""
        self._waiting[finding.id] = Work(finding, polishing(finding), ended, polish=True)
        self._known.append(finding)
        self._begin()

    def _begin(self) -> None:
        """Polishing of those whose turn it is."""
        while self._waiting and sum(work.polish for work, _ in self._at.values()) < self.pool.size:
            if len(self._known) >= ORDER_EVERY * len(self._ranks):
                self._ranks = {finding.id: rank for rank, finding in enumerate(self.order(self._known))}
            first = min(self._waiting, key=lambda which: self._ranks.get(which, len(self._ranks)))
            self._go_on(self._waiting.pop(first), None)

    def _go_on(self, work: Work, answer: Mapping[str, Any] | None) -> None:
        try:
            do, fields = next(work.steps) if answer is None else work.steps.send(answer)
        except StopIteration as end:
            self.polished += work.polish
            work.ended(end.value)
            return
        job = self.pool.submit(
            do, urgent=True, ahead=not work.polish or answer is not None, put_off=work.polish, fresh=do != LANDSCAPE, limit=SCRIPT_LIMIT,
            **fields,
        )  # fmt: skip
        self._at[job] = work, do

    def handle(self, event: Event) -> bool:
        """Whether the event was an answer to one of these jobs; then it is taken in."""
        at = self._at.pop(event.job["id"], None)
        if at is not None:
            self.spent += event.data.get("spent", 0.0) if at[0].polish else 0.0
            self._go_on(at[0], event.data)
            self._begin()
        return at is not None

    def about(self, job: int) -> str | None:
        """What a job is, for people; None where it is not one of these."""
        at = self._at.get(job)
        return None if at is None else f"{DOING[at[1]]} {at[0].finding.api}"

    @property
    def unpolished(self) -> int:
        """How many findings are being polished, or wait to be."""
        return len(self._waiting) + sum(work.polish for work, _ in self._at.values())
