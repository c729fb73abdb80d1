"""What the rows of covering designs cost a worker: CPU time per mutant, by phase and by verdict, and where it goes.

    python benchmarks/design_rows.py STORE [EVERY [VERDICTS [PROFILE]]]

The seeds are those of a stored campaign on PyTorch, of every so manyth API the one that leads it. Each API runs in a fork of its own, as
in a campaign: its first look, its values alone, then the first rows of pairs. The digest is of all verdicts, which go into the file
VERDICTS, too, so that two trees that are to judge alike can be compared. PROFILE is a file for the profiler's numbers, which costs twice
the time.
"""

from __future__ import annotations

import cProfile
import gc
import hashlib
import json
import os
import pstats
import sqlite3
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from pathlib import Path

from torch_share import share

from gradfuzz.mutate.cover import Cover
from gradfuzz.surveys.depth import Depths
from gradfuzz.surveys.profiles import chosen
from gradfuzz.surveys.schedule import FIRST_LOOK
from gradfuzz.targets.homes import load_target
from gradfuzz.worker import batch
from gradfuzz.worker.progress import Progress

# The phases: mutants from, to; whether it goes on with what was met before.
PHASES = {"look": (0, FIRST_LOOK, False), "alone": (FIRST_LOOK, 56, False), "pairs": (1, 49, True)}


def leading(store: Path) -> dict[str, object]:
    """By API: the Program of the seed that leads it."""
    with sqlite3.connect(store) as db:
        packed = db.execute("select seeds from corpora order by campaign desc").fetchone()[0]
    found: dict[str, object] = {}
    for line in zlib.decompress(packed).decode().splitlines():
        row = json.loads(line)
        found.setdefault(row["api"], row["program"])
    return found


def run(target, api: str, program: object, number: int, folder: Path) -> dict[str, object]:
    """All phases of one API."""
    depths = Depths(None, (), 7, chosen("torch", "default", ()), target.family)
    progress = Progress(str(folder / f"progress-{os.getpid()}"))
    seen: list[tuple[str, float, object]] = []
    examine = batch.examine

    def timed(*args, **kwargs):
        began = time.process_time()
        found = examine(*args, **kwargs)
        said = [(v.outcome, v.oracle, v.order, v.kind, sorted(v.excuses), [s.name for s in v.scenarios]) for v in found.verdicts]
        seen.append((found.outcome, time.process_time() - began, said))
        return found

    batch.examine = timed
    cover, phases = Cover(), {}
    for position, (phase, (start, count, goes_on)) in enumerate(PHASES.items()):
        depth = depths.batch(number + position, [api], deep=phase == "look", design=True)
        job = {"id": number, "program": program, "rng": f"bench:{number}", "start": start, "count": count, "weights": {}, "api": api}
        job |= {"depth": depth.to_json(), "number": number, "cover": (cover if goes_on else Cover()).to_json()}
        seen.clear()
        answer = batch.run_batch(target, job, progress, lambda suspicion: None)
        met = cover | Cover.from_json(answer["cover"])
        by_outcome: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for outcome, seconds, _ in seen:
            by_outcome[outcome][0] += 1
            by_outcome[outcome][1] += seconds
        said = [verdicts for _, _, verdicts in seen]
        phases[phase] = {"mutants": sum(answer["counts"]), "cpu": answer["cpu"], "pairs": met.pairs_met - cover.pairs_met,
                         "outcomes": by_outcome, "said": said}  # fmt: skip
        cover = met
    return phases


def forked(target, api: str, program: object, number: int, folder: Path, profile: bool) -> dict[str, object] | None:
    answer = folder / f"{number}.json"
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            profiler = cProfile.Profile() if profile else None
            found = (
                run(target, api, program, number, folder)
                if profiler is None
                else profiler.runcall(run, target, api, program, number, folder)
            )
            answer.write_text(json.dumps(found, default=str))
            if profiler is not None:
                profiler.dump_stats(folder / f"{number}.prof")
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return json.loads(answer.read_text()) if status == 0 else None


def main(store: str, every: int = 12, verdicts: str = "", profile: str = "") -> None:
    target = load_target("torch")
    target.warm_up()
    gc.freeze()  # as workers do, which collect between jobs
    gc.disable()
    totals: dict[str, Counter] = defaultdict(Counter)
    outcomes: Counter = Counter()
    digest = hashlib.sha256()
    said: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (api, program) in enumerate(sorted(leading(Path(store)).items())[::every]):
            phases = forked(target, api, program, number, folder, bool(profile))
            if phases is None:
                print(f"{api}: its process died")
                continue
            for phase, found in phases.items():
                totals[phase].update({key: found[key] for key in ("mutants", "cpu", "pairs")})
                for outcome, (count, seconds) in found["outcomes"].items():
                    outcomes[outcome, "count"] += count
                    outcomes[outcome, "cpu"] += seconds
                digest.update(json.dumps([api, phase, found["said"]]).encode())
                said[f"{api} {phase}"] = found["said"]
        if profile:
            stats = pstats.Stats(*map(str, folder.glob("*.prof")))
            stats.dump_stats(profile)
            share(stats)
    for phase, found in totals.items():
        rate = f"{1e3 * found['cpu'] / found['mutants']:.2f} ms each, {found['pairs'] / found['cpu']:.0f} pairs a second"
        print(f"{phase:<8} {found['mutants']:>7} mutants {found['cpu']:>7.1f} s   {rate}")
    for outcome in sorted({key for key, _ in outcomes}):
        count, seconds = outcomes[outcome, "count"], outcomes[outcome, "cpu"]
        print(f"{outcome:<14} {count:>7} examined {seconds:>7.1f} s   {1e3 * seconds / count:.2f} ms each")
    print(f"verdicts {digest.hexdigest()[:16]}")
    if verdicts:
        Path(verdicts).write_text(json.dumps(said, indent=0))


if __name__ == "__main__":
    main(sys.argv[1], *(int(a) for a in sys.argv[2:3]), *sys.argv[3:5])
