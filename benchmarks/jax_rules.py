"""Which of JAX's derivative and batching rules campaigns reached, out of those that exist, and why the others are not.

gradfuzz run jax --time 30m --store jax.db
python benchmarks/jax_rules.py jax.db [MORE.db ...]
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from pathlib import Path

from gradfuzz.targets.registry import load_target

WANTED = {"jvp": 90.0, "transpose": 90.0}


def main(stores: list[Path]) -> None:
    reached = {rule for store in stores for rule in stored(store)}
    report(load_target("jax").rules(), reached)


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
