"""Campaigns and findings as one self-contained HTML page."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2

from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.issue import issue_text
from gradfuzz.oracles.gradient import STEP
from gradfuzz.store import Records
from gradfuzz.store.coverage import coverage_of
from gradfuzz.testing.step_curve import StepCurve, inline_image, png

_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=jinja2.StrictUndefined
)

MESSAGES = 8  # shown per kind of refusal


def write_report(store: Records, folder: Path) -> Path:
    """index.html, and a script and an issue text for each finding. Files appear whole."""
    try:
        (folder / "findings").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradfuzzError(f"{folder} cannot be written to ({error.strerror}); name another folder with --out") from None
    findings = store.findings()
    for finding in findings:
        _write(folder / "findings" / f"{finding.id}.py", finding.script)
        _write(folder / "findings" / f"{finding.id}.md", issue_text(finding))
    campaigns = [_campaign(store, row) for row in store.campaigns()]
    page = _environment.get_template("report.html.j2").render(
        campaigns=campaigns, findings=findings, kinds=Counter(f.kind for f in findings), curve=_curve
    )
    _write(folder / "index.html", page)
    return folder / "index.html"


def _campaign(store: Records, row: dict[str, Any]) -> dict[str, Any]:
    totals = store.totals(row["id"])
    mutants = sum(totals["counts"].values())
    apis = store.by_api(row["id"])
    return {
        **row,
        **totals,
        "mutants": mutants,
        "valid": 100 * (1 - totals["counts"].get("invalid", 0) / mutants) if mutants else 100.0,
        "coverage": coverage_of(store, row["id"]),
        "apis": len(apis),
        "refused": _refused(store.refusals(row["id"])),
    }


def _refused(rows: list[tuple[str, str, str, int]]) -> list[tuple[str, int, list[tuple[str, int, str]]]]:
    """(kind, times, [(message, times, APIs)]), the most frequent first."""
    kinds: Counter[str] = Counter()
    messages: dict[str, Counter[str]] = {}
    apis: dict[tuple[str, str], Counter[str]] = {}
    for api, kind, message, times in rows:
        kinds[kind] += times
        messages.setdefault(kind, Counter())[message] += times
        apis.setdefault((kind, message), Counter())[api] += times
    return [
        (kind, total, [(m, n, ", ".join(a for a, _ in apis[kind, m].most_common(3))) for m, n in messages[kind].most_common(MESSAGES)])
        for kind, total in kinds.most_common()
    ]


def _curve(finding: Finding) -> str:
    """How the finding's numeric derivative settles as the step shrinks, as a picture; nothing where it cannot be drawn."""
    detail = finding.verdict.detail
    ladder, value = detail.get("ladder"), detail.get("numeric")
    if not ladder or len(ladder) < 3 or not isinstance(value, float) or not math.isfinite(value):
        return ""
    errors = tuple(abs(slope - value) / (abs(value) or 1.0) for _, slope in ladder)
    if not any(map(math.isfinite, errors)):
        return ""
    steps = tuple(step for step, _ in ladder)
    try:
        return inline_image(png(StepCurve(finding.api, steps, errors, value, "the extrapolated derivative", STEP, STEP)))
    except GradfuzzError:  # matplotlib is an extra
        return ""


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
