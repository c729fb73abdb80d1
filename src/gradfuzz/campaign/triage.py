"""From suspicion to finding: deduplicate, confirm in a fresh process, shrink, prove by script, store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradfuzz.campaign.config import Config
from gradfuzz.campaign.deaths import Death, DeathDesk
from gradfuzz.campaign.pool import Event, Pool
from gradfuzz.findings.document import make_document, with_id
from gradfuzz.findings.key import finding_key
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program import from_json, to_json
from gradfuzz.seeds.library import Seed
from gradfuzz.store import Store

FINISH_LIMIT = 90.0
SCRIPT_LIMIT = 60.0


class Triage:
    """Every suspicion passes through here once."""

    def __init__(self, config: Config, store: Store, campaign: int, pool: Pool, found: Callable[[dict[str, Any]], None]) -> None:
        self.config, self.store, self.campaign, self.pool, self.found = config, store, campaign, pool, found
        self.known = store.known_keys(campaign)
        self.aliases: dict[str, str] = {}  # a key whose finding turned out to be another's
        self.pending: dict[str, int] = {}  # key -> times met while it waits
        self.desk = DeathDesk(config)
        self.jobs: dict[int, tuple[str, str, dict[str, Any]]] = {}  # job -> (step, key, what is known)

    @property
    def waiting(self) -> int:
        return len(self.pending)

    def take_up(self, suspicions: list[tuple[str, dict[str, Any]]]) -> None:
        """What an earlier run suspected and did not get round to."""
        for key, suspicion in suspicions:
            self._begin(key, suspicion)

    def report(self, seed: Seed, report: dict[str, Any]) -> list[str]:
        """A worker's report on one mutant; returns the keys of what it says."""
        if "cause" in report:
            self._death(Death(seed, report["job"], report["index"], report["cause"]))
            return [report["cause"]]
        keys = []
        for verdict in report["verdicts"]:
            key = finding_key(seed.api, report["rule"], verdict)
            suspicion = {
                "api": seed.api, "seed": seed.program, "edits": report["edits"], "options": report["options"], "verdict": verdict,
            }  # fmt: skip
            self._meet(key, suspicion)
            keys.append(key)
        return keys

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
            job = self.pool.submit("script", urgent=True, ahead=True, fresh=True, limit=SCRIPT_LIMIT, source=document["reproducer"])
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

    def _death(self, death: Death) -> None:
        """A worker died on a mutant. Each (API, cause) is looked into once, on the side."""
        key = f"{death.seed.api}|{death.cause}"
        if self.aliases.get(key, key) in self.known:
            self.store.met_again(self.campaign, self.aliases.get(key, key))
        elif key in self.pending:
            self.pending[key] += 1
        else:
            self.pending[key] = 1
            self.desk.take(death)

    def collect_deaths(self) -> None:
        """Take in the post-mortems that are done."""
        while not self.desk.finished.empty():
            death, document = self.desk.finished.get()
            waiting = f"{death.seed.api}|{death.cause}"
            key = finding_key(death.seed.api, "", {**document, "oracle": "process"})
            self.aliases[waiting] = key
            times = self.pending.pop(waiting, 1)
            if key in self.known:
                self.store.met_again(self.campaign, key, times)
            else:
                self.pending[key] = times
                self._save(key, document)


def _mutant(suspicion: dict[str, Any]) -> dict[str, Any]:
    edits = [Edit.from_json(e) for e in suspicion["edits"]]
    return to_json(apply_all(from_json(suspicion["seed"]), edits))
