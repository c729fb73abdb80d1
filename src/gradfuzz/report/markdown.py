"""A report as a page of Markdown, short enough for the summary of a CI job."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import GRADES
from gradfuzz.report.files import write_text
from gradfuzz.report.junit import failed
from gradfuzz.report.marks import code, fenced, text
from gradfuzz.report.model import Campaign, Report, by_grade
from gradfuzz.report.times import told

FORMAT = "markdown"
# Bugs by name, and of these with their Program: a job's page holds a megabyte, and nobody reads more.
MOST_BUGS, MOST_PROGRAMS = 100, 10


def write(report: Report, folder: Path) -> Path:
    """summary.md"""
    return write_text(folder / "summary.md", summary(report))


def summary(report: Report) -> str:
    to_look_at = [bug for bug in report.bugs if failed(report, bug)]
    others = len(report.bugs) - len(to_look_at)
    lines = [f"# gradfuzz: {_counted(len(to_look_at), 'new bug')}", ""]
    lines += [line for campaign in report.campaigns for line in _campaign(campaign)]
    counts = by_grade(report.bugs)
    new = by_grade(to_look_at)
    lines += ["", "| severity | bugs | new |", "| --- | ---: | ---: |"]
    lines += [f"| {grade.title} | {counts[grade.name]} | {new[grade.name]} |" for grade in GRADES if counts[grade.name]]
    if to_look_at:
        lines += ["", "| new bug | severity | what is wrong | |", "| --- | --- | --- | --- |"]
        lines += [_line(bug) for bug in to_look_at[:MOST_BUGS]]
    if len(to_look_at) > MOST_BUGS:
        lines += ["", f"and {len(to_look_at) - MOST_BUGS} more"]
    for bug in to_look_at[:MOST_PROGRAMS]:
        lines += _program(bug)
    if others:
        lines += ["", f"{_counted(others, 'bug')} more {'is' if others == 1 else 'are'} in the baseline, known, by design or edge cases."]
    return "\n".join(lines) + "\n"


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _campaign(campaign: Campaign) -> list[str]:
    found = campaign.tally
    tables = [
        f"{text(name)} {len(group.hits)} of {len(group.in_reach)}" if group.existing else f"{text(name)} {len(group.hits)}"
        for name, group in campaign.coverage.items()
    ]
    reached = f"; rules reached: {', '.join(tables)}" if tables else ""
    clock = "" if campaign.clock is None else f" in {campaign.clock:.0f} seconds"
    spent = f"; time: {text(told(list(campaign.times)))}" if campaign.clock is not None else ""
    return [
        f"- **{text(campaign.title)}**: {found.mutants:,} mutants of {len(found.apis):,} APIs{clock}, {100 * found.validity:.1f} % valid, "
        f"{found.cpu:.0f} seconds of the processor in batches, {text(campaign.status)}{reached}{spent}"
    ]


def _line(bug: Bug) -> str:
    marks = ", ".join(word for word in ("proven" if bug.proven else "", f"judged {bug.judged}" if bug.judged else "") if word)
    return f"| `{code(bug.id)}` | {bug.severity.grade.name} | {text(bug.title)} | {marks} |"


def _program(bug: Bug) -> list[str]:
    leading = bug.leading
    numbers = f"expected `{code(leading.verdict.expected)}`, actual `{code(leading.verdict.actual)}`"
    return [
        "", f"<details><summary>{text(bug.title)}</summary>", "", "```python", *fenced(leading.text), "```", "",
        f"{numbers}; the script: `gradfuzz repro {code(leading.id)}`",
        "", "</details>",
    ]  # fmt: skip
