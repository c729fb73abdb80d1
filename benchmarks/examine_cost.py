"""What examining a mutant costs in this tree and in another: CPU seconds on the very same Programs, at orders one and two, in turns.

    python benchmarks/examine_cost.py COMMIT_OR_FOLDER [EVERY [WANTED]]

Whole campaigns draw their own mutants (`throughput.py`), so that a search which goes deeper is slower there; here both trees examine the
same ones: every EVERY-th of PyTorch's samples (16), as it is and at ordinary numbers drawn anew. Exits 1 below WANTED (0.95).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import throughput

TURNS = 3
WANTED = 0.95
# What each tree runs: what it needs of the package is there since targets are folders.
EXAMINES = """
import json, sys, time, warnings
from dataclasses import replace
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json
from gradfuzz.program.model import Values
from gradfuzz.targets.homes import load_target

warnings.simplefilter("ignore")
target = load_target("torch")
rows = [from_json(json.loads(line)["program"]) for line in open(sys.argv[1])]
drawn = [p.with_inputs({n: replace(r, values=Values("normal", (), 5)) for n, r in p.inputs.items() if r.differentiable}) for p in rows]
for program in rows[:40]:
    examine(target, program, Options(order=1))  # the library warms up
began, outcomes = time.process_time(), []
for salt, program in enumerate(rows + drawn):
    outcomes.append(examine(target, program, Options(order=2, salt=salt)).outcome)
spent = time.process_time() - began
print(json.dumps([len(outcomes), spent, {o: outcomes.count(o) for o in sorted(set(outcomes))}]))
"""


def cost(tree: Path, seeds: Path) -> tuple[float, dict[str, int]]:
    """Mutants per CPU second, and the verdicts."""
    ran = subprocess.run(
        [sys.executable, "-c", EXAMINES, str(seeds)], env={**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise SystemExit(ran.stderr[-2000:])
    count, spent, outcomes = json.loads(ran.stdout.splitlines()[-1])
    return count / spent, outcomes


def main(commit: str, every: int = 16, wanted: float = WANTED) -> None:
    throughput.EVERY = every
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = Path(commit).resolve() if Path(commit).is_dir() else throughput.unpacked(commit, folder / "other")
        seeds = throughput.sample_seeds(folder)
        ratios = []
        for _ in range(TURNS):
            (theirs, said_there), (ours, said_here) = cost(other, seeds), cost(throughput.HERE, seeds)
            ratios.append(ours / theirs)
            print(f"{commit}: {theirs:.1f} mutants per CPU second, this tree: {ours:.1f}, ratio {ratios[-1]:.2f}", flush=True)
    print(f"verdicts there {said_there}, here {said_here}")
    print(f"ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}; wanted: at least {wanted})")
    raise SystemExit(median(ratios) < wanted)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *map(float, sys.argv[3:4]))
