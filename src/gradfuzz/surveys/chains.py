"""The sweep over all chains of a target's single-argument ops: first each op alone, then pairs, then deeper."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from gradfuzz.chains.hazards import Hazards, around
from gradfuzz.chains.ops import Op, choose, program_of
from gradfuzz.chains.sweep import sweep_points
from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, Session, session
from gradfuzz.engine.survey import Death, State, Suspicion, Task, Watcher
from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.verdict import CRASH, TIMEOUT
from gradfuzz.pool.executor import Executor
from gradfuzz.program import Tensor, Values
from gradfuzz.seeds.cache import learnt
from gradfuzz.surveys.blamed import Blamed
from gradfuzz.surveys.depth import Depths
from gradfuzz.surveys.profiles import NOTHING
from gradfuzz.targets.homes import language_for

Say = Callable[[str], None]

CHAINS_PER_TASK = 24
# A point alone takes milliseconds; one that takes this many seconds is one of those that do not come back.
HAZARD_LIMIT = 3.0
# Where ops do not come back is known when pairs begin; what takes long then is looking at many points.
PATIENCE = 6.0


@dataclass(frozen=True)
class ChainPlan:
    """What is to be swept."""

    depth: int = 2
    gradients: bool = False
    points: int = 20
    dtype: str = "float64"
    ops: tuple[str, ...] = ()
    ordinary: bool = True

    @property
    def order(self) -> int:
        return 2 if self.gradients else 1


class ChainWatcher(Watcher, Protocol):
    """Who also wants to know of every chain."""

    def row(self, name: str, row: dict[str, Any]) -> None: ...


def run_chains(config: Config, plan: ChainPlan, store_path: Path, watcher: ChainWatcher) -> State:
    """The whole sweep; returns how it ended."""
    config = replace(config, source="chain", order=plan.order)
    with session(config, store_path, watcher) as opened:
        ops = _ops(config, plan, opened.pool, watcher.say)
        points = sweep_points(plan.points, plan.dtype, plan.ordinary)
        opened.begin()
        chains = sum(_count(len(ops), depth) for depth in range(1, plan.depth + 1))
        watcher.say(
            f"{config.launch.target} {opened.pool.version}: {len(ops)} ops, {chains} chains, {len(points)} points, "
            f"{'gradients of gradients too, ' if plan.gradients else ''}{config.workers} workers"
        )
        engine = Engine(opened, State("chains", planned=chains))
        return engine.run(Chains(opened, engine, watcher, plan, ops, points))


def _count(ops: int, depth: int) -> int:
    total = 1
    for k in range(depth):
        total *= max(0, ops - k)
    return total


def _ops(config: Config, plan: ChainPlan, pool: Executor, say: Say) -> list[Op]:
    """The ops asked for. A name with its namespace is taken at its word; globs choose among those that were found."""
    language = language_for(config.launch.target, config.launch.modules)
    named = [Op(name) for name in plan.ops if "." in name and not set(name) & set("*?[")]
    for op in named:
        reason = language.refusal(op.func) if not op.func.startswith(".") else None
        if reason:
            raise GradfuzzError(f"--op {op.func}: {reason}")
    globs = [name for name in plan.ops if Op(name) not in named]
    if named and not globs:
        return named
    found = choose(listed_ops(pool, say), globs)
    ops = list(dict.fromkeys([*named, *found]))
    if not ops:
        raise GradfuzzError(f"no single-argument op fits {', '.join(plan.ops)}; names look like sin, or like the library's own in full")
    return ops


def listed_ops(pool: Executor, say: Say) -> list[Op]:
    """The target's single-argument ops, looked for once per version."""
    return [Op.from_json(op) for op in learnt(pool, "ops", "the single-argument ops", ("chains",), say)]


class Chains(Blamed):
    """Depth by depth; what the ops alone do to their workers is kept away from the deeper chains."""

    def __init__(
        self, opened: Session, engine: Engine, watcher: ChainWatcher, plan: ChainPlan, ops: list[Op], points: list[float]
    ) -> None:  # fmt: skip
        super().__init__(opened, engine)
        self.watcher, self.plan, self.ops, self.points = watcher, plan, ops, points
        self.depth = Depths(plan.order, (), opened.config.seed, NOTHING, 1).chains()
        self.hazards = Hazards()
        self._deaths: list[tuple[list[Op], list[float], str]] = []  # chains, the points they were at, causes

    def tasks(self) -> Iterator[Task | None]:
        yield from self._chains(1, 1)
        yield from self.settled()
        for chain, _, cause in self._take_deaths():
            yield from self._look_into(chain[0], cause)
        for depth in range(2, self.plan.depth + 1):
            yield from self._chains(depth, CHAINS_PER_TASK)
        yield from self.settled()

    def _chains(self, depth: int, size: int) -> Iterator[Task]:
        # Outermost first, as people read them: f(g(x)) for all g, then the next f.
        chains = ([*reversed(chain)] for chain in itertools.permutations(self.ops, depth))
        limit = None if depth == 1 else PATIENCE * self.config.launch.timeout
        while batch := list(itertools.islice(chains, size)):
            yield self._task(batch, self.points, limit)

    def _task(self, chains: list[list[Op]], points: list[float], limit: float | None) -> Task:
        fields: dict[str, Any] = {
            "chains": [[op.to_json() for op in chain] for chain in chains], "points": points, "dtype": self.plan.dtype,
            "depth": self.depth.to_json(), "hazards": self.hazards.ranges, "limit": limit,
        }  # fmt: skip
        return self.counted(Task("chains", fields, len(chains)))

    def _look_into(self, op: Op, cause: str) -> Iterator[Task | None]:
        """At which points an op kills its worker: each alone, with a short limit; then the rest of its sweep."""
        self.state.planned = (self.state.planned or 0) + len(self.points)
        for x in self.points:
            yield self._task([[op]], [x], HAZARD_LIMIT)
        yield from self.settled()
        bad = [points[0] for _, points, _ in self._take_deaths()]
        if not bad:
            return
        self.hazards.ranges[op.name] = around(self.points, bad)
        program = program_of([op], Tensor((), self.plan.dtype, Values("full", (bad[0],))))
        self.triage.bury(Death(program.api, program, cause, self.depth.options(0, Counter())))

    def _take_deaths(self) -> list[tuple[list[Op], list[float], str]]:
        taken, self._deaths = self._deaths, []
        return taken

    # What to make of an answer -----------------------------------------------------------------------------------------

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        self.suspect(suspicion)

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        chain = [Op.from_json(op) for op in task.fields["chains"][index]]
        points = task.fields["points"]
        self.state.counts[TIMEOUT if cause == TIMEOUT else CRASH] += 1
        self.state.done += index + 1 - task.start
        self._deaths.append((chain, points, cause))
        where = f" at {points[0]:.3e}" if len(points) == 1 else ""
        self.watcher.say(f"y = {chain_name(chain)}{where}: the worker {'did not come back' if cause == TIMEOUT else 'died: ' + cause}")
        return self.rest(task, index)

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        for row in answer["rows"]:
            self.watcher.row(chain_name([Op.from_json(op) for op in task.fields["chains"][row["index"]]]), row)
        self.record(task, answer)


def chain_name(chain: list[Op]) -> str:
    """abs(acos(x)), from ops innermost first."""
    text = "x"
    for op in chain:
        text = f"{op.name}({text})"
    return text
