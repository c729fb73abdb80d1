"""A report as SARIF 2.1.0, for code scanning: a rule per grade of severity, a result per bug, at the script that shows it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from gradfuzz import __version__
from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import BACK, FIRST, GRADES, HIGHER, LOUD, POINT, REGION, Grade
from gradfuzz.findings.labels import NEWS
from gradfuzz.report.files import SCRIPTS, file_name, write_scripts, write_text
from gradfuzz.report.model import Report
from gradfuzz.worker.wire import finite_or_text

FORMAT = "sarif"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# What code scanning sorts by: wrong numbers without a word are errors, what stops the work or shows in places is a warning.
_LEVELS = {BACK: "error", FIRST: "error", HIGHER: "error", LOUD: "warning", REGION: "warning", POINT: "warning"}
MOST_RESULTS = 5000  # code scanning shows no more of one run; bugs come gravest first
MOST_MESSAGE = 1000  # characters: a library's own words may be pages long


def write(report: Report, folder: Path) -> Path:
    """report.sarif, and the scripts that its results point to."""
    write_scripts(folder, [bug.leading for bug in report.bugs])
    text = json.dumps(finite_or_text(document(report)), indent=1, allow_nan=False, default=str)
    return write_text(folder / "report.sarif", text + "\n")


def document(report: Report) -> dict[str, Any]:
    driver = {"name": "gradfuzz", "semanticVersion": __version__, "rules": [_rule(grade) for grade in GRADES]}
    left = len(report.bugs) - MOST_RESULTS
    said = f"{left} bugs are left out, the least grave: code scanning shows {MOST_RESULTS} results of a run. The page has them all."
    notes = [{"level": "warning", "message": {"text": said}}] if left > 0 else []
    run = {
        "tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "automationDetails": {"id": _names(report)},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [_result(report, bug) for bug in report.bugs[:MOST_RESULTS]],
    }  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _names(report: Report) -> str:
    return "gradfuzz/" + ",".join(dict.fromkeys(f"{c.target}-{c.version}" for c in report.campaigns))


def _rule(grade: Grade) -> dict[str, Any]:
    title = f"{grade.title[0].upper()}{grade.title[1:]}."
    return {
        "id": f"gradfuzz/{grade.name}", "name": grade.name, "shortDescription": {"text": title}, "fullDescription": {"text": grade.reason},
        "help": {"text": f"{title} {grade.reason} The script of each result exits with 1 while the bug is there."},
        "defaultConfiguration": {"level": _LEVELS.get(grade, "note")}, "properties": {"tags": ["gradients", "correctness"]},
    }  # fmt: skip


def _result(report: Report, bug: Bug) -> dict[str, Any]:
    leading = bug.leading
    verdict = leading.verdict
    result: dict[str, Any] = {
        "ruleId": f"gradfuzz/{bug.severity.grade.name}", "ruleIndex": GRADES.index(bug.severity.grade),
        "level": _LEVELS.get(bug.severity.grade, "note"),
        "message": {"text": f"{bug.title}. Expected {verdict.expected}, actual {verdict.actual}. {verdict.reason}".strip()[:MOST_MESSAGE]},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": f"{SCRIPTS}/{file_name(leading.id)}.py"}, "region": {"startLine": 1, "startColumn": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": leading.api, "kind": "function"}],
            }
        ],
        # Code scanning knows a result again by this hash of a line alone; a script's lines change with the release, a bug's id does not.
        "partialFingerprints": {"gradfuzzBug/v1": bug.id, "primaryLocationLineHash": f"{_digest(bug.id)}:1"},
        "properties": {
            "bug": bug.id, "label": bug.label_name, "proven": bug.proven, "judgement": bug.judged, "findings": [f.id for f in bug.findings],
            "program": leading.text,
        },
    }  # fmt: skip
    if report.baseline.keys is not None:
        result["baselineState"] = "new" if report.is_new(bug) else "unchanged"
    reasons = dict.fromkeys(f.label.reason for f in bug.findings if f.label is not None)
    if bug.label_name not in NEWS or bug.severity.grade.folded:  # shown as dismissed, with the reason
        why = "; ".join(reasons) or bug.severity.because or bug.severity.grade.title
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result
