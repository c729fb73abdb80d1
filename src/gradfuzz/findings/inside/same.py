"""What makes two findings one: the rule or API at fault, the kind, the order, the scenario, the symptom. Nobody else says."""

from __future__ import annotations

import hashlib

from gradfuzz.oracles.verdict import Verdict


def mark(verdict: Verdict) -> str:
    """What is wrong, whoever shows it: two verdicts are about the same bug of one Program if their marks are equal.

    Wrong numbers are told apart by order and by the first scenario at fault. An error is its message: the same complaint in another
    scenario or at another order is the same bug.
    """
    if verdict.oracle == "status":
        return "|".join([verdict.kind, verdict.symptom])
    scenario = verdict.scenarios[0].name if verdict.scenarios else ""
    return "|".join([verdict.kind, str(verdict.order), scenario, verdict.symptom])


def finding_key(api: str, rule: str, verdict: Verdict) -> str:
    """The dedupe key, as text that a person can read: whose fault it is, and the mark."""
    return f"{verdict.subject or rule or api}|{mark(verdict)}"


def finding_id(api: str, key: str) -> str:
    """Short, readable, and the same for the same finding."""
    name = api.rsplit(".", 1)[-1].strip("_") or "op"
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:6]}"
