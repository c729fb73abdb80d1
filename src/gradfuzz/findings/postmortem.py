"""Post-mortems: which scenario of a mutant kills its worker, found by running them one by one, and how small it can be made.

Each try costs a process, and a hang costs its whole time limit, so this is done on the side: in a thread, with a worker of its own.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.inside.confirm import Confirmed
from gradfuzz.findings.inside.shrink import shrink_edits, shrink_program
from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import CRASH, MEMORY, TIMEOUT, Verdict
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import Language, Program, from_json, gate, to_json
from gradfuzz.targets.base.refusals import symptom_of
from gradfuzz.targets.base.scenario import DIRECT, Scenario, nestings

SCRIPT_LIMIT = 60.0
CRASH_PROBES = 60


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
    """Takes deaths, gives what was found out about them. Nothing here touches the store."""

    def __init__(self, launch: Launch, shrink_seconds: float) -> None:
        self.launch, self.shrink_seconds = launch, shrink_seconds
        self.finished: queue.Queue[tuple[Death, Confirmed, bool]] = queue.Queue()
        self._waiting: queue.Queue[Death | None] = queue.Queue()
        self._thread: threading.Thread | None = None

    def take(self, death: Death) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._waiting.put(death)

    def close(self) -> None:
        self._waiting.put(None)

    def _work(self) -> None:
        with contextlib.suppress(GradfuzzError), Pool(self.launch, 1) as pool:  # what is left then waits for --resume
            while (death := self._waiting.get()) is not None:
                seen, confirmed = _PostMortem(self.launch, self.shrink_seconds, pool, death).result()
                self.finished.put((death, seen, confirmed))

    def script_alone(self, source: str) -> tuple[bool, str]:
        """Run a script that kills its process, by itself: whether it shows the bug, and what it prints."""
        launch = self.launch
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(source)
            file.flush()
            environment = {**launch.environment(dict(os.environ)), "PYTHONPATH": os.pathsep.join(launch.paths)}
            command = [launch.interpreter(), file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SCRIPT_LIMIT + 2 * launch.timeout, env=environment)
            except subprocess.TimeoutExpired:
                return False, "the script did not come back"
        return done.returncode == 1, (done.stdout + done.stderr)[-4000:]


class _PostMortem:
    """One death looked into."""

    def __init__(self, launch: Launch, shrink_seconds: float, pool: Pool, death: Death) -> None:
        self.launch, self.shrink_seconds, self.pool, self.death = launch, shrink_seconds, pool, death

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
        return Confirmed(program, tuple(edits), verdict), scenario is not None

    def _edits(self) -> list[Edit]:
        death = self.death
        if not death.rng:
            return []
        fields = {key: value for key, value in death.to_json().items() if key in ("rng", "index", "weights", "family", "cover")}
        made = self.pool.run("mutant", program=to_json(death.seed), **fields).data
        return [Edit.from_json(e) for e in made["edits"]]

    def _suspects(self) -> Iterator[Scenario]:
        """Every scenario that the mutant was examined in, the simplest first."""
        options = self.death.options
        yield DIRECT
        for order in range(1, options.order + 1):
            yield from (s for s in nestings(order) if options.scenarios is None or s in options.scenarios)
        for way in self.pool.ways if options.ways is None else options.ways:
            yield from (s.in_way(way) for s in (DIRECT, *nestings(1)))
        if options.device:
            yield from (Scenario(s.modes, device=options.device) for s in (DIRECT, *nestings(1), *nestings(2)))

    def _dies(self, program: Program, scenario: Scenario) -> bool:
        event = self.pool.run("scenario", fresh=True, limit=self.launch.timeout, program=to_json(program), scenario=scenario.name)
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
