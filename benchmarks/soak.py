"""Does anything grow? A long campaign with the memory of its driver, its zygote and its workers looked at all the while.

    python benchmarks/soak.py torch 1h
    python benchmarks/soak.py torch 2m --least 20     # as CI runs it
    python benchmarks/soak.py --watch PID             # a `gradfuzz run` that is under way, until it ends

Prints a line for each tenth of the time and ends with 1 if the driver or the workers hold more in the last third than in the middle one,
beyond what is allowed. The first third is not judged: seeds are read, libraries load themselves, caches fill.
"""

from __future__ import annotations

import argparse
import contextlib
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

    def __init__(self, driver: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.driver = driver
        self.seen: list[tuple[float, float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        with contextlib.suppress(psutil.NoSuchProcess):
            while not self.over.wait(EVERY):
                zygotes = [p for p in self.driver.children() if _is_zygote(p)]
                workers = [_held(w) for z in zygotes for w in _children(z)]
                if workers:
                    self.seen.append((time.monotonic() - began, _held(self.driver), statistics.median(workers)))


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children())
    except psutil.Error:
        return []


def _is_zygote(process: psutil.Process) -> bool:
    try:
        return "boot.py" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _held(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("target", nargs="?")
    parser.add_argument("time", type=seconds, nargs="?")
    parser.add_argument("--watch", type=int, metavar="PID", help="a campaign that is under way, instead of one of its own")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--least", type=int, default=100, help="looks that are needed to say anything")
    options = parser.parse_args()
    if options.watch is None and options.time is None:
        parser.error("name a target and a time, as in: soak.py torch 1h; or a campaign that is under way: soak.py --watch PID")
    if options.watch is not None:
        try:
            watch = Watch(psutil.Process(options.watch))
        except psutil.Error:
            parser.error(f"--watch {options.watch}: there is no such process")
        watch.start()
        watch.join()
        return judge(watch.seen, options.least)
    watch = Watch(psutil.Process())
    launch = Launch(options.target, ways=tuple(way.name for way in chosen(options.target, "default", ()).ways))
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "s.db"
        watch.start()
        state = run_mutants(Config(launch, seconds=options.time, workers=options.workers), store, False, Quiet())
        watch.over.set()
        size = store.stat().st_size / 2**20
    print(f"{state.done} mutants, {len(state.findings)} findings, a store of {size:.1f} MB, {state.restarts} restarts")
    return judge(watch.seen, options.least)


def judge(seen: list[tuple[float, float, float]], least: int) -> int:
    """Print what was held in each tenth of the time; 1 where it grows, 2 where too little was seen."""
    if len(seen) < least:
        print(f"only {len(seen)} looks: too short to say anything")
        return 2
    for tenth in range(10):
        part = seen[tenth * len(seen) // 10 : (tenth + 1) * len(seen) // 10] or seen[-1:]
        driver, worker = (statistics.mean(p[place] for p in part) for place in (1, 2))
        print(f"{part[-1][0]:7.0f} s: driver {driver:6.0f} MB, a worker {worker:6.0f} MB")
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
