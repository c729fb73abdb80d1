"""What was found in one release, as a page of Markdown: bugs, each with what people say of it. Made of stores and judgements alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gradfuzz.bugs.bug import Bug, bugs_of
from gradfuzz.bugs.judgements import JUDGEMENTS, Judgement
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import NEW, web_link
from gradfuzz.report.marks import code, fenced, text
from gradfuzz.store import Records
from gradfuzz.targets.homes import homes


@dataclass(frozen=True)
class Source:
    """What one store brings to a page: its confirmed findings, and its campaigns with their totals."""

    findings: tuple[Finding, ...]
    campaigns: tuple[dict[str, Any], ...]


def source_of(store: Records) -> Source:
    return Source(tuple(store.findings()), tuple({**row, **store.totals(row["id"])} for row in store.wholes()))


def found_page(release: tuple[str, str], sources: Sequence[Source], judgements: Sequence[Judgement]) -> str:
    """The page of one release. A finding that several stores have is one, met as often as in all of them."""
    bugs = bugs_of([f for source in sources for f in source.findings if (f.target, f.version) == release], judgements)
    home = homes().get(release[0])
    lines = [f"# Found in {text(home.title if home is not None else release[0])} {text(release[1])}", ""]
    lines += [_campaign(row) for source in sources for row in source.campaigns if (row["target"], row["version"]) == release]
    lines += ["", f"**{_counted(bugs)}**", "", "Made by `gradfuzz found` from stores and judgements."]
    for grade, group in groupby(bugs, key=lambda bug: bug.severity.grade):
        lines += ["", f"## {grade.title[0].upper()}{grade.title[1:]}", "", grade.reason, ""]
        members = list(group)
        lines += _folded(members) if grade.folded else [line for bug in members for line in _bug(bug)]
    return "\n".join(lines).rstrip() + "\n"


def _campaign(row: dict[str, Any]) -> str:
    return (
        f"- a campaign of {sum(row['counts'].values()):,} mutants in {row['cpu']:.0f} seconds of processor time, "
        f"{text(row['status'])}, begun {text(row['created'])}"
    )


def _counted(bugs: Sequence[Bug]) -> str:
    """How many there are, and what people say of them."""
    findings = sum(len(bug.findings) for bug in bugs)
    said = Counter(bug.judged or "not judged" for bug in bugs)
    words = ", ".join(f"{said[word]} {word}" for word in (*JUDGEMENTS, "not judged") if said[word])
    reported = sum(bug.label_name != NEW for bug in bugs)
    return f"{len(bugs)} bugs in {findings} findings: {words or 'none'}; {reported} of the bugs are labelled known or by design."


def _bug(bug: Bug) -> list[str]:
    leading = bug.leading
    lines = [f"### {text(bug.title)}", ""]
    because = f"; {text(bug.severity.because)}" if bug.severity.because else ""
    lines.append(f"`{code(bug.id)}`: {text(bug.label_name)}{', proven' if bug.proven else ''}{because}. Shows in {text(bug.affects)}.")
    if len(bug.apis) > 1:
        lines.append(f"Also in {', '.join(f'`{code(api)}`' for api in bug.apis[1:])}.")
    for label in dict.fromkeys(f.label for f in bug.findings if f.label is not None):
        link = web_link(label.link)
        lines.append(f"{text(label.label.capitalize())}: {text(label.reason)}{f' <{link}>' if link and not set('<> ') & set(link) else ''}")
    for judgement, why in dict.fromkeys((j.judgement, j.why) for j in bug.judgements):
        lines.append(f"**Judged {judgement}**: {text(why)}")
    short = leading.short  # the library's own idiom and one entry, where there is one; else the Program and its projections
    lines += ["", "```python", *fenced(short.example.strip("\n") if short and short.example else leading.text), "```", ""]
    numbers = f"expected `{code(leading.verdict.expected)}`, actual `{code(leading.verdict.actual)}`"
    numbers = text(short.told) if short else numbers
    findings = ", ".join(f"`{code(f.id)}`" for f in bug.findings)
    return [*lines, f"{numbers}; findings: {findings}", ""]


def _folded(bugs: Sequence[Bug]) -> list[str]:
    lines = ["| bug | what | why here | judgement |", "| --- | --- | --- | --- |"]
    for bug in bugs:
        said = "; ".join(f"{j.judgement}: {j.why}" for j in {(j.judgement, j.why): j for j in bug.judgements}.values())
        lines.append(f"| `{code(bug.id)}` | {text(bug.title)} | {text(bug.severity.because)} | {text(said)} |")
    return lines
