"""Labels: what is known upstream and what is by design, each with its reason and link. They are the targets' own; they hide nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gradfuzz.findings.domain import outside
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import Program
from gradfuzz.targets.homes import homes

NEW = "new"
LABELS = ("known", "by-design")


@dataclass(frozen=True)
class Label:
    """`label` is known or by-design."""

    label: str
    reason: str
    link: str


def web_link(link: str) -> str:
    """The link if it leads to the web; nothing where it would do anything else."""
    return link if link.startswith(("https://", "http://")) else ""


def labels(target: str) -> list[dict[str, Any]]:
    """A target's own rows."""
    return list(homes()[target].data("labels").get("labels", ())) if target in homes() else []


def label_for(target: str, api: str, rule: str, verdict: Verdict, program: Program | None = None) -> Label | None:
    """The first label that fits, or None: new. A label about a domain is given only where the Program's inputs are outside it."""
    for row in labels(target):
        if _fits(row, api, rule, verdict) and ("outside" not in row or program is None or outside(program, api, row["outside"])):
            return Label(row["label"], row["reason"], row["link"])
    return None


def _fits(row: dict[str, Any], api: str, rule: str, verdict: Verdict) -> bool:
    if not any(fnmatchcase(name, pattern) for name in (api, rule) if name for pattern in row["names"]):
        return False
    if "kinds" in row and verdict.kind not in row["kinds"]:
        return False
    if "orders" in row and verdict.order not in row["orders"]:
        return False
    if "scenarios" in row and not set(row["scenarios"]) & set(verdict.names):
        return False
    return "message" not in row or row["message"] in verdict.reason
