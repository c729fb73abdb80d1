"""What makes two findings one: the rule or API at fault, the kind, the order, the scenario, the symptom."""

from __future__ import annotations

import hashlib
import re
from typing import Any

_OVERWRITTEN = "modified by an inplace operation"
_NOT_WORDS = re.compile(r"[^A-Za-z_]+")
_TYPES = re.compile(
    r"\b(torch\.)?(c10::)?(B?[Ff]loat|[Dd]ouble|[Hh]alf|[Cc]omplex\w*|[Ii]nt|[Ll]ong|[Bb]ool|[Bb]yte|[Cc]har|[Ss]hort)(\d*)\b"
)

SYMPTOM = 140


def finding_key(api: str, rule: str, verdict: dict[str, Any]) -> str:
    """The dedupe key, as text that a person can read."""
    kind = verdict["kind"]
    subject = rule or api
    if kind == "internal":
        subject = "any"  # an assertion is one bug, whoever runs into it
    scenario = verdict["scenarios"][0] if verdict["scenarios"] else ""
    if verdict["oracle"] == "status":
        if _OVERWRITTEN in str(verdict["reason"]):
            subject = f"any at order {verdict['order']}"  # the message names the operator at fault, whoever calls it
        return "|".join([subject, kind, symptom(verdict)])  # the same complaint in another scenario is the same bug
    return "|".join([subject, kind, str(verdict["order"]), scenario, symptom(verdict)])


def symptom(verdict: dict[str, Any]) -> str:
    """For errors the message without numbers and type names; nothing for wrong numbers, which differ from mutant to mutant."""
    if verdict["oracle"] not in ("status", "process"):
        return ""
    message = _TYPES.sub("T", str(verdict["reason"]).split("\n")[0])
    return _NOT_WORDS.sub(" ", message)[:SYMPTOM].strip()


def finding_id(api: str, key: str) -> str:
    """Short, readable, and the same for the same finding."""
    name = api.rsplit(".", 1)[-1].strip("_") or "op"
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:6]}"
