"""How many mutants at ordinary numbers end as inconclusive, in this tree and in another, on the very same Programs at orders one and two.

    python benchmarks/inconclusive.py COMMIT_OR_FOLDER [EVERY]

Every EVERY-th of PyTorch's samples (8), as it is and with its numbers drawn anew in the four ordinary ways. Where this tree has nothing to
say and the other one agreed, the other one is asked again with all derivatives of that order wrong by a hundredth, and by a millionth: if
it still agrees, it was blind to that. Mutants at which it was are counted; the others, and its findings that are none here, are listed
with the excuses that spoke. Exits 1 if the share here is above the other one's, mutants aside at which that one was blind to a millionth,
the least error that must never be acquitted (`sensitivity.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import throughput

ORDINARY = ("redrawn", "positive", "unit", "negative")
ERRORS = (1e-2, 1e-6)
UNSURE = "inconclusive"
# What each tree runs: what it needs of the package is there since targets are folders. A row is a Program, its salt, the order at which
# derivatives are made wrong (0: at none), and by which part of themselves. Said of it: the outcome, and of each order how it was judged
# and why.
EXAMINES = """
import json, sys, warnings
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import from_json
from gradfuzz.targets.homes import load_target

warnings.simplefilter("ignore")
target, attempt, planted, error = load_target("torch"), Trial.attempt, 0, 0.0

def wrong(trial, scenario, *rest, **more):
    outcome = attempt(trial, scenario, *rest, **more)
    if planted and scenario.order == planted and hasattr(outcome, "result"):
        outcome.result = [r * (1 + error) for r in outcome.result]
    return outcome

Trial.attempt = wrong
for line in open(sys.argv[1]):
    program, salt, planted, error = json.loads(line)
    seen = examine(target, from_json(program), Options(order=2, salt=salt))
    said = [[v.oracle, v.order, v.outcome, v.reason] for v in seen.verdicts if v.outcome in ("agree", "disagree", "inconclusive")]
    print(json.dumps([seen.outcome, said]), flush=True)
"""


def examined(tree: Path, rows: list, folder: Path) -> list:
    """What a tree says of each row."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = subprocess.run(
        [sys.executable, "-c", EXAMINES, str(path)], env={**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise SystemExit(ran.stderr[-2000:])
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]


def drawn(samples: list) -> list:
    """The samples' Programs as they are, and under each ordinary strategy."""
    import random
    from dataclasses import replace

    from gradfuzz.mutate.numbers import VALUE_STRATEGIES
    from gradfuzz.program import from_json, to_json
    from gradfuzz.program.model import DISCRETE

    rows = list(samples)
    for name in ORDINARY:
        for index, sample in enumerate(samples):
            program, rng = from_json(sample), random.Random(f"{name}:{index}")
            floats = {n: r for n, r in program.inputs.items() if r.differentiable and r.dtype not in DISCRETE}
            numbers = {n: replace(r, values=VALUE_STRATEGIES[name][1](r.values, rng)) for n, r in floats.items()}
            rows.append(to_json(program.with_inputs(numbers)))
    return rows


def main(commit: str, every: int = 8) -> None:
    from gradfuzz.program import from_json

    throughput.EVERY = every
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = Path(commit).resolve() if Path(commit).is_dir() else throughput.unpacked(commit, folder / "other")
        samples = [json.loads(line)["program"] for line in throughput.sample_seeds(folder).read_text().splitlines()]
        rows = [[program, salt, 0, 0.0] for salt, program in enumerate(drawn(samples))]
        there, here = examined(other, rows, folder), examined(throughput.HERE, rows, folder)
        unsure = [k for k, (a, b) in enumerate(zip(there, here)) if b[0] == UNSURE and a[0] in ("agree", "disagree")]
        asked = [
            (k, order, error) for k in unsure if there[k][0] == "agree" for error in ERRORS
            for order in sorted({o for oracle, o, outcome, _ in here[k][1] if oracle == "gradient" and outcome == UNSURE})
        ]  # fmt: skip
        again = examined(other, [[*rows[k][:2], order, error] for k, order, error in asked], folder)
    blind = {error: set[int]() for error in ERRORS}
    for (k, order, error), (_, said) in zip(asked, again):
        if ["gradient", order, "agree"] in [v[:3] for v in said]:
            blind[error].add(k)
    for title, seen in ((commit, there), ("this tree", here)):
        counts = Counter(outcome for outcome, _ in seen)
        print(f"{title}: inconclusive {counts[UNSURE]} of {len(seen)} ({100 * counts[UNSURE] / len(seen):.2f} %)  {dict(counts)}")
    print(f"inconclusive there and settled here: {sum(a[0] == UNSURE != b[0] for a, b in zip(there, here))}")
    for error, found in blind.items():
        print(f"inconclusive here, AGREE there and blind to an error of {error:.0e}: {len(found)}")
    for k in unsure:
        if k not in blind[ERRORS[0]]:
            reasons = [f"order {order}: {reason}" for _, order, outcome, reason in here[k][1] if outcome == UNSURE]
            how = f"agree there, blind to {ERRORS[-1]:.0e}" if k in blind[ERRORS[-1]] else f"{there[k][0]} there"
            print(f"  {how}: {k} {from_json(rows[k][0]).api} salt {rows[k][1]}: {'; '.join(reasons)}")
    worse = sum(outcome == UNSURE for outcome, _ in here) - len(blind[ERRORS[-1]]) - sum(outcome == UNSURE for outcome, _ in there)
    print(f"inconclusive here beyond there, blindness aside: {worse} (wanted: at most 0)")
    raise SystemExit(worse > 0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
