"""Post-mortems: in which scenario a mutant kills its worker, and how small it can be made.

Each try costs a process, and a hang costs its whole time limit, so this is done on the side: in a thread, with a worker of its own.
"""

from __future__ import annotations

import os
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any

from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Pool
from gradfuzz.findings.document import make_document
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.mutate.shrink import shrink_edits, shrink_program
from gradfuzz.program import Program, from_json, to_json
from gradfuzz.seeds.library import Seed

SCRIPT_LIMIT = 60.0
CRASH_PROBES = 60


@dataclass
class Death:
    """A worker died on a mutant of a seed."""

    seed: Seed
    job: dict[str, Any]
    index: int
    cause: str


class DeathDesk:
    """Takes deaths, gives documents. Nothing here touches the store."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.finished: queue.Queue[tuple[Death, dict[str, Any]]] = queue.Queue()
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
        with Pool(self.config.launch, 1) as pool:
            while (death := self._waiting.get()) is not None:
                self.finished.put((death, _PostMortem(self.config, pool, death).document()))


class _PostMortem:
    """One death looked into."""

    def __init__(self, config: Config, pool: Pool, death: Death) -> None:
        self.config, self.pool, self.death = config, pool, death
        options = death.job["options"]
        self.options = {**options, "salt": options["salt"] + death.index}

    def document(self) -> dict[str, Any]:
        death, launch = self.death, self.config.launch
        made = self.pool.run(
            "mutant", program=death.job["program"], rng=death.job["rng"], index=death.index, weights=death.job.get("weights")
        ).data
        scenario = self._scenario_at_fault(made["program"])
        kind = death.cause if death.cause in ("timeout", "memory") else "crash"
        verdict = {
            "outcome": kind, "oracle": "process", "kind": kind, "order": 1 + scenario.count("-over-") if scenario else 0,
            "scenarios": [scenario or "direct"], "reason": death.cause, "expected": "comes back", "actual": death.cause,
            "error_bar": None, "detail": {},
        }  # fmt: skip
        if scenario == "direct":
            verdict["order"] = 0
        program = made["program"]
        if scenario is not None and kind == "crash":
            program = self._shrunk(made["edits"], scenario)
        answer = {
            "confirmed": scenario is not None, "program": program, "edits": made["edits"], "verdict": verdict, "limit": launch.timeout,
        }  # fmt: skip
        document = make_document(launch.target, self.pool.version, death.seed.api, answer, launch.modules)
        return {**document, **self._script_alone(document)} if document["confirmed"] else document

    def _scenario_at_fault(self, program: dict[str, Any]) -> str | None:
        """The first scenario that dies of the same cause; None if none does."""
        for names in ([], ["reverse"], ["forward"], None):
            if self._dies(program, names):
                return names[0] if names else "direct" if names == [] else "reverse-over-reverse"
        return None

    def _dies(self, program: dict[str, Any], scenarios: list[str] | None) -> bool:
        options = {**self.options, "scenarios": scenarios}
        event = self.pool.run("examine", fresh=True, limit=self.config.launch.timeout, program=program, options=options)
        return event.kind == "died" and event.data["cause"] == self.death.cause

    def _shrunk(self, edits: list[Any], scenario: str) -> dict[str, Any]:
        tries = 0
        only = [] if scenario == "direct" else [scenario]
        deadline = time.monotonic() + 2 * self.config.shrink_seconds

        def more() -> bool:
            return tries < CRASH_PROBES and time.monotonic() < deadline

        def shows(program: Program) -> bool:
            nonlocal tries
            tries += 1
            return more() and self._dies(to_json(program), only)

        original = from_json(self.death.seed.program)
        kept = shrink_edits(original, [Edit.from_json(e) for e in edits], shows)
        return to_json(shrink_program(apply_all(original, kept), shows, more))

    def _script_alone(self, document: dict[str, Any]) -> dict[str, Any]:
        """Run a reproducer that kills its process, by itself."""
        launch = self.config.launch
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(document["reproducer"])
            file.flush()
            environment = {**launch.environment(dict(os.environ)), "PYTHONPATH": os.pathsep.join(launch.paths)}
            command = [launch.interpreter(), file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SCRIPT_LIMIT + 2 * launch.timeout, env=environment)
            except subprocess.TimeoutExpired:
                return {"confirmed": False, "script_output": "the script did not come back"}
        return {"confirmed": done.returncode == 1, "script_output": (done.stdout + done.stderr)[-4000:]}
