"""The one seam between a campaign and whoever runs its jobs: here on this machine (pool.py), or on a cluster (cluster/)."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from gradfuzz.pool.jobs import Jobs
from gradfuzz.pool.launch import Launch
from gradfuzz.targets.base.ways import Way

POLL = 0.2


@dataclass
class Event:
    """Something a worker said or something that befell it."""

    kind: str  # suspicion, done, died; again: it starts anew, and what it has said does not count
    job: dict[str, Any]
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Busy:
    """A worker, or a place that has several, and the job it has; None: it has none."""

    who: str
    job: dict[str, Any] | None = None
    seconds: float | None = None  # since it has it
    item: int | None = None  # of the job's items, the one it is at
    pid: int = 0


class Apart(Protocol):
    """One worker beside all others, for whoever asks it one thing after the other from a thread of its own."""

    ways: Mapping[str, Way]
    cpu: dict[str, float]

    def run(self, do: str, **fields: Any) -> Event:
        """One job, to its end."""

    def alone(self, source: str) -> tuple[bool, str]:
        """Run a script that may kill its process, by itself: whether it exits with 1, and what it prints."""


class Executor(ABC):
    """Jobs in, events out. Every job that was submitted comes to an end, done or died, whatever becomes of those who ran it.

    `job["fresh"]` asks for a worker that has done nothing before.
    """

    version: str
    family: int
    ways: Mapping[str, Way]

    def __init__(self, launch: Launch, size: int) -> None:
        self.launch, self.size = launch, size
        self.jobs = Jobs(size)
        self.events: deque[Event] = deque()
        self.restarts = 0
        self.cpu: dict[str, float] = defaultdict(float)  # seconds of the processor that workers spent, by what the job was
        self.refill: Callable[[], None] = lambda: None  # called when workers would otherwise go idle
        self.say: Callable[[str], None] = lambda _: None
        self._next_job = 0

    # Jobs ------------------------------------------------------------------------------------------------------------

    def submit(self, do: str, urgent: bool = False, ahead: bool = False, put_off: bool = False, **fields: Any) -> int:
        """Queue a job; returns its number. `ahead`: before the other urgent ones; `put_off`: when no other urgent one waits."""
        self._next_job += 1
        job = {"id": self._next_job, "do": do, "urgent": urgent, **fields}
        self.jobs.add(job, ahead, put_off)
        return self._next_job

    @property
    def hungry(self) -> bool:
        """Whether more jobs would be taken up soon."""
        return len(self.jobs.waiting) < self.size

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether there is nothing to do and nothing to hear."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where workers may write: it goes with the executor. A job's `path` is a file there."""

    def at_work(self) -> list[Busy]:
        """What everyone is at right now, as far as that is known here."""
        return []

    def poll(self, wait: float = POLL) -> list[Event]:
        """Hand out jobs, wait a little, and return what happened."""
        if self.hungry:
            self.refill()
        self._turn(wait)
        happened = list(self.events)
        self.events.clear()
        return happened

    @abstractmethod
    def _turn(self, wait: float) -> None:
        """Hand out jobs, and put what happens within a little time among the events."""

    def run(self, do: str, **fields: Any) -> Event:
        """One job, to its end; what happens to others meanwhile is kept for the next poll."""
        number = self.submit(do, urgent=True, **fields)
        kept: list[Event] = []
        answer: Event | None = None
        while answer is None:
            for event in self.poll():
                if event.job["id"] == number and event.kind not in ("suspicion", "again"):
                    answer = event
                else:
                    kept.append(event)
        self.events.extendleft(reversed(kept))
        self.jobs.forget()
        return answer

    def _again(self, job: dict[str, Any]) -> None:
        """A job starts anew, before others: nobody is to be blamed for how it ended."""
        self.events.append(Event("again", job))
        self.jobs.add(job, ahead=True)

    def _account(self, job: dict[str, Any], spent: float, of_that: Mapping[str, float]) -> None:
        """A job took so many seconds of the processor, `of_that` under names of their own."""
        self.jobs.took(job, spent)
        for name, seconds in {**of_that, job["do"]: spent - sum(of_that.values())}.items():
            self.cpu[name] += seconds

    # Ends ------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def apart(self) -> contextlib.AbstractContextManager[Apart]:
        """One more worker, for the thread that asks for it."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
