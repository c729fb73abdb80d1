"""A stored campaign on another release: its findings are asked for one by one, its corpus is run again, and both are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, Session, session
from gradfuzz.engine.survey import Death, State, Suspicion, Task, Watcher
from gradfuzz.errors import ProgramError, StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.releases import ask
from gradfuzz.oracles.verdict import CRASH, RANK, TIMEOUT
from gradfuzz.program import from_json
from gradfuzz.seeds.files import known_here, seeds_of_lines
from gradfuzz.seeds.seed import Seed
from gradfuzz.store import Records
from gradfuzz.surveys.depth import Depths
from gradfuzz.surveys.profiles import chosen
from gradfuzz.worker.depth import Depth

SOURCE = "replay"


def stored(path: Path, target: str, number: int | None, modules: tuple[str, ...]) -> tuple[list[Seed], list[Finding]]:
    """The corpus and the confirmed findings of a campaign, the last one that kept a corpus where none is named. All pass the gate."""
    with Records(path) as store:
        rows = [row for row in store.campaigns() if row["target"] == target and (number is None or row["id"] == number)]
        if not rows:
            raise StoreError(f"{path} holds no campaign{f' {number}' if number is not None else ''} on {target}")
        kept = next((row for row in reversed(rows) if store.corpus(row["id"])), rows[-1])
        lines, findings = store.corpus(kept["id"]), store.findings(kept["id"])
    for finding in findings:
        if not set(finding.modules) <= set(modules):
            raise StoreError(f"{finding.id} calls {', '.join(finding.modules)}; to run it, lend that with --module")
    return seeds_of_lines(lines, target, modules, f"the corpus of {path}"), findings


def run_replay(config: Config, seeds: list[Seed], findings: list[Finding], each: int, store_path: Path, watcher: Watcher) -> Replayed:
    """Ask for every finding, then run every seed of the corpus and some mutants of it; returns how it ended."""
    config = replace(config, source=SOURCE)
    with session(config, store_path, watcher) as opened:
        here = known_here(opened.pool, seeds, watcher.say) if seeds else []
        store = opened.begin()
        watcher.say(f"{config.launch.target} {opened.pool.version}: {len(findings)} findings, {len(here)} of {len(seeds)} seeds run here")
        answers: dict[str, tuple[str, str]] = {}
        asked = State("findings", planned=len(findings))
        for finding in findings:
            try:
                answers[finding.id] = ask(opened.pool, finding)
            except ProgramError as error:  # a stranger's Program that does not pass the gate
                watcher.say(f"{finding.id} is left out: {error}")
                continue
            store.release_said(finding.id, opened.pool.version, answers[finding.id][0])
            asked.done += 1
            asked.counts[answers[finding.id][0]] += 1
            watcher.tick(asked)
        state = State("mutants", deadline=opened.deadline, planned=len(here) * each)
        engine = Engine(opened, state)
        return Replayed(opened.pool.version, answers, engine.run(Replay(opened, engine, here, each)))


@dataclass(frozen=True)
class Replayed:
    """What a release said: of each finding (and why), and of the corpus."""

    version: str
    answers: dict[str, tuple[str, str]]
    state: State


class Replay:
    """A task a seed: the seed itself and a few mutants."""

    def __init__(self, opened: Session, engine: Engine, seeds: list[Seed], each: int) -> None:
        assert opened.store is not None and engine.triage is not None
        self.config, self.store, self.number, self.triage = opened.config, opened.store, opened.number, engine.triage
        self.state, self.seeds, self.each = engine.state, seeds, each
        config, pool = opened.config, opened.pool
        choice = chosen(config.launch.target, config.profile, config.ways).only(pool.ways)
        self.depths = Depths(config.order, config.scenarios, config.seed, choice, pool.family, config.device)

    def tasks(self) -> Iterator[Task | None]:
        for number, seed in enumerate(self.seeds):
            funcs = [call.func for call in from_json(seed.program).calls()]
            fields = {
                "api": seed.api, "program": seed.program, "rng": f"{SOURCE}:{self.config.seed}:{number}", "weights": {}, "told": 0,
                "depth": self.depths.batch(number, funcs, glance=self.each == 1).to_json(), "cover": None,
            }  # fmt: skip
            yield Task("batch", fields, self.each, number=number)

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        self.triage.suspect(suspicion)

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        seed, depth = self.seeds[task.number], Depth.from_json(task.fields["depth"])
        options = depth.options(index, Counter())
        self.triage.bury(Death(seed.api, from_json(seed.program), cause, options, task.fields["rng"], index, {}, depth.family))
        self._record(task, {TIMEOUT if cause == TIMEOUT else CRASH: 1}, {}, {}, 0.0, ())
        return None  # the rest of them are mutants of what kills its process

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        counts = {outcome: count for outcome, count in zip(RANK, answer["counts"]) if count}
        self._record(task, counts, answer["reasons"], answer["refusals"], answer["cpu"], answer["rules"])

    def _record(self, task: Task, counts: dict[str, int], reasons: Any, refusals: Any, cpu: float, rules: Any) -> None:
        self.store.add_batch(self.number, task.number, self.seeds[task.number].api, counts, reasons, refusals, cpu, rules, None, task.count)
        self.state.counts.update(counts)
        self.state.done += sum(counts.values())
        self.state.cpu += cpu
        self.state.rules.update(rules)
