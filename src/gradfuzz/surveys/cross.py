"""Functions that two libraries share, at the same inputs: found by name, accepted by value, held against each other by derivative.

Each library is in an interpreter of its own, so any two can be compared. A difference accuses nobody: each library's own referee looks
at it, and where that says nothing the reference is asked. What they find goes the way of every suspicion.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, session
from gradfuzz.engine.survey import State, Suspicion, Task, Watcher
from gradfuzz.findings.triage import Triage
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.cross import Difference, differences, same_values
from gradfuzz.oracles.verdict import CRASH, DISAGREE, INCONCLUSIVE, Verdict
from gradfuzz.pool.executor import Executor
from gradfuzz.program import Language, Program, from_json, to_json
from gradfuzz.program.model import Call, Let, Tensor, Values
from gradfuzz.seeds.seed import Seed
from gradfuzz.targets.base.scenario import nestings
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.wire import unpacked

SOURCE = "cross"
ORDERS = (1, 2)
# Entries of a derivative that are looked at: of small seeds these are all.
ENTRIES = 12
MOST_ELEMENTS = 16
# So many seeds of a function, and so many of the names that it may have elsewhere.
SEEDS_EACH, NAMES_EACH = 2, 3
MEASURE_LIMIT = 60.0
# A difference that shows at one point shows at others: so many of a function and order are settled.
SETTLED_EACH = 2
# Beside the seed's own numbers: ordinary ones of both signs, zeros and ones (ties, special points), both tails, and close to zero.
POINTS = (
    Values("uniform", (-4.0, 4.0), 1), Values("full", (0.0,)), Values("full", (1.0,)), Values("uniform", (15.0, 40.0), 2),
    Values("uniform", (-40.0, -15.0), 3), Values("uniform", (1e-9, 1e-8), 4),
)  # fmt: skip


@dataclass(frozen=True)
class Apart:
    """A point at which derivatives differ: the Program and what was measured, in each of the two."""

    programs: tuple[Program, Program]
    measured: tuple[dict[str, Any], dict[str, Any]]
    difference: Difference


@dataclass
class Pair:
    """A function of ours and its namesake, and what came of comparing them."""

    ours: str
    theirs: str
    points: int = 0  # at which values agreed and derivatives were compared
    entries: int = 0
    apart: int = 0  # points at which the values themselves differ
    differences: list[Apart] = field(default_factory=list)


@dataclass
class Crossed:
    """How it ended."""

    versions: tuple[str, str]
    pairs: list[Pair]
    named: int  # functions of ours for which there was a namesake
    settled: dict[str, State] = field(default_factory=dict)  # by target: what its referee and the reference made of it


def renamed(program: Program, func: str, name: str) -> Program:
    """The Program with its one call of a function called by another name."""

    def other(value: Any) -> Any:
        return Call(name, value.args, value.kwargs) if isinstance(value, Call) and value.func == func else value

    return Program(tuple(Let(s.names, other(s.value)) for s in program.statements))


def simple(seed: Seed) -> Program | None:
    """The seed's Program, if it is one call of a function on a few doubles; None for anything else."""
    program = from_json(seed.program)
    calls, inputs = list(program.calls()), list(program.inputs.values())
    last = program.statements[-1].value
    if len(calls) != 1 or last is not calls[0] or "." not in calls[0].func[1:] or calls[0].func[0] == ".":
        return None
    plain = all(r.dtype == "float64" and r.layout == "contiguous" for r in inputs)
    small = 0 < sum(r.elements for r in inputs) <= MOST_ELEMENTS
    return program if plain and small and any(r.differentiable for r in inputs) else None


def namesakes(api: str, language: Language) -> list[str]:
    """What another library may call a function of this name."""
    name = api.rsplit(".", 1)[-1]
    spaces = [space for space in language.namespaces if not space.endswith("*")]
    return [f"{space}.{name}" for space in spaces if language.refusal(f"{space}.{name}") is None]


def moved(program: Program, values: Values | None) -> Program:
    """The Program at other numbers: every double gets them, each its own."""
    if values is None:
        return program
    changed: dict[str, Tensor] = {}
    for position, (name, recipe) in enumerate(program.inputs.items()):
        if recipe.differentiable and recipe.structure is None:
            seed = None if values.seed is None else values.seed + 10 * position
            changed[name] = replace(recipe, values=replace(values, seed=seed))
    return program.with_inputs(changed)


class Crossing:
    """Finds pairs and compares them."""

    def __init__(self, ours: Executor, theirs: Executor, watcher: Watcher) -> None:
        self.ours, self.theirs, self.watcher = ours, theirs, watcher
        self.language = language_for(theirs.launch.target)

    def candidates(self, seeds: Sequence[Seed], globs: tuple[str, ...]) -> dict[tuple[str, str], list[Program]]:
        """Programs by (name here, name there), of which the other library knows the name. Asked for all at once."""
        found: dict[tuple[str, str], list[Program]] = {}
        for seed in seeds:
            if globs and not any(fnmatchcase(seed.api, glob) for glob in globs):
                continue
            program = simple(seed)
            if program is None:
                continue
            func = next(program.calls()).func
            for name in namesakes(func, self.language):
                rows = found.setdefault((func, name), [])
                if len(rows) < SEEDS_EACH:
                    rows.append(program)
        keys = list(found)
        programs = [to_json(renamed(found[key][0], *key)) for key in keys]
        event = self.theirs.run("vet", programs=programs, start=0, limit=MEASURE_LIMIT)
        refused = {int(index) for index in event.data.get("refused", {})}
        known: dict[tuple[str, str], list[Program]] = {}
        names: Counter[str] = Counter()
        for index, key in enumerate(keys):
            if index not in refused and names[key[0]] < NAMES_EACH:
                names[key[0]] += 1
                known[key] = found[key]
        return known

    def compare(self, key: tuple[str, str], programs: Sequence[Program]) -> Pair | None:
        """The pair; None where the two are not the same function, as far as their values tell at the seeds and elsewhere."""
        pair = Pair(*key)
        for program in programs:
            if not self._same(program, renamed(program, *key)):
                return None
        for program in programs:
            for values in (None, *POINTS):
                here = moved(program, values)
                self._at(pair, here, renamed(here, *key))
        return pair if pair.points else None

    def _same(self, ours: Program, theirs: Program) -> bool:
        a, b = self._measured(self.ours, ours, 1), self._measured(self.theirs, theirs, 1)
        if a is None or b is None or a["random"] or b["random"]:
            return False
        elsewhere = {str(inputs): outputs for inputs, outputs in b["elsewhere"]}
        points = [(a["outputs"], b["outputs"]), *((o, elsewhere[str(i)]) for i, o in a["elsewhere"] if str(i) in elsewhere)]
        return all(same_values([unpacked(o) for o in x], [unpacked(o) for o in y]) for x, y in points)

    def _at(self, pair: Pair, ours: Program, theirs: Program) -> None:
        for order in ORDERS:
            a, b = self._measured(self.ours, ours, order), self._measured(self.theirs, theirs, order)
            if a is None or b is None:
                return
            if not same_values([unpacked(o) for o in a["outputs"]], [unpacked(o) for o in b["outputs"]]):
                pair.apart += 1
                return
            pair.points += order == 1
            pair.entries += len(a["entries"])
            found = differences(a["entries"], b["entries"], order)
            if found:
                if sum(apart.difference.order == order for apart in pair.differences) < SETTLED_EACH:
                    pair.differences.append(Apart((ours, theirs), (a, b), found[0]))
                return

    def _measured(self, pool: Executor, program: Program, order: int) -> dict[str, Any] | None:
        """What a library gives; None where it does not run, or not to its end."""
        names = [s.name for s in nestings(order)]
        event = pool.run("measure", program=to_json(program), scenarios=names, most=ENTRIES, limit=MEASURE_LIMIT)
        return event.data if event.kind == "done" and "entries" in event.data else None


def run_cross(
    ours: Config, theirs: Config, seeds: list[Seed], pools: tuple[Executor, Executor], globs: tuple[str, ...], store: Path, watcher: Watcher
) -> Crossed:
    """Compare whatever the two share, then settle the differences in a campaign of each library's own."""
    crossing = Crossing(*pools, watcher)
    candidates = crossing.candidates(seeds, globs)
    named = len({func for func, _ in candidates})
    watcher.say(f"{named} functions with a namesake, {len(candidates)} names to try")
    state = State("names", planned=len(candidates), deadline=time.monotonic() + ours.seconds if ours.seconds else None)
    pairs: list[Pair] = []
    for key, programs in candidates.items():
        if state.deadline is not None and time.monotonic() > state.deadline:
            break
        state.done += 1
        if any(key[0] == p.ours or key[1] == p.theirs for p in pairs):  # an alias, on one side or the other
            state.counts["alias"] += 1
            continue
        pair = crossing.compare(key, programs)
        if pair is not None:
            pairs.append(pair)
        state.counts["shared" if pair is not None else "another function"] += 1
        watcher.tick(state)
    crossed = Crossed((pools[0].version, pools[1].version), pairs, named)
    for side, config in enumerate((ours, theirs)):
        cases = [apart for pair in pairs for apart in pair.differences]
        if cases:
            crossed.settled[config.launch.target] = _settle(replace(config, source=SOURCE, seconds=None), cases, side, store, watcher)
    return crossed


def _settle(config: Config, cases: list[Apart], side: int, store: Path, watcher: Watcher) -> State:
    """What one of the two has to say to the differences. A campaign of its own, with what becomes of them."""
    with session(config, store, watcher) as opened:
        opened.begin()
        engine = Engine(opened, State("differences", planned=len(cases)))
        assert engine.triage is not None
        for case in cases:
            _examine(opened.pool, engine.triage, case.programs[side], case.measured[side], case.difference.order, engine.state)
            watcher.tick(engine.state)
        return engine.run(Waiting(engine.state))


def _examine(pool: Executor, triage: Triage, program: Program, measured: dict[str, Any], order: int, state: State) -> None:
    """A library's own oracles look at it, strictly; where they find nothing, the reference is asked."""
    options = Options(order, strict=True)
    event = pool.run("examine", program=to_json(program), options=options.to_json(), limit=MEASURE_LIMIT)
    verdicts = [Verdict.from_json(v) for v in event.data.get("verdicts", ())]
    wrong = [v for v in verdicts if v.outcome == DISAGREE]
    for verdict in wrong:
        triage.suspect(Suspicion(program.api, program, (), options, verdict, str(event.data.get("rule", ""))))
    if not wrong:
        triage.wonder(Suspicion(program.api, program, (), options, Verdict(INCONCLUSIVE, SOURCE)), measured)
    state.counts[DISAGREE if wrong else verdicts[-1].outcome if verdicts else CRASH] += 1
    state.done += 1


class Waiting:
    """No tasks: the engine waits for what is suspected to be settled."""

    def __init__(self, state: State) -> None:
        self.state = state

    def tasks(self) -> Iterator[Task | None]:
        return iter(())

    def suspected(self, task: Task, suspicion: Suspicion) -> None: ...

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None: ...

    def answered(self, task: Task, answer: dict[str, Any]) -> None: ...
