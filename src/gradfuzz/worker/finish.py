"""What a fresh process does for one suspected finding: see it again, make it small, measure it once more."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.mutate.shrink import shrink_edits, shrink_program
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.targets.protocol import Target


def same_bug(verdict: Verdict, wanted: dict[str, Any]) -> bool:
    """Whether a verdict is about what was seen before: the same kind, order and a scenario in common."""
    if verdict.kind != wanted["kind"] or verdict.order != wanted["order"]:
        return False
    if verdict.oracle == "status" and _words(verdict.reason) != _words(wanted["reason"]):
        return False
    return bool(set(verdict.scenarios) & set(wanted["scenarios"]))


def _words(message: str) -> str:
    return "".join(c for c in message.split("\n")[0] if c.isalpha())[:60]


def finish(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """Confirm and shrink. The answer says whether the bug was seen again, and where it is smallest."""
    seed, wanted = from_json(job["program"]), job["wanted"]
    options = Options.from_json(job["options"])
    edits = [Edit.from_json(e) for e in job["edits"]]
    options = replace(options, order=min(options.order, max(1, wanted["order"])))  # higher orders would only cost time
    deadline = time.monotonic() + job["seconds"]

    def seen(program: Program) -> Verdict | None:
        found = examine(target, program, options).findings
        return next((v for v in found if same_bug(v, wanted)), None)

    def shows(program: Program) -> bool:
        return seen(program) is not None

    program = apply_all(seed, edits)
    first = seen(program)
    if first is None:
        return {"confirmed": False}
    kept = shrink_edits(seed, edits, shows)
    smallest = shrink_program(apply_all(seed, kept), shows, lambda: time.monotonic() < deadline)
    examination = examine(target, smallest, options)
    verdict = next((v for v in examination.findings if same_bug(v, wanted)), first)
    return {
        "confirmed": True,
        "program": to_json(smallest),
        "edits": [e.to_json() for e in kept],
        "rule": examination.rule,
        "mutates": examination.trial is not None and examination.trial.point.mutates,
        "random": examination.trial is not None and examination.trial.point.random,
        "verdict": verdict.to_json(),
    }
