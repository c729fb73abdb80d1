"""A worker's share of a sweep: some chains of ops, one after the other, each at all points."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Any, Callable

from gradfuzz.chains.blame import Blame
from gradfuzz.chains.examine import ChainResult, examine_chain
from gradfuzz.chains.hazards import Hazards
from gradfuzz.chains.ops import Op, find_ops
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import RANK
from gradfuzz.targets.base.protocol import Target
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.progress import Progress


def run_chains(target: Target, job: dict[str, Any], progress: Progress, found: Callable[[Suspicion], None]) -> dict[str, Any]:
    """Judge chains start … of the job; `found` is told of each suspicion at once."""
    counts = [0] * len(RANK)
    hazards, depth = Hazards(job["hazards"]), Depth.from_json(job["depth"])
    rows: list[dict[str, Any]] = []
    began = time.process_time()
    for index in range(job["start"], job["count"]):
        progress.write(job["id"], index, counts)
        ops = [Op.from_json(op) for op in job["chains"][index]]
        options = depth.options(index, Counter())
        judged = examine_chain(target, ops, job["points"], job["dtype"], options, hazards)
        for outcome, count in judged.counts.items():
            counts[RANK.index(outcome)] += count
        for blamed in judged.findings:
            found(suspicion_of(blamed, options))
        rows.append(_row(index, judged))
    progress.write(job["id"], len(job["chains"]), counts)
    return {"counts": counts, "rows": rows, "cpu": time.process_time() - began}


def suspicion_of(blamed: Blame, options: Options) -> Suspicion:
    """A disagreement that was blamed on something, as a suspicion of its own."""
    assert blamed.verdict is not None
    options = replace(options, strict=blamed.strict, ways=())
    return Suspicion(blamed.api, blamed.program, (), options, blamed.verdict, blamed.rule, blamed.kind)


def _row(index: int, judged: ChainResult) -> dict[str, Any]:
    return {
        "index": index,
        "counts": dict(judged.counts),
        "reasons": dict(judged.reasons),
        "looked_at": judged.looked_at,
        "refusal": judged.refusal[:200],
    }


def list_ops(target: Target, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The target's single-argument ops."""
    return {"ops": [op.to_json() for op in find_ops(target, noted(job, progress))]}


def noted(job: dict[str, Any], progress: Progress) -> Callable[[int], bool]:
    """Whether something may be tried out, by its number: what has killed a process before may not. The last number outlives this one."""
    nothing, deadly = [0] * len(RANK), set(job.get("deadly", ()))

    def trying(number: int) -> bool:
        progress.write(job["id"], number, nothing)
        return number not in deadly

    return trying
