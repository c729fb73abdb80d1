"""From suspicion to finding: deduplicate, confirm in a fresh process, shrink, prove by script, store."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Event, Pool
from gradfuzz.findings.document import make_document, with_id
from gradfuzz.findings.key import finding_key
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.mutate.shrink import shrink_edits, shrink_program
from gradfuzz.program import Program, from_json, to_json
from gradfuzz.seeds.library import Seed
from gradfuzz.store import Store

FINISH_LIMIT = 90.0
SCRIPT_LIMIT = 60.0
CRASH_PROBES = 60


class Triage:
    """Every suspicion passes through here once."""

    def __init__(self, config: Config, store: Store, campaign: int, pool: Pool, found: Callable[[dict[str, Any]], None]) -> None:
        self.config, self.store, self.campaign, self.pool, self.found = config, store, campaign, pool, found
        self.known = store.known_keys(campaign)
        self.aliases: dict[str, str] = {}  # a key whose finding turned out to be another's
        self.pending: dict[str, int] = {}  # key -> times met while it waits
        self.deaths: dict[tuple[str, str], str] = {}  # (API, cause) -> key: a death is looked into once
        self.jobs: dict[int, tuple[str, str, dict[str, Any]]] = {}  # job -> (step, key, what is known)

    @property
    def waiting(self) -> int:
        return len(self.pending)

    def take_up(self, suspicions: list[tuple[str, dict[str, Any]]]) -> None:
        """What an earlier run suspected and did not get round to."""
        for key, suspicion in suspicions:
            self._begin(key, suspicion)

    def report(self, seed: Seed, report: dict[str, Any]) -> None:
        """A worker's report on one mutant."""
        if "cause" in report:
            self._crash(seed, report)
            return
        for verdict in report["verdicts"]:
            key = finding_key(seed.api, report["rule"], verdict)
            suspicion = {
                "api": seed.api, "seed": seed.program, "edits": report["edits"], "options": report["options"], "verdict": verdict,
            }  # fmt: skip
            self._meet(key, suspicion)

    def _meet(self, key: str, suspicion: dict[str, Any]) -> None:
        key = self.aliases.get(key, key)
        if key in self.known:
            self.store.met_again(self.campaign, key)
        elif key in self.pending:
            self.pending[key] += 1
        else:
            self.store.suspect(self.campaign, key, suspicion)
            self._begin(key, suspicion)

    def _begin(self, key: str, suspicion: dict[str, Any]) -> None:
        self.pending[key] = 1
        job = self.pool.submit(
            "finish", urgent=True, fresh=True, limit=FINISH_LIMIT, seconds=self.config.shrink_seconds,
            program=suspicion["seed"], edits=suspicion["edits"], options=suspicion["options"], wanted=suspicion["verdict"],
        )  # fmt: skip
        self.jobs[job] = ("finish", key, suspicion)

    def handle(self, event: Event) -> None:
        """An answer to one of our jobs."""
        step, key, known = self.jobs.pop(event.job["id"], ("", "", {}))
        if step == "finish":
            self._finished(key, known, event)
        elif step == "script":
            self._proven(key, known, event)

    def _finished(self, key: str, suspicion: dict[str, Any], event: Event) -> None:
        answer = event.data
        if event.kind == "died" or "failed" in answer or not answer.get("confirmed"):
            answer = {"confirmed": False, "program": _mutant(suspicion), "edits": suspicion["edits"], "verdict": suspicion["verdict"]}
        document = make_document(self.config.launch.target, self.pool.version, suspicion["api"], answer, self.config.launch.modules)
        final = finding_key(suspicion["api"], answer.get("rule", ""), answer["verdict"])
        if final != key and (final in self.known or final in self.pending):
            self._merge(key, final)
        elif document["confirmed"]:
            job = self.pool.submit("script", urgent=True, fresh=True, limit=SCRIPT_LIMIT, source=document["reproducer"])
            self.jobs[job] = ("script", key, document)
        else:
            self._save(key, document)

    def _merge(self, key: str, final: str) -> None:
        """Once shrunk it is the same as another."""
        self.aliases[key] = final
        times = self.pending.pop(key, 1)
        if final in self.known:
            self.store.met_again(self.campaign, final, times)
        else:
            self.pending[final] += times
        self.store.forget_suspicion(self.campaign, key)

    def _proven(self, key: str, document: dict[str, Any], event: Event) -> None:
        """A finding counts once its own script shows it."""
        proven = event.kind == "done" and event.data.get("status") == 1
        output = event.data.get("output", "") or str(event.data.get("failed") or event.data.get("cause") or "")
        self._save(key, {**document, "confirmed": proven, "script_output": output})

    def _save(self, key: str, document: dict[str, Any]) -> None:
        document = with_id(document, key)
        self.store.add_finding(self.campaign, key, document, self.pending.pop(key, 1))
        self.known.add(key)
        if document["confirmed"]:
            self.found(document)

    # Deaths ------------------------------------------------------------------------------------------------------------

    def _crash(self, seed: Seed, report: dict[str, Any]) -> None:
        """A worker died on a mutant. Find out in which scenario, and shrink by trying again and again."""
        job, cause = report["job"], report["cause"]
        if (seed.api, cause) in self.deaths:
            self._meet(self.deaths[seed.api, cause], {})
            return
        made = self.pool.run("mutant", program=job["program"], rng=job["rng"], index=report["index"])
        options = {**job["options"], "salt": job["options"]["salt"] + report["index"]}
        scenario = self._scenario_at_fault(made.data["program"], options, cause)
        kind = cause if cause in ("timeout", "memory") else "crash"
        order = 1 + scenario.count("-over-") if scenario and scenario != "direct" else 0
        verdict = {
            "outcome": kind, "oracle": "process", "kind": kind, "order": order, "scenarios": [scenario or "direct"], "reason": cause,
            "expected": "comes back", "actual": cause, "error_bar": None, "detail": {},
        }  # fmt: skip
        key = self.deaths[seed.api, cause] = finding_key(seed.api, "", verdict)
        if key in self.known or key in self.pending:
            self._meet(key, {})
            return
        answer: dict[str, Any] = {
            "confirmed": scenario is not None,
            "program": made.data["program"],
            "edits": made.data["edits"],
            "verdict": verdict,
        }
        if scenario is not None and kind == "crash":
            answer["program"] = self._shrink_crash(seed, made.data["edits"], options, scenario, cause)
        answer["limit"] = self.config.launch.timeout
        document = make_document(self.config.launch.target, self.pool.version, seed.api, answer, self.config.launch.modules)
        if document["confirmed"]:
            document.update(self._script_alone(document))
        self.pending[key] = 1
        self._save(key, document)

    def _script_alone(self, document: dict[str, Any]) -> dict[str, Any]:
        """Run a reproducer that kills its process, by itself."""
        launch = self.config.launch
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(document["reproducer"])
            file.flush()
            environment = {**launch.environment(dict(os.environ)), "PYTHONPATH": os.pathsep.join(launch.paths)}
            try:
                done = subprocess.run(
                    [launch.interpreter(), file.name], capture_output=True, text=True, timeout=SCRIPT_LIMIT + 2 * launch.timeout,
                    env=environment,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return {"confirmed": False, "script_output": "the script did not come back"}
        return {"confirmed": done.returncode == 1, "script_output": (done.stdout + done.stderr)[-4000:]}

    def _scenario_at_fault(self, program: dict[str, Any], options: dict[str, Any], cause: str) -> str | None:
        for names in ([], ["reverse"], ["forward"], None):
            if self._dies(program, {**options, "scenarios": names}, cause):
                return names[0] if names else "direct" if names == [] else "reverse-over-reverse"
        return None

    def _dies(self, program: dict[str, Any], options: dict[str, Any], cause: str) -> bool:
        event = self.pool.run("examine", fresh=True, limit=self.config.launch.timeout, program=program, options=options)
        return event.kind == "died" and event.data["cause"] == cause

    def _shrink_crash(self, seed: Seed, edits: list[Any], options: dict[str, Any], scenario: str, cause: str) -> dict[str, Any]:
        tries = 0
        only = [] if scenario == "direct" else [scenario]
        deadline = time.monotonic() + 2 * self.config.shrink_seconds

        def more() -> bool:
            return tries < CRASH_PROBES and time.monotonic() < deadline

        def shows(program: Program) -> bool:
            nonlocal tries
            tries += 1
            return more() and self._dies(to_json(program), {**options, "scenarios": only}, cause)

        original = from_json(seed.program)
        kept = shrink_edits(original, [Edit.from_json(e) for e in edits], shows)
        return to_json(shrink_program(apply_all(original, kept), shows, more))


def _mutant(suspicion: dict[str, Any]) -> dict[str, Any]:
    edits = [Edit.from_json(e) for e in suspicion["edits"]]
    return to_json(apply_all(from_json(suspicion["seed"]), edits))
