"""Planted errors on PyTorch's own operator samples: how small an error is seen, and how often a healthy sample is accused.

python benchmarks/sensitivity.py [EVERY]                 every EVERY-th sample (8), at its own numbers
python benchmarks/sensitivity.py [EVERY] --strategies    and once more under every value strategy
python benchmarks/sensitivity.py [EVERY] … --part 3/16   a sixteenth of these samples: the counts of all parts add up

The error is planted between PyTorch and the oracles: one mode's answer is multiplied by 1 + e, everything else is left as it is.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from common import operator_seeds

from gradfuzz.mutate.numbers import VALUE_STRATEGIES
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import DOUBLE_UNIT
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE
from gradfuzz.program.model import DISCRETE
from gradfuzz.targets.base.scenario import FORWARD, REVERSE
from gradfuzz.targets.homes import load_target
from gradfuzz.targets.torch import point

ERRORS = (1e-3, 1e-6)
MODES = {"reverse": REVERSE, "forward": FORWARD}
CAUGHT = 0.90  # under every value strategy; the rest is inconclusive
SHOWN = 20


def main(every: int, strategies: bool, part: int = 1, parts: int = 1) -> int:
    warnings.simplefilter("ignore")
    target = load_target("torch")
    seeds = operator_seeds(target)[::every][part - 1 :: parts]
    bad = _table(target, "own numbers", [(s.source, s.program) for s in seeds])
    for name, (_, strategy) in VALUE_STRATEGIES.items() if strategies else ():
        bad |= _table(target, name, [(s.source, _under(s.program, strategy, index)) for index, s in enumerate(seeds)])
    return int(bad)


def _under(program, strategy, index):
    """The sample with other numbers in all of its inputs that are differentiated."""
    rng = random.Random(index)
    floats = {n: r for n, r in program.inputs.items() if r.differentiable and r.dtype not in DISCRETE}
    return program.with_inputs({n: replace(r, values=strategy(r.values, rng)) for n, r in floats.items()})


def _table(target, title, programs) -> bool:
    """Judge each Program as it is, then with errors planted in each mode. Whether an error was acquitted, or too many were not seen."""
    options = Options(order=1, salt=1)
    healthy: Counter[str] = Counter()
    testable, accused = [], []
    for position, (source, program) in enumerate(programs):
        seen = examine(target, program, options)
        healthy[seen.outcome] += 1
        if seen.outcome == DISAGREE:
            accused.append((source, seen.findings[0].reason))
        elif seen.trial is not None and seen.outcome in (AGREE, INCONCLUSIVE) and seen.trial.epsilon <= DOUBLE_UNIT:
            # A sample with a lower precision inside is judged by that precision's bars, which are wider than these errors.
            testable.append((source, program, seen.outcome, [m for m, s in MODES.items() if _has_gradient(seen.trial, s)]))
        if position % 50 == 0:
            print(f"\r{title}: {position}/{len(programs)} samples", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{title}: {len(programs)} samples, healthy: {dict(healthy.most_common())}")
    bad = False
    for mode in MODES:
        for error in ERRORS:
            outcomes: Counter[str] = Counter()
            missed, acquitted = [], []
            for source, program, before, modes in testable:
                # A sample that could not be judged while it was right says nothing about errors in it, but that none may be acquitted.
                if mode not in modes:
                    continue
                with planted(mode, error):
                    outcome = examine(target, program, options).outcome
                if outcome == AGREE:
                    acquitted.append(source)
                if before == AGREE:
                    outcomes[outcome] += 1
                    if outcome != DISAGREE:
                        missed.append(f"{source} ({outcome})")
            judged = sum(outcomes.values())
            share = outcomes[DISAGREE] / judged if judged else 1.0
            caught = f"caught {outcomes[DISAGREE]} of {judged} ({100 * share:.2f} %), acquitted {len(acquitted)}"
            print(f"  {error:.0e} in {mode:8s} {caught}   [{title}]")
            for source in acquitted[:SHOWN]:
                print(f"      ACQUITTED: {source}")
            for source in missed[:SHOWN]:
                print(f"      missed: {source}")
            bad |= bool(acquitted) or share < CAUGHT
    for source, reason in accused[:SHOWN]:
        print(f"  disagrees as it is (judged in docs/found): {source}: {reason[:120]}")
    return bad


def _has_gradient(trial, scenario) -> bool:
    """A derivative that is zero everywhere cannot be wrong by a factor."""
    outcome = trial.outcome(scenario)
    return hasattr(outcome, "result") and trial.number(outcome) != 0.0


@contextmanager
def planted(mode: str, error: float) -> Iterator[None]:
    """As if one mode of PyTorch were wrong by a factor."""
    original = getattr(point, mode)

    def wrong(*args):
        outcome = original(*args)
        outcome.result = [r * (1 + error) for r in outcome.result]
        return outcome

    setattr(point, mode, wrong)
    try:
        yield
    finally:
        setattr(point, mode, original)


if __name__ == "__main__":
    given = sys.argv[1:]
    part = given[given.index("--part") + 1].split("/") if "--part" in given else ("1", "1")
    sys.exit(main(next((int(a) for a in given if a.isdigit()), 8), "--strategies" in given, *map(int, part)))
