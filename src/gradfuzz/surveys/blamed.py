"""What chains and graphs share: tasks in any order, whose disagreements are blamed on a call or a composition before they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gradfuzz.engine.engine import Engine, Session
from gradfuzz.engine.survey import Suspicion, Task
from gradfuzz.oracles.verdict import RANK


class Blamed:
    """Counts tasks on their way, and keeps the books."""

    def __init__(self, opened: Session, engine: Engine) -> None:
        assert opened.store is not None and engine.triage is not None
        self.config, self.store, self.number, self.triage = opened.config, opened.store, opened.number, engine.triage
        self.state = engine.state
        self._batches = 0
        self._on_their_way = 0

    def counted(self, task: Task) -> Task:
        self._on_their_way += 1
        return task

    def settled(self) -> Iterator[None]:
        """Nothing until all tasks handed out so far have come to their ends."""
        while self._on_their_way:
            yield None

    def rest(self, task: Task, index: int) -> Task | None:
        """What is left of a task whose worker died at an item."""
        rest = task.beyond(index)
        self._on_their_way -= rest is None
        return rest

    def suspect(self, suspicion: Suspicion) -> None:
        self.state.blamed[suspicion.blame] += 1
        self.triage.suspect(suspicion)

    def record(self, task: Task, answer: dict[str, Any]) -> None:
        """A task's counts, into the state and the store."""
        self._on_their_way -= 1
        counts = {outcome: count for outcome, count in zip(RANK, answer["counts"]) if count}
        reasons: Counter[str] = Counter()
        for row in answer["rows"]:
            reasons.update(row.get("reasons", {}))
        state = self.state
        state.counts.update(counts)
        state.reasons.update(reasons)
        state.extra.update(answer.get("extra", {}))
        state.done += task.count - task.start
        state.cpu += answer["cpu"]
        self.store.add_batch(self.number, self._batches, self.config.source, counts, reasons, {}, answer["cpu"], answer.get("rules", ()))
        self._batches += 1
