"""The function of a finding and its derivatives around the point, as panels that a page draws; or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.landscape import Landscape, why_nothing
from gradfuzz.report.around import around
from gradfuzz.report.numbers import number, shown

WRONG, TRUTH, OTHER = "ad", "truth", "point"
LIBRARY = "Lines are what the library itself computes around the point; difference quotients are of its own values."
REFERENCE = "Lines are computed by the reference from the Program; the library was not run for them."
WORTH_DRAWING = 3  # points at which there is a number
LARGEST = 1e300  # beyond, sums of what is drawn overflow


@dataclass(frozen=True)
class Panel:
    """Lines over one axis, and marks at the point: (name, numbers or number, style), of marks with the number as text."""

    title: str
    lines: Sequence[tuple[str, Sequence[float | None], str]]
    marks: Sequence[tuple[str, float | None, str, str]] = ()

    @property
    def worth(self) -> bool:
        return any(sum(_drawable(y) is not None for y in line) >= WORTH_DRAWING for _, line, _ in self.lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "lines": [(name, [_drawable(y) for y in line], style) for name, line, style in self.lines],
            "marks": [(name, _drawable(y), text, style) for name, y, text, style in self.marks],
        }


def _drawable(value: float | None) -> float | None:
    found = number(value)
    return found if found is not None and abs(found) < LARGEST else None


def plots(finding: Finding) -> dict[str, Any]:
    """`panels` over one axis, and who computed them; `why`, where there is none."""
    there = finding.landscape
    if there is not None and there.function:
        panels, axis, at, width, by = _measured(finding, there), there.axis, there.at, there.width, LIBRARY
    else:
        exact = around(finding)
        if exact is None:
            return {"why": why_nothing(finding)}
        panels, axis, at, width, by = _exact(finding, exact), exact["along"], exact["at"], exact["width"], REFERENCE
    drawn = [panel.to_json() for panel in panels if panel.worth]
    if not drawn or not abs(at) + width < LARGEST:
        return {"why": "there is no number beside the point that could be drawn"}
    return {"axis": axis, "at": at, "width": width, "by": by, "panels": drawn}


def _measured(finding: Finding, there: Landscape) -> list[Panel]:
    wrong = set(finding.verdict.names)
    last = sorted(there.derivatives.items(), key=lambda named: named[0] in wrong)  # over the others
    lines = [(there.by, there.truth, TRUTH), *((name, line, WRONG if name in wrong else OTHER) for name, line in last)]
    marks = [(name, value, shown(value), WRONG) for name, value in there.numbers.items() if name in wrong]
    proof = finding.proof
    if proof is not None and finding.proven and there.along:
        marks.insert(0, ("exact", float(proof.number), proof.exact, TRUTH))
    panels = [Panel(there.output, [("", there.function, OTHER)])]
    if there.below is not None:
        name, line = there.below
        panels.append(Panel(f"the order below, {name}", [("", line, OTHER)]))
    return [*panels, Panel(there.what if there.along else f"its derivative of order {finding.verdict.order}", lines, marks)]


def _exact(finding: Finding, exact: dict[str, Any]) -> list[Panel]:
    proof = finding.proof
    assert proof is not None
    marks = [(name, number(value), shown(value), WRONG) for name, value in (proof.got or {}).items() if name in proof.wrong]
    return [
        Panel(proof.output, [("", exact["f"], OTHER)]),
        Panel(proof.what, [("exact", exact["d"], TRUTH)], [("exact", float(proof.number), proof.exact, TRUTH), *marks]),
    ]
