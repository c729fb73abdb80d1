"""The last steps of a finding. First what it is held against must stand by itself, and its script show it in a fresh process: then it is
one. A short script is looked for when nothing else waits to be confirmed, or in the turn of what was put off; and what lies around is
measured when all have theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradfuzz.findings import landscape
from gradfuzz.findings.direct import standing
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import has_whole, script
from gradfuzz.findings.short import shortening
from gradfuzz.oracles.ways import blamed
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
# How far a finding is: it is proven, then polished, then what lies around it is looked at.
PROOF, POLISH, PICTURE = "proof", "polish", "picture"
# What a stage costs is known when so many have been through it.
A_FEW = 5
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
    if not finding.confirmed or finding.rule or blamed(finding.target, finding.verdict):  # it is known whose fault it is
        return finding
    passed = (yield "calls", {"api": finding.api, "program": to_json(finding.program)}).get("calls") or ()
    return replace(finding, calls=tuple((str(name), int(callers)) for name, callers in passed))


def _shown(finding: Finding) -> Steps:
    """What its script makes of it."""
    answer = yield "script", {"source": finding.script}
    output = "\n".join(str(answer[key]) for key in ("output", "failed", "cause") if answer.get(key))
    return finding.shown_by(answer.get("status") == 1, output, answer.get("environment"))


def polishing(finding: Finding) -> Steps:
    """What makes a finding easy to read: a short script."""
    return replace(finding, short=(yield from shortening(finding)))


def picturing(finding: Finding) -> Steps:
    """And what the function does around the point."""
    asked = landscape.question(finding)
    return finding if asked is None else replace(finding, landscape=landscape.told((yield LANDSCAPE, asked)))


@dataclass
class Work:
    """A finding on its way."""

    finding: Finding
    steps: Steps
    ended: Callable[[Finding], None]
    stage: str = PROOF


class Writing:
    """Findings are written up side by side; whoever asked is told of each when it is done, of a short script and of a picture apart.

    Polishing is begun with as many as there are workers, and what was begun is finished first: where there is not time for all, those that
    are done are done altogether, and they are the first in `order`. Pictures, which prove nothing, come when no short script waits.
    """

    def __init__(self, pool: Executor, order: Order = list) -> None:
        self.pool, self.order = pool, order
        self._at: dict[int, tuple[Work, str]] = {}  # by job, with what the job does
        self._waiting: dict[str, dict[str, Work]] = {POLISH: {}, PICTURE: {}}  # by the finding's id
        self._known: list[Finding] = []  # all that were ever to be
        self._ranks: dict[str, int] = {}  # by id, as far as they were put in order
        self._spent: Counter[str] = Counter()  # seconds of the processor by stage,
        self._done: Counter[str] = Counter()  # and how many findings have been through it

    def prove(self, finding: Finding, ended: Callable[[Finding], None]) -> None:
        self._go_on(Work(finding, proving(finding), ended), None)

    def polish(self, finding: Finding, ended: Callable[[Finding], None]) -> None:
        """After what is to be confirmed; see `pool/jobs.py` for the turns of what was put off."""

        def polished(finding: Finding) -> None:
            ended(finding)
            self.picture(finding, ended)

        self._wait(Work(finding, polishing(finding), polished, POLISH))

    def picture(self, finding: Finding, ended: Callable[[Finding], None]) -> None:
        """After all that is to be polished."""
        if landscape.question(finding) is not None:
            self._wait(Work(finding, picturing(finding), ended, PICTURE))

    def _wait(self, work: Work) -> None:
        self._waiting[work.stage][work.finding.id] = work
        if work.finding.id not in self._ranks:
            self._known.append(work.finding)
        self._begin()

    def _begin(self) -> None:
        """Polishing of those whose turn it is, and pictures where none waits for that."""
        while (waiting := next(filter(None, self._waiting.values()), None)) and self._at_once < self.pool.size:
            if len(self._known) >= ORDER_EVERY * len(self._ranks):
                self._ranks = {finding.id: rank for rank, finding in enumerate(self.order(self._known))}
            first = min(waiting, key=lambda which: self._ranks.get(which, len(self._ranks)))
            self._go_on(waiting.pop(first), None)

    @property
    def _at_once(self) -> int:
        return sum(work.stage != PROOF for work, _ in self._at.values())

    def _go_on(self, work: Work, answer: Mapping[str, Any] | None) -> None:
        try:
            do, fields = next(work.steps) if answer is None else work.steps.send(answer)
        except StopIteration as end:
            self._done[work.stage] += 1
            work.ended(end.value)
            return
        later = work.stage != PROOF
        job = self.pool.submit(
            do, urgent=True, ahead=not later or answer is not None, put_off=later, fresh=do != LANDSCAPE, limit=SCRIPT_LIMIT, **fields,
        )  # fmt: skip
        self._at[job] = work, do

    def handle(self, event: Event) -> bool:
        """Whether the event was an answer to one of these jobs; then it is taken in."""
        at = self._at.pop(event.job["id"], None)
        if at is not None:
            self._spent[at[0].stage] += event.data.get("spent", 0.0)
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
        return self._left(POLISH)

    @property
    def unpictured(self) -> int:
        """How many have no picture yet, of those that are polished."""
        return self._left(PICTURE)

    def _left(self, stage: str) -> int:
        return len(self._waiting[stage]) + sum(work.stage == stage for work, _ in self._at.values())

    @property
    def spent(self) -> float:
        """Seconds of the processor that polishing and pictures took."""
        return self._spent[POLISH] + self._spent[PICTURE]

    def owed(self, more: float, unknown: float) -> float:
        """The same that those will take which wait and so many more findings, at what it has cost so far; half of `unknown` for each
        stage that nobody knows of yet."""
        short, around = (self._spent[s] / self._done[s] if self._done[s] >= A_FEW else unknown / 2 for s in (POLISH, PICTURE))
        return (more + self.unpolished) * (short + around) + self.unpictured * around
