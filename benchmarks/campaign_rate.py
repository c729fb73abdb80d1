"""Whole campaigns of this tree and of another, in turns: mutants per second, the share of the time that is spent searching, findings.

    python benchmarks/campaign_rate.py COMMIT_OR_FOLDER [--target torch] [--minutes 5] [--turns 2] [--workers 2] [--wanted 2.0]

Confirming, shrinking, proving and the end are part of it: mutants are divided by the time that the whole command takes after its seeds
are read. A first campaign of a few mutants reads each tree's seeds into a cache of its own, and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from throughput import unpacked

HERE = Path(__file__).parent.parent
# What this tree says about itself at the end of a run; older trees say nothing, and get the share of their batches in all there was.
SAID = re.compile(r"batches after the first minute (\d+) %")
STARTED = re.compile(rb"\d+ seeds, \d+ APIs")


@dataclass
class Campaign:
    """What one came to."""

    mutants: int
    seconds: float  # from the moment its seeds were there to the end of the command
    searching: float  # CPU seconds in batches
    workers: int
    findings: int
    left: int  # suspicions that were not looked into
    said: str  # the share of batches after the first minute, by its own account

    @property
    def rate(self) -> float:
        return self.mutants / self.seconds

    def __str__(self) -> str:
        share = 100 * self.searching / (self.seconds * self.workers)
        own = f", {self.said} % of the workers' time by its own account" if self.said else ""
        return (
            f"{self.rate:7.1f} mutants/s ({self.mutants} in {self.seconds:.0f} s), batches {share:.0f} % of {self.workers} cores{own}, "
            f"{self.findings} findings, {self.left} suspicions left"
        )


def campaign(tree: Path, folder: Path, options: argparse.Namespace, turn: int, *budget: str) -> Campaign:
    store = folder / f"{tree.name}-{turn}.db"
    command = [sys.executable, "-m", "gradfuzz", "run", options.target, "--seed", str(turn), "--store", str(store), *budget]
    command += ["--workers", str(options.workers), *(["--python", options.python] if options.python else [])]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "XDG_CACHE_HOME": str(folder / f"cache-{tree.name}")}
    began, said = time.monotonic(), b""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if STARTED.search(line):
                began = time.monotonic()
    if process.returncode not in (0, 1):
        raise SystemExit(said[-2000:].decode(errors="replace"))
    seconds = time.monotonic() - began
    with sqlite3.connect(store) as db:
        rows = db.execute("select counts, cpu from batches").fetchall()
        findings = db.execute("select count(*) from findings where confirmed").fetchone()[0]
        left = db.execute("select count(*) from suspicions").fetchone()[0]
    own = SAID.search(said.decode(errors="replace"))
    mutants = sum(sum(json.loads(counts).values()) for counts, _ in rows)
    return Campaign(mutants, seconds, sum(cpu for _, cpu in rows), options.workers, findings, left, own[1] if own else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="a commit, or the folder of another tree")
    parser.add_argument("--target", default="torch")
    parser.add_argument("--python", help="the interpreter that has the library; by default this one")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wanted", type=float, default=2.0, help="the least ratio of mutants per second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = Path(options.other).resolve() if Path(options.other).is_dir() else unpacked(options.other, folder / "other")
        for tree in (other, HERE):
            campaign(tree, folder, options, -1, "--api", "*", "--mutants", "16")
        ratios = []
        for turn in range(options.turns):
            pair = [campaign(tree, folder, options, turn, "--time", f"{60 * options.minutes:.0f}s") for tree in (other, HERE)]
            for tree, told in zip((options.other, "this tree"), pair, strict=True):
                print(f"{tree:>12}: {told}", flush=True)
            theirs, ours = pair
            ratios.append(ours.rate / theirs.rate)
            print(f"ratio: mutants/s {ratios[-1]:.2f}, findings {ours.findings / max(1, theirs.findings):.2f}", flush=True)
    print(f"mutants per second: {min(ratios):.2f} to {max(ratios):.2f} times (wanted: at least {options.wanted})")
    raise SystemExit(min(ratios) < options.wanted)


if __name__ == "__main__":
    main()
