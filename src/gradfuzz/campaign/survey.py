"""A survey: a known list of jobs, each done once, whose disagreements pass through triage like a campaign's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from gradfuzz.campaign.campaign import GRACE
from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Event, Pool
from gradfuzz.campaign.triage import Triage
from gradfuzz.oracles.verdict import RANK
from gradfuzz.seeds.library import Seed
from gradfuzz.store import Store


@dataclass
class Task:
    """Some items for one worker; `names` says what people call each. An item that kills its worker is left behind."""

    do: str
    fields: dict[str, Any]
    names: list[str]
    start: int = 0


@dataclass
class Tally:
    """Where a survey stands."""

    planned: int = 0
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    blamed: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    waiting: int = 0
    cpu: float = 0.0
    extra: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Listener(Protocol):
    """Who wants to know how it goes."""

    def row(self, name: str, row: dict[str, Any]) -> None: ...

    def found(self, document: dict[str, Any]) -> None: ...

    def died(self, name: str, cause: str) -> None: ...

    def tick(self, tally: Tally) -> None: ...


class Survey:
    """Feeds the pool with tasks, takes in answers as they come, and keeps the store."""

    def __init__(self, config: Config, store: Store, number: int, pool: Pool, listener: Listener) -> None:
        self.config, self.store, self.number, self.pool, self.listener = config, store, number, pool, listener
        self.tally = Tally()
        self.triage = Triage(config, store, number, pool, self._found)
        self._batches = 0
        self._tasks: dict[int, Task] = {}

    def run(self, tasks: Iterable[Task], until: float | None = None) -> list[tuple[str, str]]:
        """All tasks (or those that begin in time); returns (name, cause) of the items that killed their workers."""
        source, exhausted = iter(tasks), False
        deaths: list[tuple[str, str]] = []
        while True:
            while not exhausted and self.pool.hungry:
                task = None if until is not None and time.monotonic() > until else next(source, None)
                exhausted = task is None
                if task is not None:
                    self._submit(task)
            if exhausted and not self._tasks:
                return deaths
            for event in self.pool.poll():
                deaths.extend(self._handle(event))
            self._tick()

    def finish(self) -> None:
        """Let triage finish what is suspected."""
        end = time.monotonic() + GRACE
        try:
            while self.triage.waiting and time.monotonic() < end:
                for event in self.pool.poll():
                    self._handle(event)
                self._tick()
        finally:
            self.triage.desk.close()
        self._tick()

    def report_death(self, api: str, program: dict[str, Any], cause: str, options: dict[str, Any]) -> None:
        """A Program that kills its worker: looked into on the side."""
        job = {"program": program, "rng": "0", "options": options}
        self.triage.report(Seed(api, self.config.source, program), {"cause": cause, "job": job, "index": 0})

    def _submit(self, task: Task) -> None:
        job = self.pool.submit(task.do, **task.fields, start=task.start)
        self._tasks[job] = task

    def _handle(self, event: Event) -> list[tuple[str, str]]:
        task = self._tasks.get(event.job["id"])
        if task is None:
            self.triage.handle(event)
            return []
        if event.kind == "finding":
            self._suspect(event.data)
            return []
        del self._tasks[event.job["id"]]
        if event.kind == "died":
            return [self._died(task, event)]
        if "failed" in event.data:
            raise RuntimeError(f"a worker failed on {task.names[:3]}: {event.data['trace']}")
        self._record(task, event.data)
        return []

    def _suspect(self, report: dict[str, Any]) -> None:
        self.tally.blamed[report["blame"]] += 1
        self.triage.report(Seed(report["api"], self.config.source, report["program"]), report)

    def _died(self, task: Task, event: Event) -> tuple[str, str]:
        index, cause = event.data["index"], event.data["cause"]
        self.tally.counts["timeout" if cause == "timeout" else "crash"] += 1
        self.tally.done += index + 1 - task.start
        self.listener.died(task.names[index], cause)
        if index + 1 < len(task.names):
            self._submit(Task(task.do, task.fields, task.names, index + 1))
        return task.names[index], cause

    def _record(self, task: Task, answer: dict[str, Any]) -> None:
        counts = {outcome: count for outcome, count in zip(RANK, answer["counts"]) if count}
        reasons: Counter[str] = Counter()
        for row in answer["rows"]:
            reasons.update(row.get("reasons", {}))
            self.listener.row(task.names[row["index"]], row)
        self.tally.counts.update(counts)
        self.tally.reasons.update(reasons)
        self.tally.extra.update(answer.get("extra", {}))
        self.tally.done += len(task.names) - task.start
        self.tally.cpu += answer["cpu"]
        summary = {"counts": counts, "reasons": dict(reasons), "refusals": {}, "cpu": answer["cpu"], "lesson": {}}
        self.store.add_batch(self.number, self._batches, self.config.source, summary, answer.get("rules", []))
        self._batches += 1

    def _found(self, document: dict[str, Any]) -> None:
        self.tally.findings.append(document)
        self.listener.found(document)

    def _tick(self) -> None:
        self.triage.collect_deaths()
        self.tally.waiting = self.triage.waiting
        self.listener.tick(self.tally)


Say = Callable[[str], None]
