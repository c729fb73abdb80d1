"""The sweep over all chains of a target's single-argument ops: first each op alone, then pairs, then deeper."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Pool
from gradfuzz.campaign.survey import Listener, Say, Survey, Tally, Task
from gradfuzz.chains.hazards import Hazards, around
from gradfuzz.chains.ops import Op, choose, program_of
from gradfuzz.chains.sweep import sweep_points
from gradfuzz.errors import GradfuzzError, WorkerError
from gradfuzz.oracles.check import Options
from gradfuzz.program import Tensor, Values, language_for, to_json
from gradfuzz.seeds.library import cache_folder, fingerprint
from gradfuzz.store import Store

CHAINS_PER_TASK = 24
# Looking for ops tells of each function it tries: one that takes this long does not come back.
READ_LIMIT = 60.0
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


def run_chains(config: Config, plan: ChainPlan, store_path: Path, listener: Listener, say: Say) -> Tally:
    """The whole sweep; returns how it ended."""
    config = replace(config, source="chain")
    if store_path.exists():
        Store(store_path, create=False).close()
    say(f"starting {config.launch.target}")
    with Pool(config.launch, config.workers) as pool:
        ops = _ops(config, plan, pool, say)
        points = sweep_points(plan.points, plan.dtype, plan.ordinary)
        store = Store(store_path, create=True)
        number = store.begin(config.launch.target, pool.version, config.to_json())
        try:
            survey = Survey(config, store, number, pool, listener)
            sweep = _Sweep(survey, plan, ops, points)
            chains = sum(_count(len(ops), depth) for depth in range(1, plan.depth + 1))
            survey.tally.planned = chains
            say(
                f"{config.launch.target} {pool.version}: {len(ops)} ops, {chains} chains, {len(points)} points, "
                f"{'gradients of gradients too, ' if plan.gradients else ''}{config.workers} workers"
            )
            try:
                sweep.run()
                store.set_status(number, "finished")
            except KeyboardInterrupt:
                store.set_status(number, "stopped")
            survey.finish()
            return survey.tally
        finally:
            store.close()


def _count(ops: int, depth: int) -> int:
    total = 1
    for k in range(depth):
        total *= max(0, ops - k)
    return total


def _ops(config: Config, plan: ChainPlan, pool: Pool, say: Say) -> list[Op]:
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
        raise GradfuzzError(f"no single-argument op fits {', '.join(plan.ops)}; names look like sin or torch.sin")
    return ops


def listed_ops(pool: Pool, say: Say) -> list[Op]:
    """The target's single-argument ops, looked for once per version."""
    launch = pool.launch
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ops-{launch.target}-{pool.version}-{fingerprint(launch.target, 'chains')}.json"
    if launch.modules or not path.exists():
        say(f"looking for the single-argument ops of {launch.target} {pool.version} (once per version)")
        event = pool.run("ops", limit=READ_LIMIT, fresh=True)
        if event.kind != "done" or "failed" in event.data:
            raise WorkerError(f"the ops of {launch.target} could not be found: {event.data.get('failed') or event.data.get('cause')}")
        if launch.modules:
            return [Op.from_json(op) for op in event.data["ops"]]
        part = path.with_suffix(".part")
        part.write_text(json.dumps(event.data["ops"]))
        part.replace(path)
    return [Op.from_json(op) for op in json.loads(path.read_text())]


class _Sweep:
    """Depth by depth; what the ops alone do to their workers is kept away from the deeper chains."""

    def __init__(self, survey: Survey, plan: ChainPlan, ops: list[Op], points: list[float]) -> None:
        self.survey, self.plan, self.ops, self.points = survey, plan, ops, points
        self.hazards = Hazards()

    def run(self) -> None:
        deaths = self.survey.run(self._tasks(1, 1))
        by_name = {label([op]): op for op in self.ops}
        for name, cause in deaths:
            self._look_into(by_name[name], cause)
        for depth in range(2, self.plan.depth + 1):
            self.survey.run(self._tasks(depth, CHAINS_PER_TASK))

    def _tasks(self, depth: int, size: int) -> Iterator[Task]:
        # Outermost first, as people read them: f(g(x)) for all g, then the next f.
        chains = ([*reversed(chain)] for chain in itertools.permutations(self.ops, depth))
        while batch := list(itertools.islice(chains, size)):
            task = self._task(batch, self.points)
            if depth > 1:
                task.fields["limit"] = PATIENCE * self.survey.config.launch.timeout
            yield task

    def _task(self, chains: list[list[Op]], points: list[float]) -> Task:
        fields: dict[str, Any] = {
            "chains": [[op.to_json() for op in chain] for chain in chains],
            "points": points, "dtype": self.plan.dtype, "order": self.plan.order, "hazards": self.hazards.ranges,
        }  # fmt: skip
        return Task("chains", fields, [label(chain) for chain in chains])

    def _look_into(self, op: Op, cause: str) -> None:
        """At which points an op kills its worker: each alone, with a short limit; then the rest of its sweep."""
        names = {f"{label([op])} at {x:.3e}": x for x in self.points}
        tasks = []
        for name, x in names.items():
            task = self._task([[op]], [x])
            tasks.append(Task(task.do, {**task.fields, "limit": HAZARD_LIMIT}, [name]))
        self.survey.tally.planned += len(tasks)
        bad = [names[name] for name, _ in self.survey.run(tasks)]
        if not bad:
            return
        self.hazards.ranges[op.name] = around(self.points, bad)
        program = program_of([op], Tensor((), self.plan.dtype, Values("full", (bad[0],))))
        self.survey.report_death(program.api, to_json(program), cause, Options(self.plan.order).to_json())


def label(chain: list[Op]) -> str:
    """abs(acos(x)), from ops innermost first."""
    text = "x"
    for op in chain:
        text = f"{op.name}({text})"
    return text
