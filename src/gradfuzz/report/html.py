"""A report as one self-contained HTML file: it opens from disk, without network, and shows whatever a store says as text.

Rows are in the page as JSON, everything else of findings as compressed chunks that are unpacked when a bug is looked at. A policy in the
page's head lets nothing run but its own script, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from gradfuzz import __version__
from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import GRADES, severity
from gradfuzz.envs.versions import order
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.report.analysis import pictures, rows_of
from gradfuzz.report.details import details
from gradfuzz.report.files import file_name, write_scripts, write_text
from gradfuzz.report.model import Campaign, Report
from gradfuzz.report.tally import ERROR, MISMATCH, SUCCESS, UNDECIDED, Tally

FORMAT = "html"
MESSAGES = 8  # shown per kind of refusal
NAMED = 3  # APIs that are named beside a message or an excuse
EXCUSES = 4  # shown of an API
CHUNK = 32  # findings that are unpacked together
PAGE = Path(__file__).with_name("page")
# In the order in which they lean on each other.
SCRIPTS = ("dom", "data", "charts", "list", "overview", "bugs", "bug", "campaign", "main")
# Of a campaign's configuration, what people ask about, and what it is called.
SETTINGS = {
    "seed": "seed", "seconds": "time limit, in seconds", "mutants": "mutants at most", "order": "highest order", "profile": "profile",
    "device": "device", "workers": "workers",
}  # fmt: skip
# No pictures from elsewhere, no other base for links, nothing to send forms to.
POLICY = "img-src data: blob:; base-uri 'none'; form-action 'none'"
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""
NO_SCRIPT = """<noscript>
<h1>gradfuzz</h1>
<p>This report is drawn by a script within it; switch scripts on, or use <code>gradfuzz bugs</code>.</p>
</noscript>"""
MOST_SETTING = 80  # characters


def write(report: Report, folder: Path) -> Path:
    """index.html, and beside it a script and an issue text for each finding."""
    write_scripts(folder, report.findings)
    return write_text(folder / "index.html", page(report))


def page(report: Report, live: str = "") -> str:
    """The whole page. `live`: what the store looked like, for a page that is shown anew when that changes."""
    style = (PAGE / "page.css").read_text(encoding="utf-8")
    script = '"use strict";\n' + "\n".join((PAGE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; {POLICY}"
    if live:
        policy += "; connect-src 'self'"
    title = html.escape(report.campaigns[-1].title if report.campaigns else "no campaign")
    parts = [
        f'{HEAD}<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta name="referrer" content="no-referrer">',
        f'<title>{title} – gradfuzz</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>',
        f'<a class="skip" href="#content">to the content</a>\n<header class="top"></header>\n<main id="content" tabindex="-1">{NO_SCRIPT}',
        f'</main>\n<script type="application/json" id="data">{_json(_data(report, live))}</script>',
        *_chunks(report), f"<script>{script}</script>\n</body>\n</html>\n",
    ]  # fmt: skip
    return "\n".join(parts)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    """Strict JSON in ASCII that holds nothing a parser of HTML looks for."""
    text = json.dumps(_strict(data), separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _strict(value: Any) -> Any:
    """What strict JSON and a browser's addresses bear: NaN and infinities as text, halves of characters spelt out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {_strict(str(key)): _strict(part) for key, part in value.items()}
    return [_strict(part) for part in value] if isinstance(value, (list, tuple)) else value


def _chunks(report: Report) -> list[str]:
    """Details of findings, so many to an element: JSON, compressed, in base64."""
    found: list[str] = []
    waiting: list[dict[str, Any]] = []
    for bug in report.bugs:
        for finding in bug.findings:
            waiting.append(details(finding, bug.judgements))
            if len(waiting) == CHUNK:
                found.append(_chunk(len(found), waiting))
                waiting = []
    return [*found, _chunk(len(found), waiting)] if waiting else found


def _chunk(number: int, waiting: list[dict[str, Any]]) -> str:
    text = json.dumps(_strict(waiting), separators=(",", ":"), allow_nan=False, default=str)
    return f'<script type="text/plain" id="chunk-{number}">{base64.b64encode(zlib.compress(text.encode(), 9)).decode()}</script>'


def _data(report: Report, live: str) -> dict[str, Any]:
    findings = [(number, finding) for number, bug in enumerate(report.bugs) for finding in bug.findings]
    at = iter(range(len(findings)))
    versions = sorted({v for _, f in findings if f.releases for v in f.said}, key=order)
    return {
        "version": __version__, "live": live, "chunk": CHUNK, "baseline": report.baseline.keys is not None,
        "grades": [{"name": g.name, "title": g.title, "reason": g.reason, "folded": g.folded} for g in GRADES],
        "campaigns": [_campaign(campaign) for campaign in report.campaigns],
        "bugs": [_bug(report, bug, [next(at) for _ in bug.findings]) for bug in report.bugs],
        "findings": [_finding(number, finding) for number, finding in findings],
        "releases": {"versions": versions, "rows": [[i, f.said, since(f.said)] for i, (_, f) in enumerate(findings) if f.releases]},
    }  # fmt: skip


def _bug(report: Report, bug: Bug, findings: list[int]) -> dict[str, Any]:
    leading = bug.leading
    return {
        "id": bug.id, "api": leading.api, "what": leading.title, "grade": GRADES.index(bug.severity.grade), "because": bug.severity.because,
        "label": bug.label_name, "judged": bug.judged, "proven": bug.proven, "fresh": report.is_new(bug), "times": bug.times,
        "order": leading.verdict.order, "kind": leading.kind, "findings": findings, "apis": list(bug.apis), "affects": bug.affects,
    }  # fmt: skip


def _finding(bug: int, finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id, "file": file_name(finding.id), "bug": bug, "api": finding.api, "what": finding.title,
        "grade": GRADES.index(severity(finding).grade), "label": finding.label_name, "proven": finding.proven, "times": finding.times,
        "order": finding.verdict.order, "kind": finding.kind, "rule": finding.rule,
    }  # fmt: skip


def _campaign(campaign: Campaign) -> dict[str, Any]:
    found = campaign.tally
    covers = [row.cover for row in found.apis.values() if row.cover is not None]
    return {
        "number": campaign.number, "title": campaign.title, "status": campaign.status, "created": campaign.created,
        "settings": _settings(campaign), "counts": dict(found.counts), "mutants": found.mutants, "batches": found.batches, "cpu": found.cpu,
        "apis": [_api(row.api, campaign) for row in rows_of(campaign)],
        "coverage": [
            {
                "table": name, "reached": len(group.hits), "inReach": len(group.in_reach) if group.existing else None,
                "missing": [[reason, rules] for reason, rules in group.missing().items()],
            }
            for name, group in campaign.coverage.items()
        ],
        "designs": {
            "values": sum(c.levels for c in covers), "valuesMet": sum(c.levels_met for c in covers),
            "pairs": sum(c.pairs_possible for c in covers), "pairsMet": sum(c.pairs_met for c in covers),
        } if covers else None,
        "reasons": [[name, n, _excused(found, name)] for name, n in found.reasons.most_common()],
        "untested": [[u.api, u.excuse, u.taken, u.mutants] for u in campaign.untested],
        "refused": _refused(campaign), "lost": campaign.proofs.lost.most_common(), "seen": campaign.proofs.seen,
        "times": [[row.title, row.seconds, row.share] for row in campaign.times], "clock": campaign.clock,
        "course": [list(vars(part).values()) for part in found.course],
        "pictures": [picture.to_json() for picture in pictures(campaign)],
    }  # fmt: skip


def _settings(campaign: Campaign) -> dict[str, str]:
    said = {name: campaign.config[key] for key, name in SETTINGS.items() if campaign.config.get(key) not in (None, "", [], ())}
    told = {name: str(value)[:MOST_SETTING] for name, value in said.items()}
    waiting = {"suspicions that nobody has looked into": f"{campaign.waiting:,}"} if campaign.waiting else {}
    return told | {"findings": f"{campaign.findings:,}"} | waiting


def _api(api: str, campaign: Campaign) -> dict[str, Any]:
    row = campaign.tally.apis[api]
    classes, cover = row.classes, row.cover
    return {
        "api": api, "mutants": row.mutants, "success": classes[SUCCESS], "mismatch": classes[MISMATCH], "error": classes[ERROR],
        "cpu": round(row.cpu, 3), "undecided": classes[UNDECIDED], "excuses": row.reasons.most_common(EXCUSES),
        "pairs": cover.pairs_possible if cover else 0, "pairsMet": cover.pairs_met if cover else 0,
    }  # fmt: skip


def _excused(found: Tally, excuse: str) -> str:
    """The APIs that an excuse was heard for most often."""
    heard = Counter({api: row.reasons[excuse] for api, row in found.apis.items() if row.reasons[excuse]})
    return ", ".join(f"{api} ({n:,})" for api, n in heard.most_common(NAMED))


def _refused(campaign: Campaign) -> list[Any]:
    """[kind, times, [[message, times, APIs]]], the most frequent first."""
    kinds: Counter[str] = Counter()
    messages: dict[str, list[tuple[str, int]]] = {}
    for (kind, message), times in campaign.tally.messages.most_common():
        kinds[kind] += times
        messages.setdefault(kind, []).append((message, times))

    def apis(kind: str, message: str) -> str:
        return ", ".join(api for api, _ in campaign.tally.refusing[kind, message].most_common(NAMED))

    return [[kind, total, [[m, n, apis(kind, m)] for m, n in messages[kind][:MESSAGES]]] for kind, total in kinds.most_common()]
