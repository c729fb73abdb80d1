"""What a second worker brings, and what Ray costs: mutants per second, same seed, same mutants, same findings.

    python benchmarks/executors.py                 # needs Ray and two quiet cores; some five minutes
    python benchmarks/executors.py --mutants 6000 --rounds 3

Runs the same campaign with one worker, with two, and with two on a Ray cluster of this machine, in turn, and prints the ratios of the best
rounds. What is timed is from the first batch to the last: run it twice, since with an empty cache the first campaign reads seeds meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gradfuzz.cluster.places import Cluster
from gradfuzz.engine.config import Config
from gradfuzz.pool.launch import Launch
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import chosen

TWO, RAY = 1.9, 0.9  # what must be reached


class Clock:
    """Notes when the first and the last batch were done."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.done = self.before = 0

    def tick(self, state: Any) -> None:
        if state.done > self.done:
            now = time.monotonic()
            if not self.done:
                self.first, self.before = now, state.done
            self.last, self.done = now, state.done

    def found(self, finding: Any) -> None: ...

    def say(self, text: str) -> None: ...

    @property
    def rate(self) -> float:
        return (self.done - self.before) / (self.last - self.first)


def campaign(target: str, mutants: int, workers: int, cluster: Cluster | None) -> tuple[float, list[Any]]:
    launch = Launch(target, ways=tuple(way.name for way in chosen(target, "default", ()).ways))
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "s.db"
        run_mutants(Config(launch, seconds=None, mutants=mutants, workers=workers, cluster=cluster), store, False, clock)
        with contextlib.closing(sqlite3.connect(store)) as db:
            found = sorted(db.execute("select key, id, confirmed, times from findings"))
    return clock.rate, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--target", default="torch")
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    ways = {"one worker": (1, None), "two workers": (2, None), "two on Ray": (2, Cluster())}
    best = dict.fromkeys(ways, 0.0)
    findings: dict[str, list[Any]] = {}
    for _ in range(options.rounds):
        for name, (workers, cluster) in ways.items():
            rate, found = campaign(options.target, options.mutants, workers, cluster)
            best[name] = max(best[name], rate)
            same = findings.setdefault("", found) == found
            print(f"{name}: {rate:.1f} mutants/s, {len(found)} findings{'' if same else ', OTHERS THAN BEFORE'}", flush=True)
            for row in sorted(set(findings[""]) ^ set(found)):
                print(f"    {'before' if row in findings[''] else 'now'}: {row}", flush=True)
            findings[name] = found
    two, ray = best["two workers"] / best["one worker"], best["two on Ray"] / best["two workers"]
    alike = all(found == findings[""] for found in findings.values())
    print(f"two workers: {two:.2f} times one (at least {TWO}); two on Ray: {ray:.2f} of two here (at least {RAY})")
    print(f"findings {'are' if alike else 'are NOT'} the same")
    return 0 if two >= TWO and ray >= RAY and alike else 1


if __name__ == "__main__":
    sys.exit(main())
