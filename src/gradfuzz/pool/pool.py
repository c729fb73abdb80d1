"""A supervised pool of workers. Whatever the library does to a worker costs that one worker and the mutant it was at."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from gradfuzz.errors import Poisoned, WorkerError
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.process import Lost, WorkerProcess, Zygote

CHECK_EVERY = 0.5
# The address-space limit stops most; this stops what grows by other ways.
RESIDENT_FACTOR = 1.5
# Seconds that a script may take which is run as a process of its own, beside the time limit of what it runs.
SCRIPT_LIMIT = 60.0
# Seconds between tries where the system has no room for another process.
PAUSES = (0.5, 2.0, 5.0)
# A library that takes its own process down each time will do so again.
MOST_RENEWALS = 3


class Pool(Executor):
    """Workers on this machine, forked by one zygote."""

    def __init__(self, launch: Launch, size: int) -> None:
        super().__init__(launch, size)
        self.zygote = _started(launch)
        self.version, self.family, self.ways = self.zygote.version, self.zygote.family, self.zygote.ways
        self.workers: list[WorkerProcess] = []
        self._selector = selectors.DefaultSelector()
        self._last_check = 0.0
        self._renewed = 0  # zygotes since a job was last done
        try:
            for _ in range(size):
                self._hire()
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        return self.zygote.folder.path

    @property
    def idle(self) -> bool:
        return not self.jobs and not self.events and all(w.job is None for w in self.workers)

    def _turn(self, wait: float) -> None:
        try:
            self._assign()
            if not self.events:
                for key, _ in self._selector.select(wait):
                    self._hear(key.data)
                self._assign()
            if time.monotonic() - self._last_check > CHECK_EVERY:
                self._last_check = time.monotonic()
                self._check()
        except Lost as error:
            self._renew(error)

    def apart(self) -> Pool:
        return Pool(self.launch, 1)

    def alone(self, source: str) -> tuple[bool, str]:
        launch = self.launch
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(source)
            file.flush()
            environment = {**launch.environment(dict(os.environ)), "PYTHONPATH": os.pathsep.join(launch.paths)}
            command = [launch.interpreter(), file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SCRIPT_LIMIT + 2 * launch.timeout, env=environment)
            except subprocess.TimeoutExpired:
                return False, "the script did not come back"
        return done.returncode == 1, (done.stdout + done.stderr)[-4000:]

    # Workers ---------------------------------------------------------------------------------------------------------

    def _hire(self) -> WorkerProcess:
        worker = self._fork()
        self.workers.append(worker)
        self._selector.register(worker.connection, selectors.EVENT_READ, worker)
        return worker

    def _fork(self) -> WorkerProcess:
        """A worker; where there is no room for one right now, a little later."""
        for pause in PAUSES:
            try:
                return self.zygote.fork()
            except Lost:
                raise
            except WorkerError as error:
                self.say(f"{error}; trying again in {pause:g} s")
                time.sleep(pause)
        return self.zygote.fork()

    def _renew(self, error: Lost) -> None:
        """A new zygote in the place of one that died. What its workers were at starts anew."""
        self._renewed += 1
        if self._renewed > MOST_RENEWALS:
            raise error
        self.say(f"{error}; starting another")
        for worker in list(self.workers):
            worker.kill()
            if worker.job is not None:
                self._again(worker.job)
            self._dismiss(worker)
        self.zygote.close()
        self.zygote = _started(self.launch)
        try:
            for _ in range(self.size):
                self._hire()
        except Lost as again:
            self._renew(again)

    def _dismiss(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.connection)
        self.workers.remove(worker)
        worker.close()

    def _guest(self, host: WorkerProcess) -> WorkerProcess:
        """A new worker for one job. Its host rests meanwhile and keeps what it has compiled and imported."""
        guest = self._hire()
        guest.host, host.parked = host, True
        return guest

    def _leave(self, guest: WorkerProcess) -> None:
        """The guest's job is done: the host goes on."""
        guest.kill()
        self.zygote.death(guest.pid)
        self._dismiss(guest)
        assert guest.host is not None
        guest.host.parked = False

    def _replace(self, worker: WorkerProcess) -> WorkerProcess:
        self._dismiss(worker)
        self.restarts += 1
        return self._hire()

    def _assign(self) -> None:
        busy = sum(1 for w in self.workers if w.job is not None and w.job["urgent"])
        for worker in list(self.workers):
            if worker.job is not None or worker.parked:
                continue
            job = self.jobs.next(busy)
            if job is None:
                return
            busy += job["urgent"]
            if job.get("fresh"):
                try:
                    worker = self._guest(worker)
                except WorkerError:
                    self._again(job)
                    raise
            worker.send(job)

    def _hear(self, worker: WorkerProcess) -> None:
        messages = worker.messages()
        if messages is None:
            self._bury(worker, None)
            return
        for message in messages:
            job = worker.job
            if job is None or message.get("id", message.get("done")) != job["id"]:
                continue
            if "suspicion" in message:
                self.events.append(Event("suspicion", job, message["suspicion"]))
            else:
                worker.spent += message["spent"]
                self._account(job, message["spent"], message.get("of_that", {}))
                worker.job = None
                self._renewed = 0
                self.events.append(Event("done", job, message))
                if worker.host is not None:
                    self._leave(worker)
                    return

    def _check(self) -> None:
        """Kill what hangs or grows without end."""
        now = time.monotonic()
        for worker in list(self.workers):
            if worker.job is None:
                continue
            limit = (worker.job.get("limit") or self.launch.timeout) * self.zygote.patience * self.launch.patience
            if worker.stalled(now) > limit:
                worker.kill()
                self._bury(worker, "timeout")
            elif self.launch.memory and _resident(worker.pid) > self.launch.memory * RESIDENT_FACTOR:
                worker.kill()
                self._bury(worker, "memory")

    def _bury(self, worker: WorkerProcess, cause: str | None) -> None:
        death = self.zygote.death(worker.pid)
        job, (_, index, counts) = worker.job, worker.progress.read()
        if job is not None:
            spent = max(0.0, death["cpu"] - worker.spent)
            self._account(job, spent, {})
            killed = cause is None and death["signal"] == signal.SIGKILL and not job.get("killed")
            if killed:
                # Not by us, and no library does that to itself: the system was short of memory, or somebody was there. Once is no proof.
                self._again({**job, "killed": True})
            else:
                if cause is None:
                    number = death["signal"]
                    status = "device error" if death["status"] == Poisoned.STATUS else f"exit status {death['status']}"
                    cause = signal.Signals(number).name if number else status
                self.events.append(Event("died", job, {"cause": cause, "index": index, "counts": counts, "spent": spent}))
        if worker.host is not None:
            worker.host.parked = False
            self._dismiss(worker)
            return
        guest = next((g for g in self.workers if g.host is worker), None)
        replacement = self._replace(worker)
        if guest is not None:
            guest.host, replacement.parked = replacement, True

    def close(self) -> None:
        for worker in list(self.workers):
            worker.kill()
            self._dismiss(worker)
        self.zygote.close()
        self._selector.close()


def _started(launch: Launch) -> Zygote:
    """A zygote; once more where somebody killed it before it could say a word."""
    try:
        return Zygote(launch)
    except Lost:
        return Zygote(launch)


def _resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    try:
        return float(psutil.Process(pid).memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0
