"""The last steps of a finding: what it is held against stands by itself, its script shows it in a fresh process, a short one is looked for,
what lies around is measured."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from gradfuzz.findings import landscape
from gradfuzz.findings.direct import standing
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.short import shortening
from gradfuzz.pool.executor import Event, Executor

SCRIPT_LIMIT = 60.0  # seconds of each step
LANDSCAPE = "landscape"  # the one job that proves nothing: any worker will do
Steps = Generator[tuple[str, dict[str, Any]], Mapping[str, Any], None]
Case = TypeVar("Case")


@dataclass
class Work(Generic[Case]):
    """A finding on its way, as far as it has come."""

    case: Case
    finding: Finding
    doing: str = "running directly"
    shown: bool = False  # by its script

    def steps(self) -> Steps:
        """Hands out jobs for workers and is told their answers. A finding that its script does not show ends there."""
        unsound = yield from standing(self.finding)
        if unsound:
            self.finding = replace(self.finding, confirmed=False, unsound=unsound)
            return
        self.doing = "running the script of"
        answer = yield "script", {"source": self.finding.script}
        output = "\n".join(str(answer[key]) for key in ("output", "failed", "cause") if answer.get(key))
        self.finding = self.finding.shown_by(answer.get("status") == 1, output, answer.get("environment"))
        self.shown = self.finding.confirmed
        if self.shown:
            self.doing = "shortening the script of"
            self.finding = replace(self.finding, short=(yield from shortening(self.finding)))
            self.doing = "looking around"
            asked = landscape.question(self.finding)
            if asked is not None:
                self.finding = replace(self.finding, landscape=landscape.told((yield LANDSCAPE, asked)))


class Writing(Generic[Case]):
    """Findings are written up side by side; `ended` is told of each when it is."""

    def __init__(self, pool: Executor, ended: Callable[[Case, Finding], None]) -> None:
        self.pool, self.ended = pool, ended
        self._at: dict[int, tuple[Work[Case], Steps]] = {}  # by job

    def begin(self, case: Case, finding: Finding) -> None:
        work = Work(case, finding)
        self._go_on(work, work.steps(), None)

    def _go_on(self, work: Work[Case], steps: Steps, answer: Mapping[str, Any] | None) -> None:
        try:
            do, fields = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            self.ended(work.case, work.finding)
            return
        job = self.pool.submit(do, urgent=True, ahead=True, fresh=do != LANDSCAPE, limit=SCRIPT_LIMIT, **fields)
        self._at[job] = work, steps

    def handle(self, event: Event) -> bool:
        """Whether the event was an answer to one of these jobs; then it is taken in."""
        at = self._at.pop(event.job["id"], None)
        if at is not None:
            self._go_on(*at, event.data)
        return at is not None

    def about(self, job: int) -> str | None:
        """What a job is, for people; None where it is not one of these."""
        at = self._at.get(job)
        return None if at is None else f"{at[0].doing} {at[0].finding.api}"

    def unfinished(self) -> Iterator[tuple[Case, Finding]]:
        """Findings that their scripts have shown, as far as they have come."""
        return ((work.case, work.finding) for work, _ in self._at.values() if work.shown)
