"""One chain from its sweep to its verdicts: suspicious points are judged alone, and what is found is blamed on an op or on the chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradfuzz.chains.blame import UNCLEAR, Blame, blame
from gradfuzz.chains.hazards import Hazards
from gradfuzz.chains.ops import Op, program_of
from gradfuzz.chains.sweep import Sweep
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INVALID, UNSUPPORTED, Verdict
from gradfuzz.program.model import Tensor, Values
from gradfuzz.targets.base.protocol import Target

# A chain that is wrong is wrong at many points; the first few are enough to find out what is.
MOST_FINDINGS = 3
# Judging a point alone costs as much as a sweep. Of many, a few spread over the range are looked at.
MOST_ALONE = 10


@dataclass
class ChainResult:
    """Points by outcome over all orders, why nothing could be said of some, what was looked at alone, and findings."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    looked_at: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Blame] = field(default_factory=list)
    refusal: str = ""


def examine_chain(
    target: Target, ops: Sequence[Op], points: Sequence[float], dtype: str, options: Options, hazards: Hazards
) -> ChainResult:
    """Every point of one chain, up to an order. An op alone is run everywhere, to learn where it does not come back from."""
    found = ChainResult()
    safe = hazards.keep(target, ops, points, dtype)
    if len(safe) < len(points):
        found.reasons["left out: an op inside does not come back from here"] += len(points) - len(safe)
        found.counts[INCONCLUSIVE] += len(points) - len(safe)
    if not safe:
        return found
    swept = Sweep(target, ops, safe, dtype).run(options.order, brave=len(ops) == 1)
    if swept.refusal is not None and not swept.agree and not swept.suspects:
        outcome = UNSUPPORTED if swept.refusal.kind == "unsupported" else INVALID
        found.refusal = swept.refusal.message
        found.counts[outcome] += len(safe)
        return found
    found.counts[AGREE] += sum(swept.agree.values())
    found.counts[INCONCLUSIVE] += sum(swept.inconclusive.values())
    found.reasons.update({reason.split(":")[0]: count for reason, count in swept.inconclusive.items()})
    deepest: dict[int, int] = {}
    for k, indices in swept.suspects.items():
        deepest.update(dict.fromkeys(indices, k))
    suspects = sorted(deepest.items())
    chosen = suspects if len(ops) == 1 else suspects[:: -(-len(suspects) // MOST_ALONE) or 1]
    for index, k in chosen:
        if len(found.findings) < MOST_FINDINGS:
            _alone(target, ops, safe[index], dtype, replace(options, order=k), found)
    left = len(suspects) - len(chosen)
    if left:
        found.counts[INCONCLUSIVE] += left
        found.reasons["not looked at alone: others of this chain were"] += left
    return found


def _alone(target: Target, ops: Sequence[Op], x: float, dtype: str, options: Options, found: ChainResult) -> None:
    program = program_of(ops, Tensor((), dtype, Values("full", (x,))))
    seen = examine(target, program, options)
    verdict = next((v for v in seen.verdicts if v.is_finding), None)
    if verdict is None:
        last = next(v for v in seen.verdicts if v.outcome == seen.outcome)
        found.counts[seen.outcome] += 1
        if seen.outcome == INCONCLUSIVE:
            found.reasons[last.reason.split(":")[0]] += 1
        found.looked_at.append(_row(x, seen.outcome, last))
        return
    blamed = blame(target, program, options, verdict)
    if blamed.kind == UNCLEAR:
        found.counts[INCONCLUSIVE] += 1
        found.reasons["a call inside settles nothing by itself"] += 1
        found.looked_at.append({**_row(x, INCONCLUSIVE, verdict), "reason": blamed.reason})
        return
    found.counts[DISAGREE] += 1
    found.looked_at.append(_row(x, DISAGREE, verdict))
    blamed.rule = blamed.rule or seen.rule if len(ops) == 1 else blamed.rule
    found.findings.append(blamed)


def _row(x: float, outcome: str, verdict: Verdict) -> dict[str, Any]:
    """What the log says of one point: how far AD is from the numeric derivative, and how far it may be."""
    error = tolerance = None
    if isinstance(verdict.expected, (int, float)) and isinstance(verdict.actual, (int, float)):
        error = abs(verdict.actual - verdict.expected)
        tolerance = verdict.error_bar
    return {
        "x": x, "outcome": outcome, "order": verdict.order, "reason": verdict.reason, "error": error, "tolerance": tolerance,
    }  # fmt: skip
