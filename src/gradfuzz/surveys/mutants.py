"""A campaign: mutants of many seeds, batch after batch, taken in by number so that the same seed finds the same things."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gradfuzz.bugs.names import names_of
from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, Session, session
from gradfuzz.engine.survey import Death, State, Suspicion, Task, Watcher
from gradfuzz.errors import ProgramError, StoreError, TargetError
from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import CRASH, GRADIENT, INCONCLUSIVE, MISTAKE, NONFINITE, RANK, TIMEOUT, Verdict
from gradfuzz.pool.executor import Executor
from gradfuzz.program import Program, from_json, gate, parse, to_json
from gradfuzz.seeds.files import file_seeds
from gradfuzz.seeds.gather import choose, gather, signature_seeds
from gradfuzz.seeds.library import Parts, Reading
from gradfuzz.seeds.seed import Seed
from gradfuzz.store import Lesson, Records
from gradfuzz.store.folding import FOLDED
from gradfuzz.store.reading import BatchRow
from gradfuzz.surveys.batches import ROUND, Batch, round_for
from gradfuzz.surveys.depth import Depths
from gradfuzz.surveys.profiles import basics, chosen
from gradfuzz.surveys.schedule import Schedule
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.seeds import SHARDS
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.depth import Depth

# An API that has taken so many workers down, in this batch and in those that the schedule has learnt from, takes more: a death ends
# the batch. What other batches of the same round do must not matter, since it depends on which worker is faster.
DEATHS = 3
# The job that reads a shard of the seeds, and more APIs than one has.
READ = "seeds"
GROWN = "mutant"  # where a seed comes from that was one
BASIC = "basic"  # and one of what programs are made of
MOST_APIS = 10**9
# Batches are taken in by number; while one hangs, so many others may run ahead of it.
AHEAD = 512
# With many workers one that takes its time would soon hold up all others. What they say meanwhile is kept: some kilobytes a batch.
AHEAD_OF_EACH, MOST_AHEAD = 64, 100_000


def run_mutants(config: Config, store_path: Path, resume: bool, watcher: Watcher) -> State:
    """Run (or go on with) a campaign; returns how it ended. Nothing is written if it cannot start."""
    number = None
    if resume:
        number, config = _resumed(store_path, config)
    launch = config.launch
    given = [seed for name in config.seed_files for seed in file_seeds(Path(name), launch.target, launch.modules)]
    with session(config, store_path, watcher, number) as opened:
        # What people asked for must be there before anything is written; else a campaign begins with the first seeds.
        plain = not (given or config.apis or config.signatures)
        seeds = Reading(opened.pool, watcher.say) if plain else Parts([_seeds(config, given, opened.pool, watcher)])
        if not opened.config.round:
            opened.config = replace(opened.config, round=ROUND if resume else round_for(opened.pool.size))
        store = opened.begin()
        state = State("mutants", deadline=opened.deadline, planned=config.mutants)
        engine = Engine(opened, state)
        survey = Mutants(opened, engine, seeds)
        if store.unreadable:
            watcher.say(f"{store.unreadable} rows of {store_path} could not be read; what they held is done again or missing")
        return engine.run(survey)


def _seeds(config: Config, given: list[Seed], pool: Executor, watcher: Watcher) -> list[Seed]:
    found = gather(pool, given, watcher.say, config.samples)
    found += signature_seeds(pool, config.signatures, {s.api for s in found}, watcher.say)
    return choose(found, config.apis)


def _resumed(path: Path, config: Config) -> tuple[int, Config]:
    """The stored campaign's number, and the settings to go on with."""
    with Records(path) as store:
        last = store.campaign()
    if last is None:
        raise StoreError(f"{path} holds no campaign to resume; leave --resume out to start one")
    if last["target"] != config.launch.target:
        raise StoreError(f"the last campaign in {path} is on {last['target']}, not {config.launch.target}")
    going_on = config.going_on_with(last["config"], path)
    if going_on.source != config.source:
        raise StoreError(f"the last campaign in {path} is `gradfuzz {going_on.source}`; run that command again instead")
    return int(last["id"]), going_on


@dataclass
class Running:
    """A batch on its way: what its workers have said so far."""

    batch: Batch
    depth: Depth
    before: BatchRow | None = None  # what an earlier run did of it
    deaths: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * len(RANK))
    reasons: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0
    features: set[str] = field(default_factory=set)
    edits: dict[str, list[int]] = field(default_factory=dict)
    cover: Cover = field(default_factory=Cover)
    grown: list[list[Any]] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)
    ways: set[str] = field(default_factory=set)  # in which a derivative was had
    questions: list[dict[str, Any]] = field(default_factory=list)  # for the reference, where nothing is suspected
    reports: list[Suspicion | Death] = field(default_factory=list)  # in the order of the mutants
    finished: bool = False

    @property
    def astray(self) -> bool:
        """Whether the seed itself, as it is, has a wrong first derivative."""
        if self.batch.dtype:
            return False
        told = [report for report in self.reports if isinstance(report, Suspicion) and not report.edits]
        return any(report.verdict.order == 1 and report.verdict.kind in (GRADIENT, NONFINITE) for report in told)


class Mutants:
    """Says which batch is next, and takes in what the batches say in the order of their numbers. Seeds are read on the way."""

    def __init__(self, opened: Session, engine: Engine, reading: Parts) -> None:
        assert opened.store is not None and engine.triage is not None
        self.config, self.store, self.number, self.triage = opened.config, opened.store, opened.number, engine.triage
        self.state, self.watcher = engine.state, opened.watcher
        self.seeds: list[Seed] = []
        config, pool = opened.config, opened.pool
        self.pool = pool
        choice = chosen(config.launch.target, config.profile, config.ways).only(pool.ways)
        self.depths = Depths(config.order, config.scenarios, config.seed, choice, pool.family, config.device)
        self.schedule = Schedule([], config.seed, pool.family, self.depths.sweeps, last=False, shard=config.shard,
            size=config.round or ROUND, names=names_of(config.launch.target), dear=self.depths.sweeps_dearly,
            seldom=len(self.depths.seldom),
        )  # fmt: skip
        self.reading = reading
        self.language = language_for(config.launch.target, config.launch.modules)
        self._programs: dict[int, Program] = {}  # of seeds, as far as they were needed
        self._known_parts = 0  # of the seeds: those that the schedule knows
        self._grown_seeds = 0  # mutants that became seeds
        self._past = {row.api: row.lesson for number, row in self.store.finished_batches(self.number).items() if number >= FOLDED}
        self._grow()
        self.planned = 0  # mutants in the batches handed out so far
        self.done_before = self.store.finished_batches(self.number)
        self.running: dict[int, Running] = {}
        self.next_number = 0
        self.next_to_take = 0
        self._remember()

    def _remember(self) -> None:
        """On resume: count what was done."""
        for outcome, count in self.store.totals(self.number)["counts"].items():
            self._count(outcome, count)
        self.state.before = self.state.done
        self.state.rules.update(self.store.rules(self.number))
        self.state.existing = {rule for rule, reason in self.store.existing_rules(self.number).items() if not reason}
        self.state.findings.extend(self.store.findings(self.number))

    # What to run next --------------------------------------------------------------------------------------------------

    def tasks(self) -> Iterator[Task | None]:
        while not self._all_planned():
            batch = self.schedule.batch(self.next_number) if len(self.running) < self._ahead() else None
            if batch is None:
                yield self._to_read()  # nothing: the round before the last one is not done yet
                continue
            if batch.elsewhere or (batch.dtype and self._seed(batch) == self._program(batch.seed_index)):
                self.running[batch.number] = Running(replace(batch, elsewhere=True), Depth(), finished=True)
                self.next_number += 1
                self._take()
                continue
            self.seeds += [self._grown(api, program) for api, program in self.schedule.grown[self._grown_seeds :]]
            self._grown_seeds = len(self.schedule.grown)
            before = self.done_before.get(batch.number)
            done = None if before is None else batch.count if before.until is None else min(before.until, batch.count)
            if self.config.mutants is not None:
                batch = replace(batch, count=max(done or 0, min(batch.count, batch.start + self.config.mutants - self.planned)))
            self.planned += batch.mutants
            self.next_number += 1
            running = self.running[batch.number] = Running(batch, self._depth(batch), before)
            running.finished = done == batch.count
            if running.finished:
                self._take()
            else:
                yield self._task(running)

    def _ahead(self) -> int:
        return max(AHEAD, min(AHEAD_OF_EACH * self.pool.size, MOST_AHEAD))

    def _all_planned(self) -> bool:
        return (self.config.mutants is not None and self.planned >= self.config.mutants) or self.schedule.over(self.next_number)

    def _to_read(self) -> Task | None:
        """The next shard of seeds, if a worker is free for it: batches of the seeds that are there go first."""
        free = not self.pool.jobs.waiting and self.reading.under_way < self.pool.size
        shard = self.reading.next() if free else None
        return None if shard is None else self._read(shard)

    def _read(self, shard: int, start: int = 0) -> Task:
        assert isinstance(self.reading, Reading)
        return Task(READ, self.reading.fields(shard), MOST_APIS, start, shard)

    def _grow(self) -> None:
        """Tell the schedule of the seeds that have come."""
        parts, whole = self.reading.parts, self.reading.complete
        while self._known_parts < len(parts):
            part, ruled = parts[self._known_parts], self.reading.ruled[self._known_parts]
            self._known_parts += 1
            last = whole and self._known_parts == len(parts)
            basic = self._basic() if last else []
            new = [*part, *basic]
            self.seeds += new
            self.schedule.grow([s.api for s in new], last, ruled, len(basic), [s.form for s in new], [s.words for s in new])
        self.state.apis = len({s.api for s in self.seeds if self.config.shard.has(s.api)})
        self.state.unread = self.reading.missing / SHARDS
        if whole:
            if not self.seeds:
                raise TargetError("there are no seeds to start from: the library offers none")
            self.schedule.remember(self._past)
            self.store.keep_corpus(self.number, [vars(seed) for seed in self.seeds])
            shard = f" (shard {self.config.shard})" if self.config.shard.of > 1 else ""
            what = f"{len(self.seeds)} seeds, {self.state.apis} APIs{shard}, {self.pool.size} workers"
            self.watcher.say(f"{self.config.launch.target} {self.pool.version}: {what}")

    def _basic(self) -> list[Seed]:
        """What programs are made of, for ways that hardly ever have a turn; nothing where somebody asked for certain APIs."""
        found = []
        for text in basics(self.config.launch.target) if self.depths.seldom and isinstance(self.reading, Reading) else ():
            with contextlib.suppress(ProgramError):  # this release has no such function
                program = parse(text, self.language)
                found.append(Seed([*program.calls()][-1].func, BASIC, to_json(program)))
        return found

    def _grown(self, api: str, program: Any) -> Seed:
        """A mutant as a seed. On resume it comes from the store, which is data, perhaps a stranger's."""
        try:
            gate.check(from_json(program), self.language)
        except ProgramError as error:
            raise StoreError(f"the store holds a seed of {api} that cannot be one ({error}); leave --resume out") from None
        return Seed(api, GROWN, program)

    def _program(self, seed_index: int) -> Program:
        if seed_index not in self._programs:
            self._programs[seed_index] = from_json(self.seeds[seed_index].program)
        return self._programs[seed_index]

    def _seed(self, batch: Batch) -> Program:
        """What the batch's mutants are made of: the seed, in another type where the plan says so."""
        program = self._program(batch.seed_index)
        return apply_all(program, [Edit("dtypes", None, batch.dtype)]) if batch.dtype else program

    def _depth(self, batch: Batch) -> Depth:
        funcs = [call.func for call in self._program(batch.seed_index).calls()] if self.depths.choice.ways else []
        designed = batch.cover is not None
        depth = self.depths.batch(
            batch.number, funcs, batch.shown, batch.deep, batch.glance, batch.swept, designed, batch.dear, batch.seldom
        )  # fmt: skip
        return replace(depth, families=batch.families)

    def _task(self, running: Running) -> Task:
        batch, seed = running.batch, self.seeds[running.batch.seed_index]
        # A batch that was cut short is run again from its beginning, since a mutant is examined in the light of those before it in the
        # batch; what was told of them then is not told again.
        told = 0 if running.before is None else running.before.until
        fields = {
            "api": seed.api, "program": to_json(self._seed(batch)) if batch.dtype else seed.program, "rng": batch.rng,
            "weights": dict(batch.weights), "depth": running.depth.to_json(), "told": told, "number": batch.number,
            "cover": None if batch.cover is None else batch.cover.to_json(), "limit": self.config.launch.haste if batch.hangs else None,
            "familiar": list(batch.familiar),
        }  # fmt: skip
        return Task("batch", fields, batch.count, batch.start, batch.number)

    # What to make of an answer -----------------------------------------------------------------------------------------

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        self.running[task.number].reports.append(suspicion)

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        """The mutant at which a worker died is a finding; the batch goes on behind it. So does the reading of seeds."""
        if task.do == READ:
            assert isinstance(self.reading, Reading)
            self.reading.died(task.number, cause)
            return self._read(task.number, index + 1)
        running = self.running[task.number]
        batch, seed = running.batch, self.seeds[running.batch.seed_index]
        for position, count in enumerate(counts):
            running.counts[position] += count
        running.counts[RANK.index(TIMEOUT if cause == TIMEOUT else CRASH)] += 1
        options = running.depth.options(index, Counter(), alone=True)  # as deep as it may have been
        if index >= task.fields["told"]:
            drawn = (batch.rng, index, dict(batch.weights), running.depth.family, batch.cover)
            running.reports.append(Death(seed.api, self._seed(batch), cause, options, *drawn))
        running.deaths += 1
        if cause == TIMEOUT:
            task = replace(task, fields={**task.fields, "limit": self.config.launch.haste})
        # What the mutants so far have taught is said by a worker that examines the others, or none where too many were deadly.
        return replace(task, start=index + 1, count=task.count if running.deaths + batch.deaths < DEATHS else min(index + 1, task.count))

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        if task.do == READ:
            assert isinstance(self.reading, Reading)
            self.reading.read(task.number)
            self._grow()
            return
        running = self.running[task.number]
        for position, count in enumerate(answer["counts"]):
            running.counts[position] += count
        running.reasons.update(answer["reasons"])
        running.refusals.update(answer["refusals"])
        running.cpu += answer["cpu"]
        running.rules.update(answer["rules"])
        running.ways.update(answer["ways"])
        running.questions.extend(answer["questions"])
        running.features.update(answer["features"])
        running.grown.extend(answer["grown"])
        running.cover |= Cover.from_json(answer["cover"])
        for name, (tried, valid) in answer["edits"].items():
            total = running.edits.setdefault(name, [0, 0])
            total[0] += tried
            total[1] += valid
        running.finished = True
        self._take()

    def _take(self) -> None:
        """Take in finished batches in the order of their numbers, so that the same campaign finds the same things."""
        while (running := self.running.get(self.next_to_take)) is not None and running.finished:
            del self.running[self.next_to_take]
            before = running.before
            self.state.turns, self.state.turns_had = self.schedule.turns, self.state.turns_had + running.batch.turn
            if running.batch.elsewhere:
                self.schedule.learn(running.batch, Lesson())
            elif before is not None and before.until in (None, running.batch.count):
                self.schedule.learn(running.batch, before.lesson)
                self.state.looked.add(self.seeds[running.batch.seed_index].api)
            else:
                with self.store.transaction():  # a batch counts with all that it told, or not at all
                    self._record(running)
            self.next_to_take += 1

    def _record(self, running: Running) -> None:
        before = running.before
        self.state.looked.add(self.seeds[running.batch.seed_index].api)
        keys, orders = (set(before.lesson.findings), set(before.lesson.orders)) if before is not None else (set(), set())
        for report in running.reports:
            if isinstance(report, Death):
                keys.add(self.triage.bury(report))
            else:
                keys.add(self.triage.suspect(report))
                orders.add(report.verdict.order)
        astray = (before is not None and before.lesson.astray) or running.astray
        seed = self.seeds[running.batch.seed_index]
        for question in running.questions:
            options, edits = Options.from_json(question["options"]), tuple(Edit.from_json(e) for e in question["edits"])
            scenarios = [Scenario.named(name) for name in question["scenarios"]]
            verdict = Verdict(INCONCLUSIVE, "reference", scenarios=scenarios, detail={"far": str(question.get("far", ""))})
            self.triage.wonder(Suspicion(seed.api, self._seed(running.batch), edits, options, verdict), question["measured"])
        counts = {outcome: count for outcome, count in zip(RANK, running.counts) if count}
        cover = None if running.batch.cover is None or running.batch.aside else running.cover
        told = Lesson(sorted(running.features), running.edits, sorted(keys), sorted(orders), running.deaths, cover, running.grown, astray)
        lesson = self.schedule.learn(running.batch, told)
        self.store.add_batch(
            self.number, running.batch.number, seed.api, counts, running.reasons, running.refusals, running.cpu, running.rules, lesson,
            running.batch.count, running.ways,
        )  # fmt: skip
        for outcome, count in (before.counts if before is not None else {}).items():
            self._count(outcome, -count)
        for outcome, count in counts.items():
            self._count(outcome, count)
        self.state.mistakes.update({name: n for name, n in running.reasons.items() if name.startswith(MISTAKE)})
        self.state.cpu += running.cpu
        self.triage.inquiries.earn(running.cpu)
        self.state.rules.update(running.rules)

    def _count(self, outcome: str, count: int) -> None:
        self.state.counts[outcome] += count
        self.state.done += count
