"""Random graphs of a target's functions, batch after batch, for as long as asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.campaign.chains import READ_LIMIT, listed_ops
from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Pool
from gradfuzz.campaign.survey import Listener, Say, Survey, Tally, Task
from gradfuzz.errors import TargetError, WorkerError
from gradfuzz.graphs.build import known_dialects
from gradfuzz.graphs.vocabulary import Vocabulary
from gradfuzz.oracles.check import Options
from gradfuzz.program import to_json
from gradfuzz.seeds.library import cache_folder, fingerprint
from gradfuzz.store import Store
from gradfuzz.worker.graphs import graph

GRAPHS_PER_TASK = 40


@dataclass(frozen=True)
class GraphPlan:
    """How many graphs, and how large; no size: between 3 and 30 calls, small ones more often."""

    size: int | None = None
    count: int | None = None


def run_graphs(config: Config, plan: GraphPlan, store_path: Path, listener: Listener, say: Say) -> Tally:
    """Until the time is up or all are done; returns how it ended."""
    config = replace(config, source="graphs")
    if config.launch.target not in known_dialects():
        raise TargetError(f"there is no dialect of {config.launch.target} for graphs; known: {', '.join(known_dialects())}")
    if store_path.exists():
        Store(store_path, create=False).close()
    say(f"starting {config.launch.target}")
    with Pool(config.launch, config.workers) as pool:
        words = listed_words(pool, say)
        store = Store(store_path, create=True)
        number = store.begin(config.launch.target, pool.version, config.to_json())
        try:
            survey = Survey(config, store, number, pool, listener)
            survey.tally.planned = plan.count or 0
            known = Vocabulary.from_json(words)
            say(
                f"{config.launch.target} {pool.version}: {len(known.unary)} functions of one tensor, {len(known.binary)} of two, "
                f"{len(known.reductions)} reductions, {len(known.products)} matrix products, {config.workers} workers"
            )
            until = time.monotonic() + config.seconds if config.seconds else None
            try:
                deaths = survey.run(_tasks(config, plan, words), until)
                for name, cause in deaths:
                    _report_death(survey, config, plan, known, name, cause)
                store.set_status(number, "finished")
            except KeyboardInterrupt:
                store.set_status(number, "stopped")
            survey.finish()
            return survey.tally
        finally:
            store.close()


def _tasks(config: Config, plan: GraphPlan, words: dict[str, Any]) -> Iterator[Task]:
    batch, left = 0, plan.count
    while left is None or left > 0:
        count = GRAPHS_PER_TASK if left is None else min(left, GRAPHS_PER_TASK)
        rng = f"{config.seed}:{batch}"
        fields = {"words": words, "rng": rng, "count": count, "size": plan.size, "order": config.order or 1}
        yield Task("graphs", fields, [f"{rng}:{index}" for index in range(count)])
        batch, left = batch + 1, None if left is None else left - count


def _report_death(survey: Survey, config: Config, plan: GraphPlan, words: Vocabulary, name: str, cause: str) -> None:
    rng, _, index = name.rpartition(":")
    program = graph(config.launch.target, words, rng, int(index), plan.size)
    survey.report_death(program.api, to_json(program), cause, Options(config.order or 1, None, int(index)).to_json())


def listed_words(pool: Pool, say: Say) -> dict[str, Any]:
    """What the target's functions do to shapes and numbers, learnt once per version."""
    launch = pool.launch
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"words-{launch.target}-{pool.version}-{fingerprint(launch.target, 'chains', 'graphs')}.json"
    if launch.modules or not path.exists():
        ops = listed_ops(pool, say)
        say(f"learning what the functions of {launch.target} {pool.version} do (once per version)")
        event = pool.run("words", ops=[op.to_json() for op in ops], limit=READ_LIMIT, fresh=True)
        if event.kind != "done" or "failed" in event.data:
            raise WorkerError(f"the functions of {launch.target} could not be tried: {event.data.get('failed') or event.data.get('cause')}")
        if launch.modules:
            return dict(event.data["words"])
        part = path.with_suffix(".part")
        part.write_text(json.dumps(event.data["words"]))
        part.replace(path)
    return dict(json.loads(path.read_text()))
