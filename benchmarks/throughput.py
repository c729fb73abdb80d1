"""Mutants per CPU second of the workers, of this tree and of another commit, on the same seeds, taking turns.

    python benchmarks/throughput.py COMMIT_OR_FOLDER [MUTANTS [WANTED]]

Every eighth seed of the installed PyTorch's samples is used; both trees draw their own mutants of them.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.parent
EVERY = 8
TURNS = 3
WANTED = 0.97


def rate(tree: Path, folder: Path, seeds: Path, mutants: int, turn: int, *options: str) -> float:
    """Mutants per CPU second of a campaign of the tree's, with further options of `gradfuzz run`."""
    store = folder / f"{'-'.join([tree.name, *options])}-{turn}.db"
    command = [sys.executable, "-m", "gradfuzz", "run", "torch", "--seeds", str(seeds), "--mutants", str(mutants)]
    command += ["--workers", "1", "--store", str(store), "--seed", str(turn), *options]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tree / "src")}, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr[-2000:])
    with sqlite3.connect(store) as db:
        rows = db.execute("select counts, cpu from batches").fetchall()
    return sum(sum(json.loads(counts).values()) for counts, _ in rows) / sum(cpu for _, cpu in rows)


def sample_seeds(folder: Path) -> Path:
    from gradfuzz.program import to_json
    from gradfuzz.targets.homes import load_target
    from gradfuzz.targets.torch.samples import sample_seeds

    path = folder / "seeds.jsonl"
    chosen = list(sample_seeds(load_target("torch")))[::EVERY]
    path.write_text("".join(json.dumps({"api": s.api, "source": s.source, "program": to_json(s.program)}) + "\n" for s in chosen))
    print(f"{len(chosen)} seeds")
    return path


def unpacked(commit: str, folder: Path) -> Path:
    archive = subprocess.run(["git", "archive", commit], cwd=HERE, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    return folder


def main(commit: str, mutants: int = 6000, wanted: float = WANTED) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = Path(commit).resolve() if Path(commit).is_dir() else unpacked(commit, folder / "other")
        seeds = sample_seeds(folder)
        ratios = []
        for turn in range(TURNS):
            theirs, ours = rate(other, folder, seeds, mutants, turn), rate(HERE, folder, seeds, mutants, turn)
            ratios.append(ours / theirs)
            print(f"{commit}: {theirs:.0f} mutants per CPU second, this tree: {ours:.0f}, ratio {ratios[-1]:.2f}", flush=True)
    print(f"ratio {min(ratios):.2f} to {max(ratios):.2f} (wanted: at least {wanted})")
    raise SystemExit(min(ratios) < wanted)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *map(float, sys.argv[3:4]))
