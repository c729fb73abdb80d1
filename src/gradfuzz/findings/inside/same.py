"""What makes two findings one: the rule or API at fault, the kind, the order, the scenario, the symptom. Nobody else says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.targets.base.scenario import Scenario

# Parts of the key of a wrong number: whose fault, kind, order, scenario, symptom.
NUMBERED = 5


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


def probable_cause(key: str, function: Callable[[str], str] = str) -> tuple[str, int] | None:
    """What a key of wrong numbers is most likely about, and its order: a rule that is wrong in some modes is wrong in them at other
    orders and in other nestings of them, too, and so is a function under each of its names (`function`: the name behind a path). None
    for errors and deaths, whose keys tell neither orders nor scenarios apart.
    """
    parts = key.split("|")
    if len(parts) != NUMBERED:
        return None
    subject, kind, order, name, _ = parts
    try:
        scenario = Scenario.named(name)
        subject = function(subject) if "." in subject else subject
        return "|".join([subject, kind, "".join(sorted(set(scenario.modes))), scenario.way, scenario.device]), int(order)
    except (GradfuzzError, ValueError):  # a stranger's store
        return None


def finding_id(api: str, key: str) -> str:
    """Short, readable, and the same for the same finding."""
    name = api.rsplit(".", 1)[-1].strip("_") or "op"
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:6]}"
