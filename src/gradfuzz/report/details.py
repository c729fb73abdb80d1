"""What a page shows of one finding, as strict JSON: text as text, numbers as numbers where they can be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradfuzz.bugs.judgements import Judgement, place
from gradfuzz.envs.versions import order
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.findings.issue import issue_text
from gradfuzz.oracles.evidence.line import NUMERIC_BARS
from gradfuzz.report.around import around
from gradfuzz.targets.homes import homes

MOST = 64  # scenarios, and steps of a ladder: oracles have far fewer, a stranger's store may have any number


def details(finding: Finding, judgements: Sequence[Judgement] = ()) -> dict[str, Any]:
    verdict, detail, home = finding.verdict, finding.verdict.detail, homes().get(finding.target)
    return {
        "text": finding.text, "explanation": finding.explanation, "reason": verdict.reason, "expected": shown(verdict.expected),
        "actual": shown(verdict.actual), "values": _values(finding), "numeric": number(detail.get("numeric")),
        "numericError": number(detail.get("numeric_error")), "ladder": _ladder(detail), "vote": _vote(detail.get("vote")),
        "proof": _proof(finding), "around": around(finding), "script": finding.script, "output": finding.script_output,
        "short": _short(finding),
        "issue": issue_text(finding), "release": f"{home.title if home is not None else finding.target} {finding.version}",
        "label": vars(finding.label) if finding.label else None, "ordinary": finding.ordinary, "since": since(finding.said),
        "judged": [[j.judgement, j.why] for j in judgements if place(j) == place(finding)],
        "releases": sorted(map(list, finding.said.items()), key=lambda pair: order(pair[0])) if finding.releases else [],
    }  # fmt: skip


def shown(value: Any) -> str:
    """A value as people read it; complex numbers come from stores as pairs."""
    if isinstance(value, dict) and set(value) == {"complex"}:
        real, imaginary = value["complex"]
        return f"{real!r} {'-' if str(imaginary).startswith('-') else '+'} {str(imaginary).lstrip('-')}j"
    return value if isinstance(value, str) else "" if value is None else repr(value)


def number(value: Any) -> float | None:
    """A number that can be drawn."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return float(value) if fits and math.isfinite(value) else None
    except OverflowError:
        return None


def _values(finding: Finding) -> list[dict[str, Any]]:
    """Each scenario's number and the numeric one, with their error bars as far as they are known."""
    verdict, detail = finding.verdict, finding.verdict.detail
    wrong, bars = set(verdict.names), _bars(finding)
    rows = [
        {
            "name": str(name),
            "text": shown(value),
            "value": number(value),
            "bar": number(bars.get(name)),
            "fault": name in wrong,
            "truth": False,
        }
        for name, value in list((detail.get("numbers") or {}).items())[:MOST]
    ]
    if detail.get("numeric") is not None:
        rows.append(_truth("numeric", detail["numeric"], detail.get("numeric_error")))
    elif rows and number(verdict.expected) is not None:
        rows.append(_truth("expected", verdict.expected, verdict.error_bar))
    return rows


def _bars(finding: Finding) -> dict[str, Any]:
    """Error bars of scenarios by name. Older findings have both sides' together, which the one at fault was held against."""
    verdict, detail = finding.verdict, finding.verdict.detail
    if isinstance(detail.get("bars"), dict):
        return dict(detail["bars"])
    known, numeric = number(verdict.error_bar), number(detail.get("numeric_error"))
    return (
        {verdict.names[0]: max(0.0, known - NUMERIC_BARS * numeric)} if verdict.names and known is not None and numeric is not None else {}
    )


def _truth(name: str, value: Any, bar: Any) -> dict[str, Any]:
    return {"name": name, "text": shown(value), "value": number(value), "bar": number(bar), "fault": False, "truth": True}


def _ladder(detail: dict[str, Any]) -> list[list[float]]:
    steps = [(number(step), number(slope)) for step, slope in (detail.get("ladder") or [])[:MOST]]
    return [[step, slope] for step, slope in steps if step is not None and slope is not None]


def _short(finding: Finding) -> dict[str, str] | None:
    """The script that people paste, with what it prints and shows; None where only the long one shows the bug."""
    short = finding.short
    return None if short is None else {"script": short.script, "output": short.output, "told": short.told}


def _vote(vote: Any) -> str:
    """The recount in a sentence; nothing where there was none, or what is there makes no sense."""
    if not isinstance(vote, dict) or not all(isinstance(vote.get(key), int) for key in ("checks", "against", "for_ad", "reruns")):
        return ""
    return (
        f"Counted again in {vote['reruns']} reruns: of {vote['checks']} checks {vote['against']} are against AD, {vote['for_ad']} for it."
    )


def _proof(finding: Finding) -> dict[str, Any] | None:
    proof = finding.proof
    if proof is None or not finding.proven:
        return None
    got = [[name, shown(value), number(value), name in proof.wrong] for name, value in list((proof.got or {}).items())[:MOST]]
    return {"what": proof.what, "exact": proof.exact, "enclosure": proof.enclosure, "lost": f"{proof.lost:.1f}", "got": got}
