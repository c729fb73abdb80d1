"""Post-mortems: which scenario of a mutant kills its worker, found by running them one by one, and how small it can be made.

Each try costs a process, and a hang costs its whole time limit, so this is done on the side: in a thread, with a worker of its own.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.confirm import Confirmed, without_tables
from gradfuzz.findings.inside.shrink import shrink_edits, shrink_program
from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import CRASH, MEMORY, TIMEOUT, Verdict
from gradfuzz.pool.executor import Apart, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.program import Language, Program, from_json, gate, to_json
from gradfuzz.targets.base.refusals import symptom_of
from gradfuzz.targets.base.scenario import DIRECT, Scenario, nestings

CRASH_PROBES = 60
# Of the time that workers spend, what post-mortems may take beside it while there is anything else to do, and what they may take at once.
SHARE, AT_ONCE = 0.1, 60.0
END = 10.0  # seconds that its processes have to end


@dataclass(frozen=True)
class Death:
    """A worker died on the index-th mutant of a seed, drawn from `rng`; on the seed itself where there is none."""

    api: str
    seed: Program
    cause: str
    options: Options
    rng: str = ""
    index: int = 0
    weights: dict[str, float] = field(default_factory=dict)
    family: int = 0  # how large the families were; 0: as the target says
    cover: Cover | None = None  # what was known of the seed's design, where the batch had one

    @property
    def key(self) -> str:
        return f"{self.api}|{self.cause}"

    def check(self, language: Language) -> Death:
        """The death itself; ProgramError if it does not pass the gate: it may have lain in somebody else's store."""
        gate.check_api(self.api, language)
        gate.check(self.seed, language)
        return self

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "seed": to_json(self.seed), "options": self.options.to_json(),
                "cover": None if self.cover is None else self.cover.to_json()}  # fmt: skip

    @staticmethod
    def from_json(data: dict[str, Any]) -> Death:
        return Death(
            str(data["api"]), from_json(data["seed"]), str(data["cause"]), Options.from_json(data["options"]), str(data["rng"]),
            int(data["index"]), {str(name): float(chance) for name, chance in data["weights"].items()}, int(data.get("family", 0)),
            None if data.get("cover") is None else Cover.from_json(data["cover"]),
        )  # fmt: skip


class DeathDesk:
    """Takes deaths, gives what was found out about them. Nothing here touches the store, and nobody waits for it.

    Hangs come last: each of them costs its time limit more than once.
    """

    def __init__(self, executor: Executor, shrink_seconds: float, written: Callable[[str, Confirmed, bool], Finding]) -> None:
        """`written`: a finding with its script, of an API and what was seen."""
        self.executor, self.shrink_seconds, self._written = executor, shrink_seconds, written
        self.finished: queue.Queue[tuple[Death, Finding]] = queue.Queue()
        self.closed = False  # no more comes from here: it was told so, or its worker cannot be had
        self.at: tuple[Death, float] | None = None  # what it looks into, and since when
        self._waiting: list[Death] = []
        self._news = threading.Condition()
        self._allowed, self._over = AT_ONCE, False
        self._thread: threading.Thread | None = None
        self._apart: Apart | None = None

    @property
    def cpu(self) -> float:
        """Seconds of the processor that its worker has spent."""
        return sum(list(self._apart.cpu.values())) if self._apart is not None else 0.0

    def take(self, death: Death) -> None:
        with self._news:
            self._waiting.append(death)
            self._news.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def allow(self, spent: float) -> None:
        """Workers have spent so many seconds by now; without an end where there is nothing else to do."""
        with self._news:
            self._allowed = max(self._allowed, SHARE * spent)
            self._news.notify()

    def close(self) -> None:
        with self._news:
            self._over = True
            self._news.notify()
        if self._thread is not None and self.at is None:
            self._thread.join(END)  # it takes its processes with it

    def _work(self) -> None:
        with contextlib.suppress(GradfuzzError), self.executor.apart() as apart:  # what is left then waits for --resume
            self._apart = apart
            while (death := self._next()) is not None:
                self.at = (death, time.monotonic())
                self.finished.put((death, self._looked_into(death, apart)))
                self.at = None
        self.closed = True

    def _next(self) -> Death | None:
        """The next death, when there is one and time for it; None at the end."""
        with self._news:
            self._news.wait_for(lambda: self._over or (self._waiting and self.cpu <= self._allowed))
            if self._over:
                return None
            death = min(self._waiting, key=lambda d: d.cause == TIMEOUT)
            self._waiting.remove(death)
            return death

    def _looked_into(self, death: Death, apart: Apart) -> Finding:
        """What a death is; if a scenario by itself dies of it, with what its own script makes of that.

        A scenario that hangs is looked for in haste, since its script waits for the whole time limit in any case. Where that does not
        hang, the scenario was slow and another one hangs: then each has all the time that the mutant had.
        """
        launch = self.executor.launch
        for limit in (launch.haste, launch.timeout) if death.cause == TIMEOUT else (launch.timeout,):
            seen, confirmed = _PostMortem(launch, self.shrink_seconds, apart, death, limit).result()
            finding = self._written(death.api, seen, confirmed)
            if confirmed:
                finding = finding.shown_by(*apart.alone(finding.script))
            if finding.confirmed or not confirmed:
                break
        return finding


class _PostMortem:
    """One death looked into."""

    def __init__(self, launch: Launch, shrink_seconds: float, apart: Apart, death: Death, limit: float) -> None:
        """`limit`: seconds that a scenario may take; one that takes longer hangs."""
        self.launch, self.shrink_seconds, self.apart, self.death, self.limit = launch, shrink_seconds, apart, death, limit

    def result(self) -> tuple[Confirmed, bool]:
        """What the death is, and whether a scenario by itself dies of it again."""
        edits = self._edits()
        program = apply_all(self.death.seed, edits)
        scenario = next((s for s in self._suspects() if self._dies(program, s)), None)
        cause = self.death.cause
        kind = cause if cause in (TIMEOUT, MEMORY) else CRASH
        at_fault = scenario or DIRECT
        verdict = Verdict(kind, "process", kind, at_fault.order, [at_fault], cause, "comes back", cause, symptom=symptom_of(cause))
        if scenario is not None and kind == CRASH:  # a hang is not shrunk: each try would cost its whole time limit
            program = self._shrunk(edits, scenario)
        seen = Confirmed(program, tuple(edits), verdict)
        return (seen, False) if scenario is None else (self._told(seen), True)

    def _told(self, seen: Confirmed) -> Confirmed:
        """With what can be known of a death without dying: the rules that its seed leads to, and what docstrings say."""
        said = self.apart.run("documented", api=self.death.api, program=to_json(seen.program)).data
        hidden, documented = (tuple(map(str, said.get(key, ()))) for key in ("hidden", "documented"))
        return replace(seen, rules=self._rules() if seen.edits else (), hidden=hidden, documented=documented)

    def _edits(self) -> list[Edit]:
        death = self.death
        if not death.rng:
            return []
        fields = {key: value for key, value in death.to_json().items() if key in ("rng", "index", "weights", "family", "cover")}
        made = self.apart.run("mutant", program=to_json(death.seed), **fields).data
        return [Edit.from_json(e) for e in made["edits"]]

    def _rules(self) -> tuple[str, ...]:
        """The derivative rules that the seed's calls lead to, where they do not die: of a death nothing else says which operator it is in.

        A seed that was not changed is what dies.
        """
        options = Options(order=1).to_json()
        event = self.apart.run("examine", fresh=True, limit=self.launch.timeout, program=to_json(self.death.seed), options=options)
        return without_tables(event.data.get("rules", ())) if event.kind == "done" else ()

    def _suspects(self) -> Iterator[Scenario]:
        """Every scenario that the mutant was examined in, the simplest first."""
        options = self.death.options
        yield DIRECT
        for order in range(1, options.order + 1):
            yield from (s for s in nestings(order) if options.scenarios is None or s in options.scenarios)
        for way in self.apart.ways if options.ways is None else options.ways:
            yield from (s.in_way(way) for s in (DIRECT, *nestings(1)))
        if options.device:
            yield from (Scenario(s.modes, device=options.device) for s in (DIRECT, *nestings(1), *nestings(2)))

    def _dies(self, program: Program, scenario: Scenario) -> bool:
        event = self.apart.run("scenario", fresh=True, limit=self.limit, program=to_json(program), scenario=scenario.name)
        return event.kind == "died" and event.data["cause"] == self.death.cause

    def _shrunk(self, edits: list[Edit], scenario: Scenario) -> Program:
        tries = 0
        deadline = time.monotonic() + 2 * self.shrink_seconds

        def more() -> bool:
            return tries < CRASH_PROBES and time.monotonic() < deadline

        def shows(program: Program) -> bool:
            nonlocal tries
            tries += 1
            return more() and self._dies(program, scenario)

        kept = shrink_edits(self.death.seed, edits, shows)
        return shrink_program(apply_all(self.death.seed, kept), shows, more)
