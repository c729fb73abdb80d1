"""One batch: a seed and its mutants, one after the other, each in every scenario."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.mutate.draw import draw_edits, draw_relative
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.verdict import INVALID, RANK
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.targets.protocol import Target
from gradfuzz.worker.progress import Progress

# A seed that has shown a bug twice at some order shows it to most of its mutants: the rest stay below that order.
SHOWN_OFTEN = 2
# Second order costs four times the first, so it is checked on every other mutant.
DEEP_EVERY = 2
# Where another shape is dear, so many mutants in a row share everything but their numbers: about as many as take the time of a compilation.
FAMILY = 128

_NUMBERS = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def mutant(seed: Program, rng: str, index: int, value_edits_cheap: bool = False) -> tuple[list[Edit], Program]:
    """The index-th mutant of a seed. Index 0 is the seed itself."""
    if index == 0:
        return [], seed
    chance = random.Random(f"{rng}:{index}")
    if value_edits_cheap:
        family = (index - 1) // FAMILY
        edits = draw_relative(seed, family, random.Random(f"{rng}:family:{family}"), chance)
    else:
        edits = draw_edits(seed, chance)
    return edits, apply_all(seed, edits)


def options_for(options: Options, index: int, shown: Counter[int]) -> Options:
    """A mutant's own options: its salt, and whether it is one of those that go deep."""
    order = options.order if index % DEEP_EVERY == 0 else min(1, options.order)
    while order > 1 and shown[order] >= SHOWN_OFTEN:
        order -= 1
    return Options(order, options.scenarios, options.salt + index)


def run_batch(target: Target, job: dict[str, Any], progress: Progress, found: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Examine mutants start … count-1 of a seed; `found` is told of each finding at once."""
    seed = from_json(job["program"])
    options = Options.from_json(job["options"])
    counts = [0] * len(RANK)
    rules: set[str] = set()
    refusals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    shown: Counter[int] = Counter()
    began = time.process_time()
    for index in range(job["start"], job["count"]):
        progress.write(job["id"], index, counts)
        try:
            edits, program = mutant(seed, job["rng"], index, target.value_edits_cheap)
            program.check()
        except ProgramError:
            counts[RANK.index(INVALID)] += 1
            continue
        chosen = options_for(options, index, shown)
        seen = examine(target, program, chosen, keep_rules=index < 4)
        counts[RANK.index(seen.outcome)] += 1
        rules.update(seen.rules)
        if seen.error is not None:
            refusals[f"{seen.error.kind}: {normalised(seen.error.message)}"] += 1
        for verdict in seen.verdicts:
            if verdict.outcome == "inconclusive":
                reasons[verdict.reason.split(":")[0]] += 1
        if seen.findings:
            shown.update({v.order for v in seen.findings})
            found(report(job, index, edits, program, chosen, seen))
    progress.write(job["id"], job["count"], counts)
    return {
        "counts": counts,
        "rules": sorted(rules),
        "refusals": dict(refusals.most_common(20)),
        "reasons": dict(reasons),
        "cpu": time.process_time() - began,
    }


def report(job: dict[str, Any], index: int, edits: list[Edit], program: Program, options: Options, seen: Examination) -> dict[str, Any]:
    """What a campaign needs to know of a mutant with findings."""
    return {
        "batch": job["id"],
        "index": index,
        "edits": [e.to_json() for e in edits],
        "program": to_json(program),
        "options": options.to_json(),
        "rule": seen.rule,
        "verdicts": [v.to_json() for v in seen.findings],
    }


def normalised(message: str) -> str:
    """A message without its numbers: the same complaint about other sizes is the same complaint."""
    return _NUMBERS.sub("N", message.split("\n")[0])[:160]
