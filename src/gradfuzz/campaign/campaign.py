"""A campaign: seeds × mutation × scenarios × oracles under a budget, stored as it goes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Event, Pool
from gradfuzz.campaign.schedule import Batch, Schedule
from gradfuzz.campaign.triage import Triage
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.variant import TURN
from gradfuzz.oracles.verdict import RANK
from gradfuzz.seeds.library import Seed
from gradfuzz.store import Store

# When the time is up, suspicions that wait for confirmation get this long; what then still waits is kept for --resume.
GRACE = 120.0
# An API that has taken so many workers down takes more: from then on a death ends its batch.
DEATHS = 3
# Batches are taken in by number; while one hangs, so many others may run ahead of it.
AHEAD = 512


class Watcher(Protocol):
    """Who wants to know how it goes."""

    def tick(self, state: State) -> None: ...

    def found(self, document: dict[str, Any]) -> None: ...


@dataclass
class State:
    """Where a campaign stands, for display."""

    began: float
    deadline: float | None
    planned: int | None
    mutants: int = 0
    before: int = 0  # of those, what earlier runs of the campaign did
    counts: dict[str, int] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    existing: set[str] = field(default_factory=set)  # rules that this computer can reach
    findings: list[dict[str, Any]] = field(default_factory=list)
    waiting: int = 0
    restarts: int = 0
    finishing: bool = False

    @property
    def validity(self) -> float:
        return 1 - self.counts.get("invalid", 0) / self.mutants if self.mutants else 1.0


@dataclass
class Running:
    """A batch on its way: what its workers have said so far."""

    batch: Batch
    counts: list[int] = field(default_factory=lambda: [0] * len(RANK))
    summary: dict[str, Any] = field(default_factory=lambda: {"reasons": {}, "refusals": {}, "cpu": 0.0})
    features: set[str] = field(default_factory=set)
    edits: dict[str, list[int]] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    reports: list[dict[str, Any]] = field(default_factory=list)
    finished: bool = False


class Campaign:
    """Feeds the pool, takes in what it says in the order of the batches' numbers, and keeps the store."""

    def __init__(self, config: Config, store: Store, number: int, pool: Pool, seeds: list[Seed], watcher: Watcher) -> None:
        self.config, self.store, self.number, self.pool, self.seeds = config, store, number, pool, seeds
        self.watcher = watcher
        self.schedule = Schedule([s.api for s in seeds], config.seed, pool.zygote.family)
        self.options = config.options(deep=pool.zygote.family == 1)
        self.planned = 0  # mutants in the batches handed out so far
        self.done_before = store.finished_batches(number)
        self.running: dict[int, Running] = {}
        self.deaths: Counter[str] = Counter()  # of workers, by API
        self.jobs: dict[int, Running] = {}
        self.next_number = 0
        self.next_to_take = 0
        now = time.monotonic()
        self.state = State(now, now + config.seconds if config.seconds else None, config.mutants)
        self.triage = Triage(config, store, number, pool, self._found)
        self._remember()
        pool.refill = self._feed

    def _remember(self) -> None:
        """On resume: count what was done, and take up what was suspected."""
        totals = self.store.totals(self.number)
        for outcome, count in totals["counts"].items():
            self._count(outcome, count)
        self.state.before = self.state.mutants
        self.state.rules.update(self.store.rules(self.number))
        self.state.existing = {rule for rule, reason in self.store.existing_rules(self.number).items() if not reason}
        self.state.findings.extend(self.store.findings(self.number))
        self.triage.take_up(self.store.suspicions(self.number))

    def run(self) -> State:
        """Until the budget is spent. Ctrl-C ends it cleanly: what was confirmed is kept, what was not is kept for later."""
        try:
            while self._more() or (self.running and not self._late()):
                self._handle(self.pool.poll())
                self._tick()
            self.state.finishing = True
            end = time.monotonic() + GRACE
            while self.triage.waiting and time.monotonic() < end:
                self._handle(self.pool.poll())
                self._tick()
            self.store.set_status(self.number, "finished")
        except KeyboardInterrupt:
            self.store.set_status(self.number, "stopped")
        finally:
            self.triage.desk.close()
        self._tick()
        return self.state

    def _late(self) -> bool:
        """Whether a batch that still runs has had its grace: its mutants are left for --resume."""
        return self.state.deadline is not None and time.monotonic() > self.state.deadline + GRACE

    # Batches -----------------------------------------------------------------------------------------------------------

    def _more(self) -> bool:
        """Whether another batch is within the budget."""
        if self.state.deadline is not None and time.monotonic() >= self.state.deadline:
            return False
        return self.config.mutants is None or self.planned < self.config.mutants

    def _feed(self) -> None:
        while self.pool.hungry and self._more() and len(self.running) < AHEAD:
            batch = self.schedule.batch(self.next_number)
            if batch is None:
                return  # the round before the last one is not done yet
            if self.config.mutants is not None:
                batch = replace(batch, count=min(batch.count, batch.start + self.config.mutants - self.planned))
            self.planned += batch.mutants
            self.next_number += 1
            running = self.running[batch.number] = Running(batch)
            if batch.number in self.done_before:
                running.finished = True
                self._take()
            else:
                self._submit(running, batch.start)

    def _submit(self, running: Running, start: int) -> None:
        batch = running.batch
        job = self.pool.submit(
            "batch", program=self.seeds[batch.seed_index].program, rng=batch.rng, start=start, count=batch.count,
            weights=dict(batch.weights), deep=batch.deep, shown=list(batch.shown), glance=batch.glance,
            options=self._options(batch).to_json(),
        )  # fmt: skip
        self.jobs[job] = running

    def _options(self, batch: Batch) -> Options:
        """What a batch's mutants are examined for. Other batches have other directions, and other variants their turn."""
        return replace(self.options, variants=not batch.glance, salt=self.options.salt + TURN * batch.number)

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            running = self.jobs.get(event.job["id"])
            if running is None:
                self.triage.handle(event)
            elif event.kind == "finding":
                running.reports.append(event.data)
            elif event.kind == "died":
                self._died(running, event)
            elif "failed" in event.data:
                # Our own mistake, not the library's: say so rather than count it.
                raise RuntimeError(f"a worker failed on {self.seeds[running.batch.seed_index].source}: {event.data['trace']}")
            else:
                self._batch_done(running, event.data)
            if event.kind != "finding":
                self.jobs.pop(event.job["id"], None)
        self.triage.collect_deaths()
        self._take()

    def _died(self, running: Running, event: Event) -> None:
        """The mutant at which a worker died is a finding; the batch goes on behind it."""
        index = event.data["index"]
        for position, count in enumerate(event.data["counts"]):
            running.counts[position] += count
        running.counts[RANK.index("timeout" if event.data["cause"] == "timeout" else "crash")] += 1
        running.reports.append({"batch": event.job["id"], "index": index, "cause": event.data["cause"], "job": event.job})
        api = self.seeds[running.batch.seed_index].api
        self.deaths[api] += 1
        if index + 1 < running.batch.count and self.deaths[api] < DEATHS:
            self._submit(running, index + 1)
        else:
            running.finished = True

    def _batch_done(self, running: Running, answer: dict[str, Any]) -> None:
        for position, count in enumerate(answer["counts"]):
            running.counts[position] += count
        for name in ("reasons", "refusals"):
            total = running.summary[name]
            for key, count in answer[name].items():
                total[key] = total.get(key, 0) + count
        running.summary["cpu"] += answer["cpu"]
        running.rules.update(answer["rules"])
        running.features.update(answer["features"])
        for name, (tried, valid) in answer["edits"].items():
            total = running.edits.setdefault(name, [0, 0])
            total[0] += tried
            total[1] += valid
        running.finished = True

    def _take(self) -> None:
        """Take in finished batches in the order of their numbers, so that the same campaign finds the same things."""
        while (running := self.running.get(self.next_to_take)) is not None and running.finished:
            del self.running[self.next_to_take]
            lesson = self.done_before.get(self.next_to_take)
            if lesson is None:
                self._record(running)
            else:
                self.schedule.learn(running.batch, lesson)
            self.next_to_take += 1

    def _record(self, running: Running) -> None:
        seed = self.seeds[running.batch.seed_index]
        keys = {key for report in running.reports for key in self.triage.report(seed, report)}
        counts = {outcome: count for outcome, count in zip(RANK, running.counts) if count}
        orders = {verdict["order"] for report in running.reports for verdict in report.get("verdicts", ())}
        told = {"features": running.features, "edits": running.edits, "findings": keys, "orders": orders}
        lesson = self.schedule.learn(running.batch, told)
        summary = {**running.summary, "counts": counts, "lesson": lesson}
        self.store.add_batch(self.number, running.batch.number, seed.api, summary, running.rules)
        for outcome, count in counts.items():
            self._count(outcome, count)
        self.state.rules.update(running.rules)

    def _count(self, outcome: str, count: int) -> None:
        self.state.counts[outcome] = self.state.counts.get(outcome, 0) + count
        self.state.mutants += count

    # Display -----------------------------------------------------------------------------------------------------------

    def _found(self, document: dict[str, Any]) -> None:
        self.state.findings.append(document)
        self.watcher.found(document)

    def _tick(self) -> None:
        self.state.waiting = self.triage.waiting
        self.state.restarts = self.pool.restarts
        self.watcher.tick(self.state)
