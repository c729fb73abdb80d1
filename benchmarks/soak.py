"""Does anything grow? A long campaign with the memory of its driver, its zygote and its workers looked at all the while.

    python benchmarks/soak.py torch 1h
    python benchmarks/soak.py torch 2m --least 20     # as CI runs it

Prints a line for each tenth of the time and ends with 1 if the driver or the workers hold more in the last third than in the middle one,
beyond what is allowed. The first third is not judged: seeds are read, libraries load themselves, caches fill.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from gradfuzz.cli.console import seconds
from gradfuzz.engine.config import Config
from gradfuzz.pool.launch import Launch
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import chosen

EVERY = 1.0  # seconds between looks
ALLOWED = 1.10  # of the middle third; megabytes beside it are allowed for what the store's cache and the plan still gain
BESIDE = 32.0


class Quiet:
    def tick(self, state: Any) -> None: ...

    def found(self, finding: Any) -> None: ...

    def say(self, text: str) -> None:
        print(text, flush=True)


class Watch(threading.Thread):
    """Megabytes by process: the driver, and the mean of its workers (a guest or one that was just forked counts for what it holds)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[float, float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        began, driver = time.monotonic(), psutil.Process()
        while not self.over.wait(EVERY):
            zygotes = [p for p in driver.children() if _is_zygote(p)]
            workers = [_private(w) for z in zygotes for w in z.children()]
            if workers:
                self.seen.append((time.monotonic() - began, driver.memory_info().rss / 2**20, statistics.median(workers)))


def _is_zygote(process: psutil.Process) -> bool:
    try:
        return "boot.py" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _private(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("target")
    parser.add_argument("time", type=seconds)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--least", type=int, default=100, help="looks that are needed to say anything")
    options = parser.parse_args()
    launch = Launch(options.target, ways=tuple(way.name for way in chosen(options.target, "default", ()).ways))
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "s.db"
        watch.start()
        state = run_mutants(Config(launch, seconds=options.time, workers=options.workers), store, False, Quiet())
        watch.over.set()
        size = store.stat().st_size / 2**20
    seen = watch.seen
    if len(seen) < options.least:
        print(f"only {len(seen)} looks: too short to say anything")
        return 2
    for tenth in range(10):
        part = seen[tenth * len(seen) // 10 : (tenth + 1) * len(seen) // 10] or seen[-1:]
        driver, worker = (statistics.mean(p[place] for p in part) for place in (1, 2))
        print(f"{part[-1][0]:7.0f} s: driver {driver:6.0f} MB, a worker {worker:6.0f} MB")
    print(f"{state.done} mutants, {len(state.findings)} findings, a store of {size:.1f} MB, {state.restarts} restarts")
    third = len(seen) // 3
    worst = 0
    for name, place in (("driver", 1), ("workers", 2)):
        middle, last = (statistics.mean(p[place] for p in part) for part in (seen[third : 2 * third], seen[2 * third :]))
        grows = last > ALLOWED * middle + BESIDE
        worst = max(worst, int(grows))
        print(f"{name}: {middle:.0f} MB in the middle third, {last:.0f} MB in the last: {'GROWS' if grows else 'constant'}")
    return worst


if __name__ == "__main__":
    sys.exit(main())
