"""A report as JUnit's XML, for CI servers: a suite per campaign's release, a case per bug; what is not new is skipped, not failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from gradfuzz.bugs.bug import Bug
from gradfuzz.findings.labels import NEWS
from gradfuzz.report.files import write_text
from gradfuzz.report.model import Campaign, Report
from gradfuzz.report.xml_text import allowed

FORMAT = "junit"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_NEVER = "1970-01-01T00:00:00"  # the schema wants a moment; a store may lack one


def write(report: Report, folder: Path) -> Path:
    """junit.xml"""
    return write_text(folder / "junit.xml", '<?xml version="1.0" encoding="UTF-8"?>\n' + document(report) + "\n")


def document(report: Report) -> str:
    root = ElementTree.Element("testsuites")
    releases = dict.fromkeys([(c.target, c.version) for c in report.campaigns] + [(f.target, f.version) for f in report.findings])
    for number, release in enumerate(releases):
        bugs = [bug for bug in report.bugs if (bug.leading.target, bug.leading.version) == release]
        last = [c for c in report.campaigns if (c.target, c.version) == release]
        root.append(_suite(report, number, release, bugs, last[-1] if last else None))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def failed(report: Report, bug: Bug) -> bool:
    """Whether a CI job has to look at it: new to the baseline and to the list of known issues, and nothing that is folded away."""
    return report.is_new(bug) and bug.label_name in NEWS and not bug.severity.grade.folded


def _suite(report: Report, number: int, release: tuple[str, str], bugs: Sequence[Bug], campaign: Campaign | None) -> ElementTree.Element:
    name = allowed(" ".join(release))
    moment = _MOMENT.match(campaign.created) if campaign is not None else None
    failures = [bug for bug in bugs if failed(report, bug)]
    suite = ElementTree.Element(
        "testsuite", id=str(number), name=f"gradfuzz {name}", package=f"gradfuzz.{name}", hostname="localhost",
        timestamp=moment[0] if moment else _NEVER, tests=str(max(1, len(bugs))), failures=str(len(failures)), errors="0",
        skipped=str(len(bugs) - len(failures)), time=f"{campaign.tally.cpu if campaign else 0.0:.3f}",
    )  # fmt: skip
    ElementTree.SubElement(suite, "properties")
    if not bugs:
        ElementTree.SubElement(suite, "testcase", name="no wrong gradients were found", classname=f"gradfuzz.{name}", time="0.000")
    for bug in bugs:
        case = ElementTree.SubElement(suite, "testcase", name=allowed(bug.title), classname=allowed(bug.severity.grade.name), time="0.000")
        if bug in failures:
            failure = ElementTree.SubElement(case, "failure", type=bug.severity.grade.name, message=allowed(bug.title))
            failure.text = allowed(_told(bug))
        else:
            ElementTree.SubElement(case, "skipped", message=allowed(_why_not(report, bug)))
    ElementTree.SubElement(suite, "system-out")
    ElementTree.SubElement(suite, "system-err")
    return suite


def _why_not(report: Report, bug: Bug) -> str:
    if not report.is_new(bug):
        return "in the baseline"
    return bug.label_name if bug.label_name not in NEWS else f"{bug.severity.grade.title}: {bug.severity.because}"


def _told(bug: Bug) -> str:
    leading = bug.leading
    verdict = leading.verdict
    lines = [
        f"{bug.id}: {bug.severity.grade.title}", leading.explanation, verdict.reason, f"expected: {verdict.expected}",
        f"actual: {verdict.actual}", "", leading.text, *([leading.proof.told, ""] if leading.proof and leading.proven else []),
        f"gradfuzz repro {leading.id} prints a script that shows it.",
    ]  # fmt: skip
    return "\n".join(lines)
