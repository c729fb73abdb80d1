"""What a page shows of one finding, as strict JSON: text as text, numbers as numbers where they can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradfuzz.bugs.judgements import Judgement, place
from gradfuzz.envs.versions import order
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.findings.issue import issue_text
from gradfuzz.report.numbers import number, shown
from gradfuzz.report.plots import plots
from gradfuzz.report.values import compared, values
from gradfuzz.targets.homes import homes

MOST = 64  # steps of a ladder, scenarios of a proof: there are far fewer, a stranger's store may have any number


def details(finding: Finding, judgements: Sequence[Judgement] = ()) -> dict[str, Any]:
    verdict, detail, home = finding.verdict, finding.verdict.detail, homes().get(finding.target)
    return {
        "text": finding.text, "explanation": finding.explanation, "reason": verdict.reason, "expected": shown(verdict.expected),
        "actual": shown(verdict.actual), "values": values(finding), "compared": compared(finding), "numeric": number(detail.get("numeric")),
        "numericError": number(detail.get("numeric_error")), "ladder": _ladder(detail), "vote": _vote(detail.get("vote")),
        "proof": _proof(finding), "plots": plots(finding), "script": finding.script, "output": finding.script_output,
        "short": _short(finding),
        "issue": issue_text(finding), "release": f"{home.title if home is not None else finding.target} {finding.version}",
        "label": vars(finding.label) if finding.label else None, "ordinary": finding.ordinary, "since": since(finding.said),
        "judged": [[j.judgement, j.why] for j in judgements if place(j) == place(finding)],
        "releases": sorted(map(list, finding.said.items()), key=lambda pair: order(pair[0])) if finding.releases else [],
    }  # fmt: skip


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
