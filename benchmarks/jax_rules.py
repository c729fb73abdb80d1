"""Which of JAX's derivative and batching rules campaigns reached, out of those that exist, and why the others are not.

    gradfuzz run jax --time 30m --store jax.db
    python benchmarks/jax_rules.py jax.db [MORE.db ...]
    python benchmarks/jax_rules.py SEEDS.jsonl

With a file of seeds (the cache of a campaign has one) it says what the seeds reach by themselves, traced to order one and batched: what
a campaign has reached after its first round, however long that takes on a busy machine.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path

import jax
import numpy as np

from gradfuzz.program import from_json
from gradfuzz.targets.jax.scenarios import derivative
from gradfuzz.targets.jax.variants import batched
from gradfuzz.targets.registry import load_target

WANTED = {"jvp": 90.0, "transpose": 90.0}


def main(paths: list[Path]) -> None:
    target = load_target("jax")
    reached = {rule for path in paths for rule in (traced(target, path) if path.suffix == ".jsonl" else stored(path))}
    report(target.rules(), reached)


def traced(target, path: Path) -> set[str]:
    """Rules that the seeds of a file reach. Nothing is compiled or computed."""
    began = time.process_time()
    target.notes.take()
    seeds = [from_json(json.loads(line)["program"]) for line in path.read_text().splitlines()]
    for program in seeds:
        with contextlib.suppress(Exception):  # a rule that refuses was reached all the same
            trace_all(target.point(program))
    print(f"{path}: {len(seeds)} seeds traced in {time.process_time() - began:.0f} CPU seconds")
    return target.notes.take()


def trace_all(point) -> None:
    leaves = tuple(point.leaves)

    def function(*xs):
        return point.function(xs, point.fixed)

    weights = tuple(np.zeros(o.shape, o.dtype) for o in jax.eval_shape(function, *leaves))
    for way, modes in [(derivative, ("f",)), (derivative, ("r",)), (batched, ("r",))]:
        with contextlib.suppress(Exception):
            jax.eval_shape(lambda xs, us, v, way=way, modes=modes: way(function, xs, modes, us, v), leaves, [leaves], weights)


def stored(store: Path) -> set[str]:
    with sqlite3.connect(store) as connection:
        mutants = [json.loads(row[0]) for row in connection.execute("select counts from batches")]
        total = sum(sum(counts.values()) for counts in mutants)
        invalid = sum(counts.get("invalid", 0) for counts in mutants)
        print(f"{store}: {len(mutants)} batches, {total} mutants, {100 * (1 - invalid / max(1, total)):.1f} % valid")
        return {row[0] for row in connection.execute("select distinct rule from rules")}


def report(existing: dict[str, str], reached: set[str]) -> None:
    """Reached out of those in reach, by table; a rule that was reached counts whatever its reason said."""
    for kind in ("jvp", "transpose", "batch"):
        missing: dict[str, list[str]] = defaultdict(list)
        rules = {rule: reason for rule, reason in existing.items() if rule.startswith(f"{kind}:")}
        for rule, reason in rules.items():
            if rule not in reached:
                missing[reason or "NOT REACHED"].append(rule.split(":", 1)[1])
        hit = len(rules.keys() & reached)
        share = 100 * hit / max(1, hit + len(missing.get("NOT REACHED", [])))
        wanted = f" (wanted: {WANTED[kind]:.0f})" if kind in WANTED else ""
        print(f"{kind:10s} {hit} reached of {len(rules)} that exist; of those in reach {share:.1f} %{wanted}")
        for reason, names in missing.items():
            print(f"           {len(names):3d} {reason}: {', '.join(names)}")


if __name__ == "__main__":
    main([Path(a) for a in sys.argv[1:]])
