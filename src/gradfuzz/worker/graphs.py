"""A worker's share of random graphs: built here, examined here, and blamed on an op or a composition where they disagree."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Callable

from gradfuzz.chains.blame import UNCLEAR, blame
from gradfuzz.chains.ops import Op
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.graphs.build import Builder
from gradfuzz.graphs.vocabulary import Vocabulary, learn
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INVALID, RANK
from gradfuzz.targets.base.protocol import Target
from gradfuzz.worker.batch import RULES_OF
from gradfuzz.worker.chains import noted, suspicion_of
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.progress import Progress


def run_graphs(target: Target, job: dict[str, Any], progress: Progress, found: Callable[[Suspicion], None]) -> dict[str, Any]:
    """Graphs start … count-1 of a batch; `found` is told of each suspicion at once."""
    words, depth = Vocabulary.from_json(job["words"]), Depth.from_json(job["depth"])
    counts = [0] * len(RANK)
    reasons: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    rules: set[str] = set()
    began = time.process_time()
    for index in range(job["start"], job["count"]):
        progress.write(job["id"], index, counts)
        outcome = _one(target, job, index, words, depth.options(index, Counter()), reasons, extra, rules, found)
        counts[RANK.index(outcome)] += 1
    progress.write(job["id"], job["count"], counts)
    row = {"index": 0, "reasons": dict(reasons), "looked_at": []}
    return {"counts": counts, "rows": [row], "cpu": time.process_time() - began, "extra": dict(extra), "rules": sorted(rules)}


def graph(target: str, words: Vocabulary, rng: str, index: int, size: int | None) -> Any:
    """The index-th graph of a batch: the same wherever it is built."""
    return Builder(target, words, f"{rng}:{index}", size).build()


def _one(
    target: Target, job: dict[str, Any], index: int, words: Vocabulary, options: Options, reasons: Counter[str], extra: Counter[str],
    rules: set[str], found: Callable[[Suspicion], None],
) -> str:  # fmt: skip
    program = graph(target.name, words, job["rng"], index, job["size"])
    extra["calls"] += sum(1 for _ in program.calls())
    seen = examine(target, program, options, keep_rules=index < RULES_OF)
    rules.update(seen.rules)
    if seen.trial is not None and not seen.trial.finite:
        reasons["the output is not finite"] += 1
        return INVALID
    if seen.outcome == INVALID and seen.error is not None:
        reasons[f"refused: {seen.error.message[:60]}"] += 1
    verdict = next((v for v in seen.verdicts if v.is_finding), None)
    if verdict is None:
        reasons.update(name for v in seen.verdicts if v.outcome == INCONCLUSIVE for name in v.excuses)
        first = [v for v in seen.verdicts if v.order == 1 and v.oracle == "gradient"]
        # A first order that agrees is an answer, whatever can be said of the second.
        return AGREE if seen.outcome == INCONCLUSIVE and any(v.outcome == AGREE for v in first) else seen.outcome
    blamed = blame(target, program, options, verdict)
    if blamed.kind == UNCLEAR:
        reasons[blamed.reason.split(":")[0]] += 1
        return INCONCLUSIVE
    found(suspicion_of(blamed, options))
    return DISAGREE


def list_words(target: Target, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The target's vocabulary."""
    ops = [Op.from_json(op) for op in job["ops"]]
    return {"words": learn(target, ops, noted(job, progress)).to_json()}
