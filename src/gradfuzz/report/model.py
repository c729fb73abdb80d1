"""What a report says, computed once from a store. Every format is a way to write this down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfuzz.bugs.bug import Bug, bugs_of
from gradfuzz.bugs.judgements import Judgement, beside, read_judgements
from gradfuzz.engine.spending import CLOCK
from gradfuzz.findings.finding import Finding
from gradfuzz.report.baseline import Baseline
from gradfuzz.report.parameters import Parameters, parameters_of
from gradfuzz.report.tally import Tally, tally
from gradfuzz.report.times import Spent, times_of
from gradfuzz.store import Records
from gradfuzz.store.coverage import Group, coverage_of
from gradfuzz.store.health import Untested, among
from gradfuzz.store.proofs import Proofs, lost_proofs
from gradfuzz.store.shards import shards_told
from gradfuzz.targets.homes import homes


@dataclass(frozen=True)
class Campaign:
    """One campaign: what ran, what its batches add up to, what it reached."""

    number: int
    created: str
    target: str
    version: str
    status: str
    config: dict[str, Any]
    tally: Tally
    coverage: dict[str, Group]
    parameters: Parameters
    proofs: Proofs
    findings: int
    waiting: int  # suspicions that nobody has looked into yet
    shards: str = ""  # which of it lie here, where it was divided
    times: tuple[Spent, ...] = ()  # where the time went
    clock: float | None = None  # seconds that it ran, all its runs together; None where nobody wrote that down

    @property
    def title(self) -> str:
        home = homes().get(self.target)
        return f"{home.title if home is not None else self.target} {self.version}{f', {self.shards}' if self.shards else ''}"

    @property
    def untested(self) -> list[Untested]:
        """APIs of which one excuse takes too many mutants, the worst first."""
        apis = self.tally.apis
        return among({api: row.counts for api, row in apis.items()}, {api: row.reasons for api, row in apis.items()})


@dataclass(frozen=True)
class Report:
    """All that is told of a store: its campaigns, and its bugs with the gravest first."""

    store: Path
    campaigns: tuple[Campaign, ...]
    bugs: tuple[Bug, ...]
    baseline: Baseline = field(default_factory=Baseline)

    @property
    def findings(self) -> list[Finding]:
        """Every finding under its bug, the gravest first."""
        return [finding for bug in self.bugs for finding in bug.findings]

    def is_new(self, bug: Bug) -> bool:
        """Whether the baseline lacks any of its findings; all are new where there is no baseline."""
        return any(finding not in self.baseline for finding in bug.findings)


def report_of(store: Records, judgements: Sequence[Judgement] | None = None, baseline: Baseline | None = None) -> Report:
    """Read a store once: its findings, and each campaign's batches in one pass."""
    said = read_judgements(beside(store.path)) if judgements is None else judgements
    everything = store.findings(unconfirmed=True)
    confirmed = [f for f in everything if f.confirmed]
    rows = [(row, store.parts(row["id"])) for row in store.wholes()]
    campaigns = tuple(_campaign(store, row, [f for f in everything if f.campaign in parts]) for row, parts in rows)
    return Report(store.path, campaigns, tuple(bugs_of(confirmed, said)), baseline or Baseline())


def _campaign(store: Records, row: dict[str, Any], findings: Sequence[Finding]) -> Campaign:
    number, added, spending = row["id"], tally(store.batches(row["id"])), store.spending(row["id"])
    return Campaign(
        number, row["created"], row["target"], row["version"], row["status"], row["config"], added,
        coverage_of(store, number), parameters_of(store.corpus(number), ((f.api, f.program) for f in findings)), lost_proofs(findings),
        sum(f.confirmed for f in findings), sum(len(store.suspicions(part)) for part in store.parts(number)),
        shards_told(store.campaigns(), number), tuple(times_of(spending, added.cpu)), spending.get(CLOCK),
    )  # fmt: skip


def by_grade(bugs: Sequence[Bug]) -> Counter[str]:
    """How many bugs there are of each grade, by its name."""
    return Counter(bug.severity.grade.name for bug in bugs)
