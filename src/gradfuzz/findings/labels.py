"""Labels: what is known upstream and what is by design, each with its reason and link. They are the targets' own; they hide nothing.

A row of a target's labels.json says what it is about: `names` (globs over APIs and rules), and, each where it matters, `kinds`, `orders`,
`scenarios` (one of these is at fault), `mode` (every scenario at fault has it: its formula is wrong), `again` (every scenario at fault
differentiates that mode again: its formula is right, and cannot be differentiated), `message`, `types` (of an input), `given` (an argument
that is set), `off` (one that is switched off), `word` (a call is given it), `outside` (a documented domain, findings/domain.py),
`releases` (`2.1..2.12`: those it holds for).
A row about what is documented has words of it as `quote`, which must stand in the docstring of the API, of a sibling or of the function
`quoted` in the release under test; where no docstring has any, `said` are words of those who maintain it, on the page behind the link.
`fixed` is the release that is said to have mended it: seen there or later it is a regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gradfuzz.envs.versions import order
from gradfuzz.findings.domain import outside
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import Program
from gradfuzz.targets.homes import homes

NEW = "new"
KNOWN, BY_DESIGN, REGRESSION = "known", "by-design", "regression"
LABELS = (KNOWN, BY_DESIGN, REGRESSION)
# What somebody ought to hear of: nobody has reported it, or somebody has said that it is gone.
NEWS = (NEW, REGRESSION)


@dataclass(frozen=True)
class Label:
    """`label` is known, by-design or regression; `quote` is what the documentation says, where it does."""

    label: str
    reason: str
    link: str
    quote: str = ""


def web_link(link: str) -> str:
    """The link if it leads to the web; nothing where it would do anything else."""
    return link if link.startswith(("https://", "http://")) else ""


def labels(target: str) -> list[dict[str, Any]]:
    """A target's own rows."""
    return list(homes()[target].data("labels").get("labels", ())) if target in homes() else []


def label_for(
    target: str, api: str, rule: str, verdict: Verdict, program: Program | None = None, version: str = "",
    documented: Sequence[str] | None = None,
) -> Label | None:  # fmt: skip
    """The first label that fits, or None: new. `documented`: what docstrings say; None where nobody has looked, and the row is believed."""
    for row in labels(target):
        if _fits(row, api, rule, verdict) and _holds(row, api, program, version, documented):
            if row.get("fixed") and version and order(version) >= order(row["fixed"]):
                return Label(REGRESSION, f"{row['reason']} It is said to be mended in {row['fixed']}.", row["link"])
            return Label(row["label"], row["reason"], row["link"], row.get("quote", row.get("said", "")))
    return None


def _fits(row: dict[str, Any], api: str, rule: str, verdict: Verdict) -> bool:
    """Whether a row is about such a finding, by its name and its verdict."""
    if not any(fnmatchcase(name, pattern) for name in (api, rule) if name for pattern in row["names"]):
        return False
    if "kinds" in row and verdict.kind not in row["kinds"]:
        return False
    if "orders" in row and verdict.order not in row["orders"]:
        return False
    if "scenarios" in row and not set(row["scenarios"]) & set(verdict.names):
        return False
    if "mode" in row and any(row["mode"] not in s.modes for s in verdict.scenarios):
        return False
    if "again" in row and any(row["again"] not in s.modes[:-1] for s in verdict.scenarios):
        return False
    return "message" not in row or row["message"] in verdict.reason


def _holds(row: dict[str, Any], api: str, program: Program | None, version: str, documented: Sequence[str] | None) -> bool:
    """Whether it holds at these inputs, in this release."""
    if "quote" in row and documented is not None and not any(row["quote"] in sentence for sentence in documented):
        return False
    if "releases" in row and version:
        first, _, last = row["releases"].partition("..")
        if (first and order(version) < order(first)) or (last and order(version) > order(last)):
            return False
    if program is None:
        return True
    if "types" in row and not {r.dtype for r in program.inputs.values()} & set(row["types"]):
        return False
    if "given" in row and not any(name == row["given"] and _set(value) for call in program.calls() for name, value in call.kwargs):
        return False
    if "off" in row and not any(name == row["off"] and value is False for call in program.calls() for name, value in call.kwargs):
        return False
    if "word" in row and row["word"] not in (node for node in program.expressions() if isinstance(node, str)):
        return False
    return "outside" not in row or outside(program, api, row["outside"])


def _set(value: object) -> bool:
    return value is not None and value is not False
