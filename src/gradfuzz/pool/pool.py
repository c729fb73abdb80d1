"""A supervised pool of workers. Whatever the library does to a worker costs that one worker and the mutant it was at."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from gradfuzz.errors import Poisoned, WorkerError
from gradfuzz.pool.executor import Busy, Event, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.process import Garbled, Lost, WorkerProcess, Zygote

CHECK_EVERY = 0.5
# The address-space limit stops most; this stops what grows by other ways.
RESIDENT_FACTOR = 1.5
# A worker that holds so much of its limit after a job is replaced: the library keeps something, and innocent mutants would run out of room.
RETIRED = 0.5
# Bytes of what the library has printed.
MOST_LOG = 1 << 24
GARBLED = "garbage on its connection"  # why a worker was ended
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
        self._selector.register(self.zygote, selectors.EVENT_READ, None)
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

    def at_work(self) -> list[Busy]:
        now = time.monotonic()
        return [
            Busy(f"worker {w.number}", w.job, None if w.job is None else now - w.given, w.item, w.pid) for w in self.workers if not w.parked
        ]

    def _turn(self, wait: float) -> None:
        try:
            self._assign()
            if not self.events:
                for key, _ in self._selector.select(wait):
                    if key.data is None:
                        self.zygote.notice()
                    else:
                        self._hear(key.data)
                self._bury_the_dead()
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
        environment = {**launch.environment(dict(os.environ)), "PYTHONPATH": os.pathsep.join(launch.paths)}
        # Into a file: a process that the library forks would hold a pipe open, and is ended with the script's.
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file, tempfile.TemporaryFile() as output:
            file.write(source)
            file.flush()
            command = [launch.interpreter(), file.name]
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
            try:
                status = process.wait(SCRIPT_LIMIT + 2 * launch.timeout)
            except subprocess.TimeoutExpired:
                return False, "the script did not come back"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return status == 1, output.read().decode(errors="replace")[-4000:]

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
        self._selector.unregister(self.zygote)
        self.zygote.close()
        self.zygote = _started(self.launch)
        self._selector.register(self.zygote, selectors.EVENT_READ, None)
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

    def _retire(self, worker: WorkerProcess) -> None:
        """Another in its place: what the library has left in its memory is nothing for the mutants to come."""
        worker.kill()
        self.zygote.death(worker.pid)
        self._dismiss(worker)
        self._hire()

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

    def _bury_the_dead(self) -> None:
        """Workers whose end the zygote has told of. Their connection may still be held by a process that the library has forked."""
        for worker in [w for w in self.workers if w.pid in self.zygote.deaths]:
            self._hear(worker)  # what it said before
            if worker in self.workers and worker.pid in self.zygote.deaths:
                self._bury(worker, None)

    def _hear(self, worker: WorkerProcess) -> None:
        if worker not in self.workers:
            return  # it went with another
        try:
            messages = worker.messages()
        except Garbled:
            worker.kill()
            self._bury(worker, GARBLED)
            return
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
                if self.launch.memory and worker.resident > self.launch.memory * RETIRED:
                    self._retire(worker)
                    return

    def _check(self) -> None:
        """Kill what hangs or grows without end; of what the library prints keep the end."""
        now = time.monotonic()
        with contextlib.suppress(OSError):
            if self.zygote.log.stat().st_size > MOST_LOG:
                os.truncate(self.zygote.log, 0)
        for worker in list(self.workers):
            if worker.job is None:
                continue
            seconds = worker.job.get("limit") or (self.launch.haste if worker.progress.swift else self.launch.timeout)
            limit = seconds * self.zygote.patience * self.launch.patience
            if worker.stalled(now) > limit:
                worker.kill()
                self._bury(worker, "timeout")
            elif self.launch.memory and worker.resident > self.launch.memory * RESIDENT_FACTOR:
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
                fates = worker.progress.fates(index)
                self.events.append(Event("died", job, {"cause": cause, "index": index, "counts": counts, "fates": fates, "spent": spent}))
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
        self._selector.close()
        self.zygote.close()


def _started(launch: Launch) -> Zygote:
    """A zygote; once more where somebody killed it before it could say a word."""
    try:
        return Zygote(launch)
    except Lost:
        return Zygote(launch)
