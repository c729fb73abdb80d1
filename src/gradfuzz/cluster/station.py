"""What stands on a node: a pool of its own that is handed jobs and asked for what became of them. It knows nothing of Ray.

Everything passes as JSON text: jobs one way; summaries, suspicions and deaths the other. What workers say of a job is kept here until the
job has come to its end, so that a node that is lost has told nothing by halves.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from pathlib import Path
from typing import Any

from gradfuzz.cluster.places import Cluster, on_this_node
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.executor import Event
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool

START_LIMIT = 600.0  # seconds: a library may be read from a network's disk
TURN = 0.05  # seconds that a turn waits for workers: so late may a new job be seen
# A message costs milliseconds on both sides, a batch some tens: while workers have more to do, what they say is gathered for so long.
GATHER = 0.05
NOTE = ".trying"  # beside a job's file: what its worker was at


class Station:
    """A pool in a thread: its processes end with the thread that started them."""

    def __init__(self, launch: Launch, cluster: Cluster, size: int) -> None:
        self.size = size
        self._launch, self._cluster = launch, cluster
        self._given: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ready: queue.SimpleQueue[Pool | Exception] = queue.SimpleQueue()
        self._pool: Pool | None = None
        self._closed = False
        self._jobs: dict[int, dict[str, Any]] = {}  # as they were given, by the pool's number
        self._suspicions: dict[int, list[dict[str, Any]]] = {}
        threading.Thread(target=self._work, daemon=True).start()

    def about(self) -> str:
        """What is here, once it has started; GradfuzzError, in one line, if it cannot."""
        if self._pool is None:
            try:
                found = self._ready.get(timeout=START_LIMIT)
            except queue.Empty:
                raise GradfuzzError(f"{self._launch.target} did not start within {START_LIMIT:.0f} s") from None
            if isinstance(found, Exception):
                raise GradfuzzError(str(found)) from None
            self._pool = found
        pool = self._pool
        return json.dumps({"version": pool.version, "family": pool.family, "ways": list(pool.ways), "size": self.size})

    def give(self, jobs: str) -> None:
        self._given.put(jobs)

    def hear(self, wait: float, most: int) -> str:
        """What happened since it was last asked: waits for something to happen, and takes whatever else is there."""
        told: list[Any] = []
        try:
            told += json.loads(self._told.get(timeout=wait))
            if self._jobs:
                time.sleep(GATHER)
            while len(told) < most:
                told += json.loads(self._told.get_nowait())
        except queue.Empty:
            pass
        return json.dumps(told)

    def run(self, job: str) -> str:
        """One job to its end, where nobody else gives any."""
        self.give(json.dumps([json.loads(job)]))
        return json.dumps(json.loads(self._told.get())[0])

    def alone(self, source: str) -> tuple[bool, str]:
        assert self._pool is not None
        return self._pool.alone(source)

    def close(self) -> None:
        self._closed = True

    # In its thread -----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            pool = Pool(on_this_node(self._launch, self._cluster), self.size)
        except Exception as error:
            self._ready.put(error)
            return
        self._ready.put(pool)
        with pool:
            pool.refill = lambda: self._take(pool)
            try:
                while not self._closed:
                    self._tell(pool.poll(TURN))
            except Exception as error:  # the library takes its zygote down each time, or the machine has no room: the driver decides
                self._told.put(json.dumps([{"failed": str(error)}]))

    def _take(self, pool: Pool) -> None:
        while not self._given.empty():
            for job in json.loads(self._given.get()):
                fields = {key: value for key, value in job.items() if key not in ("id", "do", "urgent", "file")}
                if "path" in fields:
                    fields["path"] = str(_unpacked(pool.folder, fields["path"], job.get("file", "")))
                # What is urgent was decided by the driver: here jobs are begun in the order in which they were given.
                self._jobs[pool.submit(job["do"], **fields)] = job

    def _tell(self, events: list[Event]) -> None:
        told = []
        for event in events:
            number = event.job["id"]
            if event.kind == "suspicion":
                self._suspicions.setdefault(number, []).append(event.data)
            elif event.kind == "again":
                self._suspicions.pop(number, None)
            else:
                job = self._jobs.pop(number)
                message = {"id": job["id"], "kind": event.kind, "data": event.data, "told": self._suspicions.pop(number, [])}
                if "path" in event.job:
                    message["files"] = _packed(Path(event.job["path"]))
                told.append(message)
        if told:
            self._told.put(json.dumps(told))


def _unpacked(folder: Path, path: str, text: str) -> Path:
    """A job's file, with what was written to it elsewhere."""
    here = folder / Path(path).name
    here.write_text(text, encoding="utf-8")
    return here


def _packed(path: Path) -> dict[str, str]:
    """What a worker has written for a job, and what it was at; gone from here."""
    found = {}
    for end in ("", NOTE):
        file = path.with_name(path.name + end)
        if file.exists():
            found[end] = file.read_text(encoding="utf-8")
            file.unlink()
    return found
