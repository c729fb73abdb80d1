"""Whether the direct run stands by itself: only then a derivative that raises is held against it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import MALFORMED, MEMORY, STATUS
from gradfuzz.program import to_json

# What is said of a derivative because the direct run works. An assertion of the library's own is a bug whatever the direct run does.
BESIDE_THE_DIRECT = (STATUS, MEMORY, MALFORMED)
Standing = Generator[tuple[str, dict[str, Any]], Mapping[str, Any], str]


def standing(finding: Finding) -> Standing:
    """Hands out jobs for two fresh workers and is told their answers; returns why the direct run proves nothing, or nothing."""
    verdict = finding.verdict
    if verdict.oracle != "status" or verdict.kind not in BESIDE_THE_DIRECT or verdict.detail.get("direct"):
        return ""
    before = None
    for turn in range(2):
        asked = {"program": to_json(finding.program), "turn": turn, "than": before, "random": finding.random}
        answer = yield "direct", asked
        if "unsound" not in answer:
            cause = answer.get("cause") or answer.get("failed") or "it says nothing"
            return f"the direct run does not come back in another process ({cause})"
        if answer["unsound"]:
            return str(answer["unsound"])
        before = answer["outputs"]
    return ""
