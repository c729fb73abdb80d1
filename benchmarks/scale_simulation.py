"""How many workers can one driver keep busy? The real engine, schedule, triage and store; workers that only take their time.

    python benchmarks/scale_simulation.py record costs.jsonl --seconds 90     # a real campaign on this machine: what jobs take and answer
    python benchmarks/scale_simulation.py simulate costs.jsonl 1 10 100 1000 10000

Time in the simulation is virtual. What the driver does between two polls takes as long there as it takes of the processor here; a worker
takes as long for a batch as one took of the processor in the recording, mutant for mutant, and answers what was answered there. A node
has sixteen workers and some jobs on lease for each, and a message takes a millisecond. The reference answers at once that it has
nothing to say: it is another process's work.
"""

from __future__ import annotations

import argparse
import cProfile
import heapq
import json
import os
import pstats
import queue
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import gradfuzz.engine.engine as engine_room
from gradfuzz.cluster.ray_executor import LEASES, MOST_EVENTS
from gradfuzz.engine.config import Config
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import chosen
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import home_of
from gradfuzz.worker.batch import MOST_SECONDS

MESSAGE = 0.001  # seconds
NODE = 16  # workers
WARM, LEAST = 0.6, 10_000  # of the batches; batches of a simulation at least
# A batch may take twelve seconds: a simulation that is over in as many says nothing.
BATCHES_A_WORKER, MOST = 60, 60_000
FEW = 128  # workers: with more, batches are larger
USUAL_MUTANTS = 24  # of a batch, in the first and later rounds
USUAL = 0.05  # seconds of a job that the recording does not have


class Quiet:
    def tick(self, state: Any) -> None: ...

    def found(self, finding: Any) -> None: ...

    def say(self, text: str) -> None: ...


# Recording -----------------------------------------------------------------------------------------------------------------


class Recording(Pool):
    """A pool that writes down what jobs took and answered."""

    file: Any = None

    def poll(self, wait: float = 0.2) -> list[Event]:
        events = super().poll(wait)
        for event in events:
            if event.kind in ("done", "suspicion"):
                job = {key: event.job.get(key) for key in ("id", "do", "start", "count", "api")}
                self.file.write(json.dumps({"kind": event.kind, "job": job, "data": event.data}) + "\n")
        return events


def record(path: Path, seconds: float, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file, tempfile.TemporaryDirectory() as folder:
        Recording.file = file
        engine_room.Pool = Recording  # type: ignore[misc]
        config = Config(_launch(target), seconds=seconds, workers=os.cpu_count() or 1)
        state = run_mutants(config, Path(folder) / "s.db", False, Quiet())
    print(f"{state.done} mutants, {len(state.findings)} findings in {seconds:.0f} s: {path}")


def _launch(target: str) -> Launch:
    return Launch(target, ways=tuple(way.name for way in chosen(target, "default", ()).ways))


# Simulating ----------------------------------------------------------------------------------------------------------------


class Costs:
    """What was recorded: for each kind of job what it took and answered, and what batches suspected."""

    def __init__(self, path: Path) -> None:
        # Seconds for each mutant, the answer, and suspicions.
        self.answers: dict[str, list[tuple[float, dict[str, Any], list[dict[str, Any]]]]] = defaultdict(list)
        suspicions: dict[int, list[dict[str, Any]]] = defaultdict(list)
        with path.open() as file:
            for line in file:
                row = json.loads(line)
                if row["kind"] == "suspicion":
                    suspicions[row["job"]["id"]].append(row["data"])
                else:
                    told = suspicions.pop(row["job"]["id"], [])
                    mutants = (row["job"]["count"] or 1) - (row["job"]["start"] or 0)
                    for question in row["data"].get("questions", ()):
                        question["edits"] = []  # those of one seed do not fit another, and answers are dealt out to any
                    self.answers[row["job"]["do"]].append((row["data"]["spent"] / max(1, mutants), row["data"], told))
        for rows in self.answers.values():
            random.Random(0).shuffle(rows)

    def told(self) -> str:
        parts = [f"{do} {len(rows)} of {1000 * sum(r[0] for r in rows) / len(rows):.0f} ms" for do, rows in sorted(self.answers.items())]
        parts = [part.replace(" ms", " ms a mutant") if part.startswith("batch") else part for part in parts]
        batches = self.answers["batch"]
        size = sum(len(json.dumps(data)) for _, data, _ in batches) / len(batches)
        told = sum(len(suspicions) for _, _, suspicions in batches) / len(batches)
        return f"recorded: {', '.join(parts)}; a batch answers with {size:.0f} bytes and {told:.2f} suspicions"


class Simulated(Executor):
    """Workers in virtual time."""

    def __init__(self, launch: Launch, size: int, costs: Costs, about: dict[str, Any]) -> None:
        super().__init__(launch, size)
        self.version, self.family = about["version"], about["family"]
        self.ways = declared(home_of(launch.target).data("ways"), about["ways"])
        self.costs, self.now, self.driver = costs, 0.0, 0.0
        self._scratch = tempfile.TemporaryDirectory()
        count = -(-size // NODE)
        self._nodes = [[0.0] * min(NODE, size - NODE * node) for node in range(count)]  # when each worker of a node is free
        self._room = [(0, node) for node in range(count)]  # leases and node: the emptiest first
        self._ends: list[tuple[float, int, int, dict[str, Any], tuple[float, Any, Any]]] = []
        self._leases = [0] * count
        self._picked: dict[str, int] = defaultdict(int)
        self._urgent = 0
        self._left = time.process_time()
        self.history: list[tuple[float, float, int]] = []  # virtual time, seconds of work done, batches
        self._work, self.batches = 0.0, 0

    @property
    def hungry(self) -> bool:
        return len(self.jobs.waiting) < LEASES * self.size

    @property
    def idle(self) -> bool:
        return not self.jobs and not self.events and not self._ends

    @property
    def folder(self) -> Path:
        return Path(self._scratch.name)

    def poll(self, wait: float = 0.2) -> list[Event]:
        if self.hungry:
            self.refill()
        spent = time.process_time() - self._left  # since the last poll returned: all of it the driver's, refilling included
        self.now += spent
        self.driver += spent
        self._turn(wait)
        happened = list(self.events)
        self.events.clear()
        self._left = time.process_time()
        return happened

    def _turn(self, wait: float) -> None:
        self._lease()
        if self._ends:
            self.now = max(self.now, min(self._ends[0][0] + MESSAGE, self.now + wait))
        while self._ends and self._ends[0][0] + MESSAGE <= self.now and len(self.events) < MOST_EVENTS:
            _, _, node, job, (seconds, data, told) = heapq.heappop(self._ends)
            self._leases[node] -= 1
            heapq.heappush(self._room, (self._leases[node], node))
            self._urgent -= job["urgent"]
            self._work += seconds
            if job["do"] == "batch":
                self.batches += 1
                self.history.append((self.now, self._work, self.batches))
            self._account(job, seconds, {})
            self.events.extend(Event("suspicion", job, suspicion) for suspicion in told)
            self.events.append(Event("done", job, {**data, "done": job["id"], "spent": seconds}))

    def _lease(self) -> None:
        """To the emptiest node first, whose workers take what there is in turn."""
        while self._room and self.jobs:
            leases, node = self._room[0]
            if leases != self._leases[node]:
                heapq.heappop(self._room)  # it has more or less by now
                continue
            if leases >= LEASES * len(self._nodes[node]):
                return
            job = self.jobs.next(self._urgent)
            if job is None:
                return
            self._leases[node] += 1
            self._urgent += job["urgent"]
            heapq.heapreplace(self._room, (self._leases[node], node))
            answer = self._answer(job)
            end = max(heapq.heappop(self._nodes[node]), self.now + MESSAGE) + answer[0]
            heapq.heappush(self._nodes[node], end)
            heapq.heappush(self._ends, (end, job["id"], node, job, answer))

    def _answer(self, job: dict[str, Any]) -> tuple[float, Any, Any]:
        rows = self.costs.answers.get(job["do"])
        if not rows:
            return USUAL, {"seconds": USUAL}, []
        self._picked[job["do"]] += 1
        seconds, data, told = rows[self._picked[job["do"]] % len(rows)]
        if job["do"] == "pinpoint":
            data = {"failed": "simulated"}  # where one Program is wrong says nothing of another
        return min(MOST_SECONDS, seconds * max(1, job.get("count", 1) - job.get("start", 0))), data, told

    def apart(self) -> Any:
        raise NotImplementedError  # nobody dies here

    def close(self) -> None:
        self._scratch.cleanup()


class SilentDesk:
    """The reference, if it knew nothing."""

    def __init__(self) -> None:
        self.finished: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()

    def ask(self, number: int, question: Any, urgent: bool) -> None:
        self.finished.put((number, {"silent": "simulated", "seconds": 0.0}))

    def close(self) -> None: ...


def simulate(costs: Costs, about: dict[str, Any], target: str, workers: int, profile: bool) -> None:
    """One campaign with so many workers; prints how busy they were and what the driver took."""
    import gradfuzz.findings.triage as triage_room

    batches = min(MOST, max(LEAST, BATCHES_A_WORKER * workers))
    made: list[Simulated] = []

    def executor(config: Config, watcher: Any) -> Executor:
        made.append(Simulated(config.launch, workers, costs, about))
        return made[0]

    engine_room._executor = executor
    triage_room.Desk = SilentDesk  # type: ignore[misc, assignment]
    launch = _launch(target)
    config = Config(launch, seconds=None, mutants=batches * USUAL_MUTANTS * (3 if workers > FEW else 1), workers=workers)
    profiler = cProfile.Profile() if profile else None
    with tempfile.TemporaryDirectory() as folder:
        if profiler:
            profiler.enable()
        run_mutants(config, Path(folder) / "s.db", False, Quiet())
        if profiler:
            profiler.disable()
    found = made[0]
    last = next((row for row in found.history if row[2] >= 0.9 * found.batches), found.history[-1])
    first = next(row for row in found.history if row[2] >= WARM * found.batches)
    busy = (last[1] - first[1]) / ((last[0] - first[0]) * workers)
    whole = last[1] / (last[0] * workers)
    rate = (last[2] - first[2]) / (last[0] - first[0])
    cost = 1000 * found.driver / found.batches
    print(
        f"{workers:6d} workers: {100 * busy:5.1f} % busy ({100 * whole:.1f} % from the start), {rate:8.1f} batches/s, driver {cost:.2f} ms a batch ({found.batches} batches)",
        flush=True,
    )
    if profiler:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--target", default="torch")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("path", type=Path)
    recording.add_argument("--seconds", type=float, default=90.0)
    simulating = commands.add_parser("simulate")
    simulating.add_argument("path", type=Path)
    simulating.add_argument("workers", type=int, nargs="+")
    simulating.add_argument("--profile", action="store_true", help="where the driver's time goes")
    options = parser.parse_args()
    if options.command == "record":
        record(options.path, options.seconds, options.target)
        return
    costs = Costs(options.path)
    print(costs.told())
    with Pool(_launch(options.target), 1) as pool:
        about = {"version": pool.version, "family": pool.family, "ways": list(pool.ways)}
    for workers in options.workers:
        simulate(costs, about, options.target, workers, options.profile)


if __name__ == "__main__":
    main()
