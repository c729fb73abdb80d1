"""Planted errors on PyTorch's own operator samples: how small an error is seen, and how often a healthy sample is accused.

The error is planted between PyTorch and the oracles: reverse mode's answer is multiplied by 1 + e, everything else is left as it is.
"""

from __future__ import annotations

import sys
import warnings

from common import operator_seeds

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.targets.homes import load_target
from gradfuzz.targets.torch import point

ERRORS = (1e-3, 1e-6)


def main(every: int) -> None:
    warnings.simplefilter("ignore")
    target = load_target("torch")
    seeds = operator_seeds(target)[::every]
    healthy: dict[str, int] = {}
    testable, accused = [], []
    for position, seed in enumerate(seeds):
        seen = examine(target, seed.program, Options(order=1))
        healthy[seen.outcome] = healthy.get(seen.outcome, 0) + 1
        if seen.outcome == DISAGREE:
            accused.append((seed.source, seen.findings[0].reason))
        elif seen.outcome == AGREE and seen.trial is not None and _has_gradient(seen.trial):
            testable.append(seed)
        if position % 100 == 0:
            print(f"\r{position}/{len(seeds)} samples", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(f"samples                          {len(seeds)}")
    for outcome, count in sorted(healthy.items(), key=lambda item: -item[1]):
        print(f"  healthy: {outcome:<22}  {count}  ({100 * count / len(seeds):.2f} %)")
    for error in ERRORS:
        missed = [s.source for s in testable if not _caught(target, s, error)]
        share = 100 * (1 - len(missed) / len(testable))
        print(f"an error of {error:.0e} in reverse mode   caught in {share:.2f} % of {len(testable)} samples with a gradient")
        for source in missed[:20]:
            print(f"    missed: {source}")
    print("samples reported as disagreeing as they are (each is judged in docs/found):")
    for source, reason in accused:
        print(f"    {source}: {reason}")
    print(f"inconclusive: {healthy.get(INCONCLUSIVE, 0)}")


def _has_gradient(trial) -> bool:
    """A derivative that is zero everywhere cannot be wrong by a factor."""
    outcome = trial.outcome(REVERSE)
    return hasattr(outcome, "result") and trial.number(outcome) != 0.0


def _caught(target, seed, error: float) -> bool:
    original = point.reverse

    def planted(*args):
        outcome = original(*args)
        outcome.result = [outcome.result[0] * (1 + error)]
        return outcome

    point.reverse = planted
    try:
        return examine(target, seed.program, Options(order=1)).outcome == DISAGREE
    finally:
        point.reverse = original


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
