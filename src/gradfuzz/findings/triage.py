"""From suspicion to finding: deduplicate, confirm in a fresh process, shrink, prove by script, store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

from gradfuzz.errors import ProgramError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.confirm import Confirmed
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.labels import label_for
from gradfuzz.findings.postmortem import Death, DeathDesk
from gradfuzz.findings.script import script
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Event, Pool
from gradfuzz.targets.homes import language_for

CONFIRM_LIMIT = 90.0
SCRIPT_LIMIT = 60.0


class Keeper(Protocol):
    """Where suspicions and findings are kept: nothing is lost if the campaign dies at any moment."""

    def known_keys(self, campaign: int) -> set[str]: ...

    def suspect(self, campaign: int, key: str, suspicion: Suspicion) -> None: ...

    def forget_suspicion(self, campaign: int, key: str) -> None: ...

    def add_finding(self, campaign: int, key: str, finding: Finding) -> None: ...

    def met_again(self, campaign: int, key: str, times: int = 1) -> None: ...


class _Proof(NamedTuple):
    """A finding whose script is running."""

    key: str
    finding: Finding


class Triage:
    """Every suspicion passes through here once."""

    def __init__(
        self, launch: Launch, shrink_seconds: float, store: Keeper, campaign: int, pool: Pool, found: Callable[[Finding], None]
    ) -> None:  # fmt: skip
        self.launch, self.shrink_seconds, self.store, self.campaign, self.pool, self.found = (
            launch, shrink_seconds, store, campaign, pool, found,
        )  # fmt: skip
        self.known = store.known_keys(campaign)
        self.aliases: dict[str, str] = {}  # a key whose finding turned out to be another's
        self.pending: dict[str, int] = {}  # key -> times met while it waits
        self.desk = DeathDesk(launch, shrink_seconds)
        self._confirming: dict[int, tuple[str, Suspicion]] = {}  # by job
        self._proving: dict[int, _Proof] = {}

    @property
    def waiting(self) -> int:
        return len(self.pending)

    def take_up(self, suspicions: list[tuple[str, Suspicion]]) -> None:
        """What an earlier run suspected and did not get round to. What does not pass the gate stays where it lies."""
        language = language_for(self.launch.target, self.launch.modules)
        for key, suspicion in suspicions:
            with contextlib.suppress(ProgramError):
                self._begin(key, suspicion.check(language))

    def suspect(self, suspicion: Suspicion) -> str:
        """A worker's suspicion; returns its key."""
        key = self.aliases.get(suspicion.key, suspicion.key)
        if not self._met(key):
            self.store.suspect(self.campaign, key, suspicion)
            self._begin(key, suspicion)
        return suspicion.key

    def _met(self, key: str) -> bool:
        """Whether it is known or on its way; then it is counted."""
        if key in self.known:
            self.store.met_again(self.campaign, key)
        elif key in self.pending:
            self.pending[key] += 1
        else:
            return False
        return True

    def _begin(self, key: str, suspicion: Suspicion) -> None:
        self.pending[key] = 1
        job = self.pool.submit(
            "confirm", urgent=True, fresh=True, limit=CONFIRM_LIMIT, seconds=self.shrink_seconds, suspicion=suspicion.to_json()
        )
        self._confirming[job] = (key, suspicion)

    def handle(self, event: Event) -> None:
        """An answer to one of our jobs."""
        number = event.job["id"]
        if number in self._confirming:
            self._confirmed(*self._confirming.pop(number), event)
        elif number in self._proving:
            self._proven(*self._proving.pop(number), event)

    def _confirmed(self, key: str, suspicion: Suspicion, event: Event) -> None:
        answer = event.data.get("confirmed") if event.kind == "done" else None
        if answer is None:
            seen = Confirmed(suspicion.mutant, suspicion.edits, suspicion.verdict)
        else:
            seen = Confirmed.from_json(answer)
        finding = self._finding(suspicion.api, seen, confirmed=answer is not None)
        final = finding.key
        if final != key and (final in self.known or final in self.pending):
            self._merge(key, final)
        elif finding.confirmed:
            job = self.pool.submit("script", urgent=True, ahead=True, fresh=True, limit=SCRIPT_LIMIT, source=finding.script)
            self._proving[job] = _Proof(key, finding)
        else:
            self._save(key, finding)

    def _finding(self, api: str, seen: Confirmed, confirmed: bool) -> Finding:
        launch = self.launch
        finding = Finding(
            launch.target, self.pool.version, api, seen.verdict, seen.program, confirmed, seen.rule, seen.edits, seen.mutates, seen.random,
            launch.modules, launch.timeout, label_for(launch.target, api, seen.rule, seen.verdict),
        )  # fmt: skip
        return replace(finding, script=script(finding))

    def _merge(self, key: str, final: str) -> None:
        """Once shrunk it is the same as another."""
        self.aliases[key] = final
        times = self.pending.pop(key, 1)
        if final in self.known:
            self.store.met_again(self.campaign, final, times)
        else:
            self.pending[final] += times
        self.store.forget_suspicion(self.campaign, key)

    def _proven(self, key: str, finding: Finding, event: Event) -> None:
        """A finding counts once its own script shows it."""
        proven = event.kind == "done" and event.data.get("status") == 1
        output = event.data.get("output", "") or str(event.data.get("failed") or event.data.get("cause") or "")
        self._save(key, replace(finding, confirmed=proven, script_output=output))

    def _save(self, key: str, finding: Finding) -> None:
        finding = replace(finding.filed(key), times=self.pending.pop(key, 1), campaign=self.campaign)
        self.store.add_finding(self.campaign, key, finding)
        self.known.add(key)
        if finding.confirmed:
            self.found(finding)

    # Deaths ------------------------------------------------------------------------------------------------------------

    def bury(self, death: Death) -> str:
        """A worker died on a mutant. Each (API, cause) is looked into once, on the side. Returns the key of the death."""
        key = self.aliases.get(death.key, death.key)
        if not self._met(key):
            self.pending[key] = 1
            self.desk.take(death)
        return death.cause

    def collect_deaths(self) -> None:
        """Take in the post-mortems that are done."""
        while not self.desk.finished.empty():
            death, seen, confirmed = self.desk.finished.get()
            finding = self._finding(death.api, seen, confirmed)
            if confirmed:
                proven, output = self.desk.script_alone(finding.script)
                finding = replace(finding, confirmed=proven, script_output=output)
            key = self.aliases[death.key] = finding.key
            times = self.pending.pop(death.key, 1)
            if key in self.known:
                self.store.met_again(self.campaign, key, times)
            else:
                self.pending[key] = times
                self._save(key, finding)

    def close(self) -> None:
        self.desk.close()
