"""What each scenario of a finding gives, with its error bar; where there is none, what is known instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.landscape import Landscape
from gradfuzz.oracles.evidence.line import NUMERIC_BARS
from gradfuzz.oracles.verdict import VALUE
from gradfuzz.report.numbers import number, shown

MOST = 64  # scenarios: oracles have far fewer, a stranger's store may have any number
NOT_FINITE, NO_NUMBER, NOT_MEASURED = "not finite", "no number", "rounding: not measured"
Row = dict[str, Any]


def values(finding: Finding) -> dict[str, Any]:
    """`rows`, every scenario's and what is held against them, and what they are: one `entry` of the derivative, or a `weighted` sum."""
    there = finding.landscape
    if there is not None and (there.numbers or there.refused):
        return {"entry": there.what if there.along else "", "weighted": not there.along, "rows": _measured(finding, there)}
    rows, proof = compared(finding), finding.proof
    entry = proof is not None and dict(proof.got or {}) == finding.verdict.detail.get("numbers")
    return {"entry": proof.what if proof and entry else "", "weighted": bool(rows) and not entry, "rows": rows or _told(finding)}


def compared(finding: Finding) -> list[Row]:
    """What the oracle has held against each other, as far as it has kept its numbers."""
    verdict, detail = finding.verdict, finding.verdict.detail
    bars, wrong = _bars(finding), set(verdict.names)
    rows = [_row(str(name), value, bars.get(name), name in wrong) for name, value in list((detail.get("numbers") or {}).items())[:MOST]]
    if detail.get("numeric") is not None:
        rows.append(_truth("numeric", detail["numeric"], detail.get("numeric_error", verdict.error_bar)))
    elif rows and number(verdict.expected) is not None:
        rows.append(_truth("expected", verdict.expected, verdict.error_bar))
    return rows


def _measured(finding: Finding, there: Landscape) -> list[Row]:
    """Every scenario at the point; what is right there by a proof, by differences or by what it was compared with."""
    wrong, proof = set(finding.verdict.names), finding.proof
    rows = [_row(name, value, there.bars.get(name), name in wrong) for name, value in there.numbers.items()]
    rows += [{**_row(name, said, None, name in wrong), "known": NO_NUMBER} for name, said in there.refused.items()]
    if proof is not None and finding.proven and there.along:
        exact = {"text": proof.exact, "value": number(float(proof.number)), "known": "proven"}
        rows.append({**_truth("exact", None, None), **exact})
    elif there.numeric is not None:
        rows.append(_truth(there.by, *there.numeric))
    return rows


def _told(finding: Finding) -> list[Row]:
    """Where a finding is about no derivative: what the scenarios at fault do, beside what was expected of them."""
    verdict = finding.verdict
    said = verdict.actual if verdict.kind == VALUE else verdict.reason
    rows = [_row(name, said, None, True) for name in verdict.names]
    return [*rows, _truth("direct", verdict.expected, verdict.error_bar)] if verdict.kind == VALUE and rows else rows


def _bars(finding: Finding) -> Mapping[str, Any]:
    """Error bars of scenarios by name. Older findings have both sides' together, which the one at fault was held against."""
    verdict, detail = finding.verdict, finding.verdict.detail
    if isinstance(detail.get("bars"), dict):
        return dict(detail["bars"])
    known, numeric = number(verdict.error_bar), number(detail.get("numeric_error"))
    if not verdict.names or known is None or numeric is None:
        return {}
    return {verdict.names[0]: max(0.0, known - NUMERIC_BARS * numeric)}


def _row(name: str, value: Any, bar: Any, fault: bool) -> Row:
    found, width = number(value), number(bar)
    finite = found is not None or not isinstance(value, float)
    known = "" if width is not None else NO_NUMBER if isinstance(value, str) else NOT_MEASURED if finite else NOT_FINITE
    return {"name": name, "text": shown(value), "value": found, "bar": width, "known": known, "fault": fault, "truth": False}


def _truth(name: str, value: Any, bar: Any) -> Row:
    return {**_row(name, value, bar, False), "truth": True}
