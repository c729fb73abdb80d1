"""A report as JSON, for programs; also what the next report takes as its baseline."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gradfuzz import __version__
from gradfuzz.bugs.severity import severity
from gradfuzz.report.analysis import pictures
from gradfuzz.report.baseline import FORM
from gradfuzz.report.files import write_text
from gradfuzz.report.model import Campaign, Report
from gradfuzz.worker.wire import finite_or_text

FORMAT = "json"


def write(report: Report, folder: Path) -> Path:
    """report.json"""
    return write_text(folder / "report.json", json.dumps(finite_or_text(document(report)), indent=1, allow_nan=False, default=str) + "\n")


def document(report: Report) -> dict[str, Any]:
    return {
        "form": FORM, "gradfuzz": __version__, "campaigns": [_campaign(c) for c in report.campaigns],
        "bugs": [{**bug.to_json(), "new": report.is_new(bug)} for bug in report.bugs],
        "findings": [
            {**f.public(), "key": f.key, "bug": bug.id, "severity": severity(f).grade.name, "new": f not in report.baseline}
            for bug in report.bugs for f in bug.findings
        ],
    }  # fmt: skip


def _campaign(campaign: Campaign) -> dict[str, Any]:
    found = campaign.tally
    return {
        "number": campaign.number, "target": campaign.target, "version": campaign.version, "created": campaign.created,
        "status": campaign.status, "mutants": found.mutants, "batches": found.batches, "cpu": found.cpu, "counts": dict(found.counts),
        "reasons": dict(found.reasons), "findings": campaign.findings, "waiting": campaign.waiting, "proofs": campaign.proofs.to_json(),
        "coverage": {name: group.to_json() for name, group in campaign.coverage.items()}, "course": [asdict(part) for part in found.course],
        "clock": campaign.clock, "time": {row.what: row.seconds for row in campaign.times},
        "untested": [row.to_json() for row in campaign.untested], "pictures": [picture.to_json() for picture in pictures(campaign)],
    }  # fmt: skip
