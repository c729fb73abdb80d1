"""A worker's share of a sweep: some chains of ops, one after the other, each at all points."""

from __future__ import annotations

import time
from typing import Any, Callable

from gradfuzz.chains.blame import Blame
from gradfuzz.chains.hazards import Hazards
from gradfuzz.chains.judge import Judged, judge
from gradfuzz.chains.ops import Op, find_ops
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import RANK
from gradfuzz.program.codec import to_json
from gradfuzz.targets.protocol import Target
from gradfuzz.worker.progress import Progress


def run_chains(target: Target, job: dict[str, Any], progress: Progress, found: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Judge chains start … of the job; `found` is told of each finding at once."""
    counts = [0] * len(RANK)
    hazards = Hazards(job["hazards"])
    rows: list[dict[str, Any]] = []
    began = time.process_time()
    for index in range(job["start"], len(job["chains"])):
        progress.write(job["id"], index, counts)
        ops = [Op.from_json(op) for op in job["chains"][index]]
        judged = judge(target, ops, job["points"], job["dtype"], job["order"], hazards)
        for outcome, count in judged.counts.items():
            counts[RANK.index(outcome)] += count
        for blamed in judged.findings:
            found(blame_report(blamed, job["order"], index))
        rows.append(_row(index, judged))
    progress.write(job["id"], len(job["chains"]), counts)
    return {"counts": counts, "rows": rows, "cpu": time.process_time() - began}


def blame_report(blamed: Blame, order: int, index: int, salt: int = 0) -> dict[str, Any]:
    """What a campaign needs to know of a disagreement that was blamed on something."""
    assert blamed.verdict is not None
    return {
        "index": index,
        "blame": blamed.kind,
        "api": blamed.api,
        "program": to_json(blamed.program),
        "edits": [],
        "options": Options(order, None, salt, blamed.strict).to_json(),
        "rule": blamed.rule,
        "verdicts": [blamed.verdict.to_json()],
    }


def _row(index: int, judged: Judged) -> dict[str, Any]:
    return {
        "index": index,
        "counts": dict(judged.counts),
        "reasons": dict(judged.reasons),
        "looked_at": judged.looked_at,
        "refusal": judged.refusal[:200],
    }


def list_ops(target: Target, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The target's single-argument ops."""
    nothing = [0] * len(RANK)
    return {"ops": [op.to_json() for op in find_ops(target, lambda count: progress.write(job["id"], count, nothing))]}
