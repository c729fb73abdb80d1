"""What a survey is: it says what to run next, what to make of an answer, and how to show it. The engine does the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gradfuzz.engine.spending import Spending
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.postmortem import Death
from gradfuzz.worker.progress import DIED, LEFT_OUT


@dataclass
class Task:
    """Items start … count-1 of one job for one worker. An item that kills its worker is left behind, and the rest goes on."""

    do: str
    fields: dict[str, Any]
    count: int
    start: int = 0
    number: int = 0  # what the survey calls it

    @property
    def told(self) -> str:
        """What it is, for people."""
        api = self.fields.get("api")
        return f"{self.do} {self.number}{f' of {api}' if api else ''}"

    def knowing(self, fates: str, index: int) -> Task:
        """The same once a worker has died at an item: what became of those before it, some of them with other workers, goes along.

        A value that is deadly is like one that is refused: there is nothing to be learnt by trying it once more, alone or in company.
        """
        before = str(self.fields.get("fates", ""))[: self.start].ljust(self.start, LEFT_OUT.decode())
        return replace(self, fields={**self.fields, "fates": before + fates[self.start : index] + DIED.decode()})

    def beyond(self, index: int) -> Task | None:
        """What is left behind an item; None if it was the last one."""
        return Task(self.do, self.fields, self.count, index + 1, self.number) if index + 1 < self.count else None


@dataclass
class State:
    """Where a survey stands, for people."""

    things: str  # what it counts: mutants, chains, graphs
    began: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    planned: int | None = None
    done: int = 0
    before: int = 0  # of those, what earlier runs of the campaign did
    counts: Counter[str] = field(default_factory=Counter)  # verdicts
    reasons: Counter[str] = field(default_factory=Counter)  # why some were inconclusive
    mistakes: Counter[str] = field(default_factory=Counter)  # of ours: mutants at which an oracle failed
    blamed: Counter[str] = field(default_factory=Counter)
    rules: set[str] = field(default_factory=set)
    existing: set[str] = field(default_factory=set)  # rules that this computer can reach
    apis: int = 0  # that have seeds
    looked: set[str] = field(default_factory=set)  # APIs that have had a batch
    turns: int = 0  # that operators are to have in further ways, as far as they are planned
    turns_had: int = 0
    unread: float = 0.0  # the part of the seeds that is still to be read
    findings: list[Finding] = field(default_factory=list)
    waiting: int = 0
    put_off: int = 0  # of those: most likely other sights of what was met before
    unpolished: int = 0  # findings whose short scripts and surroundings are still to come
    asked: Counter[str] = field(default_factory=Counter)  # what the reference said to suspicions
    wondered: Counter[str] = field(default_factory=Counter)  # and where nothing was suspected
    asking: dict[str, float] = field(default_factory=dict)  # seconds of the processor that asking it took, by what for
    restarts: int = 0
    finishing: bool = False
    stopped: bool = False  # by the user
    cpu: float = 0.0  # seconds that workers spent on tasks
    spending: Spending = field(default_factory=Spending)
    extra: Counter[str] = field(default_factory=Counter)

    @property
    def validity(self) -> float:
        total = sum(self.counts.values())
        return 1 - self.counts["invalid"] / total if total else 1.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Survey(Protocol):
    """One kind of survey. The engine calls these from one thread, one at a time."""

    state: State

    def tasks(self) -> Iterator[Task | None]:
        """What to run next; None: nothing until another answer has come in. It ends when all was handed out."""

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        """A task came to its end."""

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        """A worker suspects something; see Engine.triage."""

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        """A worker died at an item, having counted so much; returns what is to go on, if anything."""


class Watcher(Protocol):
    """Who wants to know how it goes."""

    def tick(self, state: State) -> None: ...

    def found(self, finding: Finding) -> None: ...

    def say(self, text: str) -> None: ...


__all__ = ["Death", "Finding", "State", "Survey", "Suspicion", "Task", "Watcher"]
