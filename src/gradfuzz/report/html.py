"""Campaigns and findings as one self-contained HTML page."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2

from gradfuzz.bugs.bug import bugs_of
from gradfuzz.bugs.judgements import beside, read_judgements
from gradfuzz.envs.versions import order
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.findings.issue import issue_text
from gradfuzz.findings.labels import web_link
from gradfuzz.oracles.gradient import STEP
from gradfuzz.store import Records
from gradfuzz.store.coverage import coverage_of
from gradfuzz.store.health import SHARE, untested
from gradfuzz.store.proofs import proofs_of
from gradfuzz.store.shards import shards_told
from gradfuzz.testing.step_curve import StepCurve, inline_image, png

_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=jinja2.StrictUndefined
)

FORMAT = "html"
MESSAGES = 8  # shown per kind of refusal
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def write(store: Records, folder: Path) -> Path:
    """index.html, and a script and an issue text for each finding. Files appear whole."""
    try:
        (folder / "findings").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradfuzzError(f"{folder} cannot be written to ({error.strerror}); name another folder with --out") from None
    bugs = bugs_of(store.findings(), read_judgements(beside(store.path)))
    findings = [finding for bug in bugs for finding in bug.findings]
    for finding in findings:
        name = file_name(finding.id)
        _write(folder / "findings" / f"{name}.py", finding.script)
        _write(folder / "findings" / f"{name}.md", issue_text(finding))
    campaigns = [_campaign(store, row) for row in store.wholes()]
    page = _environment.get_template("report.html.j2").render(
        campaigns=campaigns,
        findings=findings,
        bugs=bugs,
        grades=[(grade, list(group)) for grade, group in groupby(bugs, key=lambda bug: bug.severity.grade)],
        kinds=Counter(f.kind for f in findings),
        curve=_curve,
        file_name=file_name,
        web_link=web_link,
        releases=sorted({v for f in findings if f.releases for v in f.said}, key=order),
        since=since,
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
        "shards": shards_told(store.campaigns(), row["id"]),
        "mutants": mutants,
        "valid": 100 * (1 - totals["counts"].get("invalid", 0) / mutants) if mutants else 100.0,
        "coverage": coverage_of(store, row["id"]),
        "apis": len(apis),
        "untested": untested(store, row["id"]),
        "untested_share": SHARE,
        "proofs": proofs_of(store, row["id"]),
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
    except Exception:  # matplotlib is an extra, and need not like a name that it is given
        return ""


def file_name(identity: str) -> str:
    """A finding's id as the name of a file: itself if it can be one, else a name made from it. An id is data, perhaps a stranger's."""
    if _NAME.fullmatch(identity) and ".." not in identity:
        return identity
    return "finding-" + hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        raise GradfuzzError(f"{path} cannot be written ({error.strerror}); name another folder with --out") from None
