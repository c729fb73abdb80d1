"""gradfuzz against torch.autograd.gradcheck on the same operator samples, the same three modes, one core, one run."""

from __future__ import annotations

import gc
import statistics
import sys
import time
import warnings

import torch
from common import operator_seeds

from gradfuzz.oracles.check import Options, examine
from gradfuzz.targets.base.scenario import FORWARD
from gradfuzz.targets.homes import load_target

# A campaign checks a seed's mutants one after the other and gradcheck evaluates its function hundreds of times: both run warm. The best of
# several runs is taken on both sides, since other work on the machine only ever adds.
OUR_REPEATS = 15
THEIR_REPEATS = 2
# gradcheck in its default mode makes whole Jacobians, three of them: beyond this many entries it needs gigabytes.
JACOBIAN_LIMIT = 2**23


def main(every: int) -> None:
    warnings.simplefilter("ignore")
    gc.disable()  # for both sides alike
    target = load_target("torch")
    rows = []
    seeds = operator_seeds(target)[::every]
    for position, seed in enumerate(seeds):
        row = compare(target, seed.program)
        if row is not None:
            rows.append((*row, seed.source))
        if position % 50 == 0:
            print(f"\r{position}/{len(seeds)} samples", end="", file=sys.stderr)
    print(file=sys.stderr)
    ratios = sorted(theirs / ours for ours, theirs, _ in rows)
    ours, theirs = sum(r[0] for r in rows), sum(r[1] for r in rows)
    print(f"samples compared          {len(rows)}")
    print(f"gradcheck, CPU seconds    {theirs:.2f}")
    print(f"gradfuzz, CPU seconds     {ours:.2f}   ({len(rows) / ours:.0f} checks per CPU-second)")
    print(f"ratio, median of samples  {statistics.median(ratios):.1f}   (wanted: 40)")
    print(f"ratio, totals             {theirs / ours:.1f}   (wanted: 150)")
    print("quartiles of the ratio    " + ", ".join(f"{q:.1f}" for q in statistics.quantiles(ratios, n=4)))


def compare(target, program) -> tuple[float, float] | None:
    """(our time, gradcheck's time) on one sample; None if either cannot judge it."""
    point = target.point(program)
    try:
        outputs = point.first()
    except Exception:
        return None
    if not point.leaves or sum(x.numel() for x in point.leaves) * sum(o.size for o in outputs) > JACOBIAN_LIMIT:
        return None
    if examine(target, program, Options(order=1)).outcome != "agree":
        return None
    probe = examine(target, program, Options(order=1, scenarios=frozenset({FORWARD})))
    forward = not any(v.outcome == "unsupported" for v in probe.verdicts)
    ours = min(timed(lambda: examine(target, program, Options(order=1))) for _ in range(OUR_REPEATS))
    leaves = [x.detach().clone().requires_grad_() for x in point.leaves]

    def function(*xs):
        return tuple(point.function(xs))

    torch._C._set_grad_enabled(True)
    try:
        theirs = min(
            timed(lambda: torch.autograd.gradcheck(function, leaves, check_forward_ad=forward, raise_exception=False))
            for _ in range(THEIR_REPEATS)
        )
    except Exception:
        return None
    finally:
        torch._C._set_grad_enabled(False)
    return ours, theirs


def timed(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
