"""Kill a campaign at random moments and go on with it: nothing that was told is lost, and the end is that of an undisturbed run.

    python tests/store/kill_rounds.py --rounds 100

Each round starts a small campaign on planted bugs, ends its main process, its zygote or a worker with kill -9 at a random moment, and
resumes it if need be, sometimes to be killed again. Then every finding that was told of must be in the store, the file must be sound,
and findings, the times they were met, mutants by outcome and lessons must be those of a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

PLANTED = Path(__file__).parent.parent / "planted" / "planted_torch.py"
FUNCTIONS = ("planted_torch.wrong_backward", "planted_torch.wrong_output", "torch.sin", "torch.exp")
DEADLY = "planted_torch.segfault"  # its post-mortems take a round from ten seconds to thirty
RUN = ("run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", "1", "--workers", "2", "--store", "s.db")
VICTIMS = ("main", "main", "zygote", "worker")  # the main process most often: the others need no resuming
KILLED_TWICE = 0.3
LIMIT = 180.0


def prepare(folder: Path, deaths: bool) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(PLANTED, folder)
    functions = (*FUNCTIONS, DEADLY) if deaths else FUNCTIONS
    seeds = (f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n' for name in functions)
    (folder / "seeds.py").write_text("\n".join(seeds))
    return folder


def start(folder: Path, mutants: int, *more: str) -> subprocess.Popen[bytes]:
    with (folder / "said.txt").open("ab") as said:
        command = [sys.executable, "-m", "gradfuzz", *RUN, "--mutants", str(mutants), *more]
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)


def kill(process: subprocess.Popen[bytes], victim: str, chance: random.Random) -> None:
    """The one that is meant, if it is there at this moment."""
    with contextlib.suppress(psutil.Error):
        main = psutil.Process(process.pid)
        zygotes = [p for p in main.children() if "boot.py" in " ".join(p.cmdline())]
        workers = [w for z in zygotes for w in z.children()]
        there = {"main": [main], "zygote": zygotes, "worker": workers}[victim]
        if there:
            os.kill(chance.choice(there).pid, signal.SIGKILL)


def outcome(folder: Path) -> dict[str, object]:
    """What must be the same: findings with the times they were met, mutants by outcome, lessons."""
    with contextlib.closing(sqlite3.connect(folder / "s.db")) as db:
        counts: dict[str, int] = {}
        for (text,) in db.execute("select counts from batches"):
            for name, count in json.loads(text).items():
                counts[name] = counts.get(name, 0) + count
        return {
            "findings": sorted(db.execute("select key, id, confirmed, times from findings")),
            "waiting": db.execute("select count(*) from suspicions").fetchone()[0],
            "mutants": counts,
            "lessons": sorted(db.execute("select number, lesson, until from batches")),
        }


def check_sound(folder: Path) -> None:
    """The file is whole, and what was told is in it."""
    told = {line.split()[1].rstrip(":") for line in (folder / "said.txt").read_text().splitlines() if line.startswith("found ")}
    if not (folder / "s.db").exists():
        assert not told, told
        return
    with contextlib.closing(sqlite3.connect(folder / "s.db")) as db:
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        kept = {row[0] for row in db.execute("select id from findings where confirmed")} if told else set()
    assert told <= kept, told - kept


def has_campaign(folder: Path) -> bool:
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{folder / 's.db'}?mode=ro", uri=True)) as db:
        return bool(db.execute("select count(*) from campaigns").fetchone()[0])
    return False


def one_round(folder: Path, mutants: int, seconds: float, chance: random.Random, deaths: bool = False) -> str:
    """One campaign, disturbed; returns what was done to it. Raises if it does not end well."""
    prepare(folder, deaths)
    done = []
    kills = 2 if chance.random() < KILLED_TWICE else 1
    for attempt in range(20):
        process = start(folder, mutants, *(["--resume"] if has_campaign(folder) else []))
        if attempt < kills:
            victim, moment = chance.choice(VICTIMS), chance.uniform(0.0, seconds)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment)
            kill(process, victim, chance)
            done.append(f"{victim} at {moment:.1f} s")
        status = process.wait(LIMIT)
        check_sound(folder)
        if status == 1:
            return ", ".join(done)
        assert status == -signal.SIGKILL, f"status {status} after {done}: {(folder / 'said.txt').read_text()[-2000:]}"
    raise AssertionError("it does not come to an end")


def undisturbed(folder: Path, mutants: int, deaths: bool = False) -> tuple[dict[str, object], float]:
    """How it ends if nobody disturbs it, and how long that takes."""
    began = time.monotonic()
    status = start(prepare(folder, deaths), mutants).wait(LIMIT)
    assert status == 1, (folder / "said.txt").read_text()
    return outcome(folder), time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=44)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deaths", action="store_true", help="with a function that kills its worker among the seeds")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        wanted, seconds = undisturbed(Path(name) / "reference", options.mutants, options.deaths)
        print(f"undisturbed: {seconds:.1f} s, {len(wanted['findings'])} findings, mutants {wanted['mutants']}", flush=True)  # type: ignore[arg-type]
        for number in range(1, options.rounds + 1):
            folder = Path(name) / str(number)
            try:
                what = one_round(folder, options.mutants, seconds, chance, options.deaths)
                got = outcome(folder)
                assert got == wanted, "\n".join(f"{key}: {got[key]} instead of {wanted[key]}" for key in wanted if got[key] != wanted[key])
                print(f"round {number}: {what}: as undisturbed", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"round {number}: FAILED: {error}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.rounds - failed} of {options.rounds} rounds as undisturbed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
