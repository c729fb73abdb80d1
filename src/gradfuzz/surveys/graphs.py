"""Random graphs of a target's functions, batch after batch, for as long as asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, Session, session
from gradfuzz.engine.survey import Death, State, Suspicion, Task, Watcher
from gradfuzz.graphs.dialect import dialect
from gradfuzz.graphs.vocabulary import Vocabulary
from gradfuzz.oracles.verdict import CRASH, TIMEOUT
from gradfuzz.pool.executor import Executor
from gradfuzz.seeds.cache import learnt
from gradfuzz.surveys.blamed import Blamed
from gradfuzz.surveys.chains import listed_ops
from gradfuzz.surveys.depth import Depths
from gradfuzz.surveys.profiles import chosen
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.graphs import graph

GRAPHS_PER_TASK = 40


@dataclass(frozen=True)
class GraphPlan:
    """How many graphs, and how large; no size: between 3 and 30 calls, small ones more often."""

    size: int | None = None
    count: int | None = None


def run_graphs(config: Config, plan: GraphPlan, store_path: Path, watcher: Watcher) -> State:
    """Until the time is up or all are done; returns how it ended."""
    config = replace(config, source="graphs")
    dialect(config.launch.target)  # raises for a target without one
    with session(config, store_path, watcher) as opened:
        words = _listed_words(opened.pool, watcher.say)
        opened.begin()
        known = Vocabulary.from_json(words)
        watcher.say(
            f"{config.launch.target} {opened.pool.version}: {len(known.unary)} functions of one tensor, {len(known.binary)} of two, "
            f"{len(known.reductions)} reductions, {len(known.products)} matrix products, {config.workers} workers"
        )
        engine = Engine(opened, State("graphs", deadline=opened.deadline, planned=plan.count))
        return engine.run(Graphs(opened, engine, watcher, plan, words))


def _listed_words(pool: Executor, say: Callable[[str], None]) -> dict[str, Any]:
    """What the target's functions do to shapes and numbers, learnt once per version."""
    ops = [op.to_json() for op in listed_ops(pool, say)]
    return dict(learnt(pool, "words", "what graphs are made of", ("chains", "graphs"), say, ops=ops))


class Graphs(Blamed):
    """A batch of graphs is a seed of chance and a number of them."""

    def __init__(self, opened: Session, engine: Engine, watcher: Watcher, plan: GraphPlan, words: dict[str, Any]) -> None:
        super().__init__(opened, engine)
        self.watcher, self.plan, self.words = watcher, plan, words
        choice = chosen(self.config.launch.target, self.config.profile, self.config.ways).only(opened.pool.ways)
        self.depths = Depths(self.config.order or 1, (), 0, choice, opened.pool.family, self.config.device)

    def tasks(self) -> Iterator[Task | None]:
        number, left = 0, self.plan.count
        while left is None or left > 0:
            count = GRAPHS_PER_TASK if left is None else min(left, GRAPHS_PER_TASK)
            fields = {
                "words": self.words, "rng": f"{self.config.seed}:{number}", "size": self.plan.size,
                "depth": self.depths.graphs(number).to_json(),
            }  # fmt: skip
            yield self.counted(Task("graphs", fields, count, number=number))
            number, left = number + 1, None if left is None else left - count
        yield from self.settled()

    # What to make of an answer -----------------------------------------------------------------------------------------

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        self.suspect(suspicion)

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        self.state.counts[TIMEOUT if cause == TIMEOUT else CRASH] += 1
        self.state.done += index + 1 - task.start
        rng = task.fields["rng"]
        self.watcher.say(f"graph {rng}:{index}: the worker {'did not come back' if cause == TIMEOUT else 'died: ' + cause}")
        program = graph(self.config.launch.target, Vocabulary.from_json(self.words), rng, index, self.plan.size)
        options = Depth.from_json(task.fields["depth"]).options(index, Counter())
        self.triage.bury(Death(program.api, program, cause, options))
        return self.rest(task, index)

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        self.record(task, answer)
