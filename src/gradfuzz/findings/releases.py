"""Asking a release about a finding: does its script show it there?"""

from __future__ import annotations

from collections.abc import Iterable

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import CANNOT, GONE, SHOWS
from gradfuzz.findings.script import script
from gradfuzz.findings.writing import SCRIPT_LIMIT
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import DISAGREE, INVALID, UNSUPPORTED
from gradfuzz.pool.executor import Executor
from gradfuzz.program import to_json
from gradfuzz.targets.base.ways import STRICT, read_ways
from gradfuzz.targets.homes import home_of

MOST_WHY = 200  # characters


def ask(pool: Executor, finding: Finding) -> tuple[str, str]:
    """(what this release says of a finding, why). Its script is written anew: what lies in a store is never run.

    A script that raises exits with 1, too. So a Program that this release has not all functions for is told apart first, and what is
    about raising is examined rather than run. What kills its process is run in a worker: how long an import takes must not matter.
    """
    program = to_json(finding.program)
    refused = pool.run("vet", programs=[program], start=0).data.get("refused", {})
    if refused:
        return CANNOT, str(next(iter(refused.values())))[:MOST_WHY]
    if finding.verdict.oracle == "status":
        return _examined(pool, finding)
    if finding.verdict.oracle == "process":
        return _run(pool, finding)
    event = pool.run("script", fresh=True, limit=SCRIPT_LIMIT, source=script(finding))
    if event.kind == "died":
        return CANNOT, f"its process died: {event.data['cause']}"
    if event.data.get("status") in (0, 1):
        return (SHOWS if event.data["status"] else GONE), _last(event.data["output"])
    return CANNOT, str(event.data.get("failed") or _last(event.data.get("output", "")))[:MOST_WHY]


def ways_of(target: str, findings: Iterable[Finding], said: Iterable[str] = ()) -> tuple[str, ...]:
    """The ways of running that workers are made ready for: what the user said, and what findings are about.

    A way that needs walls to be lowered is the user's to name: a store is data, perhaps a stranger's.
    """
    known = read_ways(home_of(target).data("ways"))
    named = [s.way for finding in findings for s in finding.verdict.scenarios]
    return tuple(dict.fromkeys([*said, *(name for name in named if name in known and known[name].walls == STRICT)]))


def _run(pool: Executor, finding: Finding) -> tuple[str, str]:
    scenario = finding.verdict.scenarios[0]
    if scenario.way and scenario.way not in pool.ways:
        return CANNOT, f"this release has no {scenario.way}"
    event = pool.run("scenario", fresh=True, limit=finding.limit, program=to_json(finding.program), scenario=scenario.name)
    if event.kind == "died":
        return SHOWS, f"the process died: {event.data['cause']}"
    return (CANNOT, str(event.data["failed"])[:MOST_WHY]) if "failed" in event.data else (GONE, "it comes back")


def _examined(pool: Executor, finding: Finding) -> tuple[str, str]:
    verdict = finding.verdict
    ways = tuple(s.way for s in verdict.scenarios if s.way)
    if not all(way in pool.ways for way in ways):
        return CANNOT, f"this release has no {' or '.join(ways)}"
    event = pool.run("examine", fresh=True, program=to_json(finding.program), options=Options(max(1, verdict.order), ways=ways).to_json())
    if event.kind == "died" or "verdicts" not in event.data:
        return CANNOT, str(event.data.get("refused") or event.data.get("failed") or event.data.get("cause"))[:MOST_WHY]
    seen = event.data["verdicts"]
    same = [v for v in seen if v["outcome"] == DISAGREE and v["kind"] == verdict.kind]
    if same:
        return SHOWS, str(same[0]["reason"])[:MOST_WHY]
    declared = [v for v in seen if v["outcome"] in (UNSUPPORTED, INVALID) and set(v["scenarios"] or verdict.names) & set(verdict.names)]
    return (CANNOT, str(declared[0]["reason"])[:MOST_WHY]) if declared else (GONE, "it does not raise")


def _last(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1][:MOST_WHY] if lines else ""
