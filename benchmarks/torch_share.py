"""How much of a worker's CPU time is spent inside PyTorch: cheap seeds only, where our own overhead weighs most."""

from __future__ import annotations

import cProfile
import pstats
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

from common import operator_seeds

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import to_json
from gradfuzz.targets.homes import load_target
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.progress import Progress

CHEAP = 1e-3  # seconds: seeds that take less


def main(count: int) -> None:
    warnings.simplefilter("ignore")
    target = load_target("torch")
    target.family = 256  # mutants that differ in their numbers: others may take the process down, and here it is this one
    seeds = operator_seeds(target)
    random.Random(0).shuffle(seeds)
    cheap = []
    for seed in seeds:
        examine(target, seed.program, Options(order=1))
        start = time.process_time()
        examine(target, seed.program, Options(order=1))
        if time.process_time() - start < CHEAP:
            cheap.append(to_json(seed.program))
        if len(cheap) == count:
            break
    with tempfile.TemporaryDirectory() as folder:
        progress = Progress(str(Path(folder) / "progress"))
        work = [(i, program) for i, program in enumerate(cheap)]
        mutants = _run(target, work, progress)  # warm
        start = time.process_time()
        _run(target, work, progress)
        plain = time.process_time() - start
        profile = cProfile.Profile()
        profile.runcall(_run, target, work, progress)
    print(f"mutants                         {mutants} of {len(cheap)} seeds, orders 1 and 2")
    print(f"mutants per CPU-second          {mutants / plain:.0f}")
    share(pstats.Stats(profile))


def share(stats: pstats.Stats) -> None:
    """Print how much of the time was spent inside PyTorch, and where the rest went."""
    inside, by_room = _split(stats)
    total = inside + sum(by_room.values())
    print(f"inside PyTorch                  {100 * inside / total:.0f} %   (wanted: 50)")
    for room, seconds in sorted(by_room.items(), key=lambda item: -item[1]):
        print(f"  {room:<28}  {100 * seconds / total:.0f} %")


def _run(target, work, progress) -> int:
    depth = Depth(orders=((2, 2),)).to_json()
    done = 0
    for number, program in work:
        job = {"id": number, "program": program, "rng": f"bench:{number}", "start": 0, "count": 12, "weights": {}}
        job |= {"api": "bench", "depth": depth}
        done += sum(run_batch(target, job, progress, lambda finding: None)["counts"])
    return done


def _split(stats: pstats.Stats) -> tuple[float, dict[str, float]]:
    """Own time by where the code lives: PyTorch (its Python and its built-ins), our rooms, NumPy, the rest."""
    inside, rooms = 0.0, {}
    for (file, _, name), (_, _, own, _, _) in stats.stats.items():
        if "/torch/" in file or "torch" in name or "_EngineBase" in name or "functorch" in file:
            inside += own
            continue
        if "gradfuzz" in file:
            room = "gradfuzz." + file.split("gradfuzz/")[-1].split("/")[0]
        elif "numpy" in file or "numpy" in name:
            room = "numpy"
        else:
            room = "Python"
        rooms[room] = rooms.get(room, 0.0) + own
    return inside, rooms


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
