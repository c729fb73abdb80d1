"""What a row says, as typed data. A store may come from a stranger or a broken disk: whatever is not of its type raises."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import SAID
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.issue import issue_text
from gradfuzz.findings.labels import LABELS
from gradfuzz.findings.postmortem import Death
from gradfuzz.mutate.cover import Cover
from gradfuzz.oracles.verdict import RANK
from gradfuzz.program import from_json

MOST_CORPUS = 1 << 28  # bytes; that of a library is some millions
STATUSES = ("running", "finished", "stopped")


@dataclass(frozen=True)
class Lesson:
    """What a batch taught: features that came up, edits as {name: [tried, valid]}, findings as keys, the orders they were of, deaths;
    what was met of the API's covering design; mutants that may become seeds, as (feature, Program) pairs; and whether the seed itself, as
    it is, has a wrong first derivative."""

    features: list[str] = field(default_factory=list)
    edits: dict[str, list[int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    deaths: int = 0
    cover: Cover | None = None
    grown: list[list[Any]] = field(default_factory=list)
    astray: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "cover": None if self.cover is None else self.cover.to_json()}


@dataclass(frozen=True)
class BatchRow:
    """A finished batch; `until`: the mutant it stopped before, None where nobody wrote that down."""

    campaign: int
    number: int
    api: str
    counts: dict[str, int]
    reasons: dict[str, int]
    refusals: dict[str, int]
    cpu: float
    lesson: Lesson
    until: int | None


@dataclass(frozen=True)
class Pending:
    """What a worker saw and nobody has looked into yet, with the times that it was met meanwhile."""

    key: str
    report: Suspicion | Death
    times: int = 1


class Damaged(ValueError):
    """A row that does not say what it should."""


def a(kind: type, value: Any) -> Any:
    """The value, if it is of the type; True is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Damaged(f"{value!r:.80} is no {kind.__name__}")
    return value


def count(value: Any) -> int:
    if a(int, value) < 0:
        raise Damaged(f"{value} is less than nothing")
    return int(value)


def _object(text: Any) -> dict[str, Any]:
    found: dict[str, Any] = a(dict, json.loads(a(str, text)))
    return found


def _counted(text: Any, known: tuple[str, ...] = ()) -> dict[str, int]:
    found = {str(key): count(value) for key, value in _object(text).items()}
    if known and not set(found) <= set(known):
        raise Damaged(f"unknown outcomes among {', '.join(found)}")
    return found


def campaign_of(row: sqlite3.Row) -> dict[str, Any]:
    if row["status"] not in STATUSES:
        raise Damaged(f"unknown status {row['status']!r}")
    words = {key: a(str, row[key]) for key in ("created", "target", "version", "status")}
    return {"id": count(row["id"]), **words, "config": _object(row["config"])}


def spending_of(row: sqlite3.Row) -> tuple[tuple[str, str], float]:
    """((run, what), seconds)"""
    seconds = float(row["seconds"])
    if not (math.isfinite(seconds) and seconds >= 0):
        raise Damaged(f"{seconds} seconds")
    return (a(str, row["run"]), a(str, row["what"])), seconds


def corpus_of(row: sqlite3.Row) -> list[str]:
    """Lines of JSON; never more than would be kept, whatever a compressed text claims to be."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(a(bytes, row["seeds"]), MOST_CORPUS)
    if unpacking.unconsumed_tail:
        raise Damaged("a corpus that is too large")
    return text.decode().split("\n") if text else []


def batch_of(row: sqlite3.Row) -> BatchRow:
    columns = row.keys()
    cpu = float(row["cpu"])
    if not math.isfinite(cpu):
        raise Damaged(f"{cpu} seconds")
    until = row["until"] if "until" in columns else None
    return BatchRow(
        count(row["campaign"]), count(row["number"]), a(str, row["api"]), _counted(row["counts"], RANK), _counted(row["reasons"]),
        _counted(row["refusals"]), cpu, lesson_of(row["lesson"] if "lesson" in columns else ""), None if until is None else count(until),
    )  # fmt: skip


def lesson_of(text: str) -> Lesson:
    if not a(str, text):
        return Lesson()
    data = _object(text)
    found = Lesson(**{**data, "cover": None if data.get("cover") is None else Cover.from_json(data["cover"])})
    for name, pair in a(dict, found.edits).items():
        tried, valid = a(list, pair)
        a(str, name), count(tried), count(valid)
    for word in [*a(list, found.features), *a(list, found.findings)]:
        a(str, word)
    for order in a(list, found.orders):
        count(order)
    count(found.deaths)
    for feature, program in a(list, found.grown):
        a(str, feature), from_json(a(dict, program))
    return found


def finding_of(row: sqlite3.Row) -> Finding:
    """A finding that can be shown in every form: as a line, in full, as JSON, as an issue, on a page."""
    data = _object(row["document"])
    found = Finding.from_json(data, count(row["times"]), count(row["campaign"]))
    texts = (found.id, found.target, found.version, found.api, found.rule, found.script, found.script_output, found.lost, *found.modules)
    label = (found.label.label, found.label.reason, found.label.link, found.label.quote) if found.label else ()
    verdict = found.verdict
    texts += found.documented or ()
    for text in (*texts, *label, verdict.outcome, verdict.oracle, verdict.reason, verdict.symptom, verdict.subject):
        a(str, text)
    a(bool, found.confirmed), count(verdict.order)
    if found.ordinary is not None:
        a(bool, found.ordinary)
    for version, said in found.releases:
        if said not in SAID or not isinstance(version, str):
            raise Damaged(f"a release that says {said!r:.40}")
    if found.label and found.label.label not in LABELS:
        raise Damaged(f"unknown label {found.label.label!r}")
    if not found.id or (verdict.error_bar is not None and not isinstance(verdict.error_bar, (int, float))):
        raise Damaged("no id, or an error bar that is no number")
    _detail(a(dict, verdict.detail))
    found.public(), issue_text(found)
    return found.relabelled()


def _detail(detail: dict[str, Any]) -> None:
    a(dict, detail.get("numbers") or {})
    error = detail.get("numeric_error")
    if error is not None and (not isinstance(error, (int, float)) or not f"{error:.1e}"):
        raise Damaged("an error that is no number")
    if detail.get("steps"):
        detail["steps_agreeing_with_ad"]
    for step in a(list, detail.get("ladder") or []):
        width, slope = step
        float(width), float(slope)


def pending_of(row: sqlite3.Row) -> Pending:
    data = _object(row["report"])
    report = Death.from_json(data["death"]) if "death" in data else Suspicion.from_json(data)
    return Pending(a(str, row["key"]), report, count(row["times"]) if "times" in row.keys() else 1)  # noqa: SIM118 - a row is no dict


def question_of(row: sqlite3.Row) -> tuple[int, Suspicion]:
    return count(row["number"]), Suspicion.from_json(_object(row["report"]))


def pending_json(report: Suspicion | Death) -> str:
    return json.dumps({"death": report.to_json()} if isinstance(report, Death) else report.to_json())
