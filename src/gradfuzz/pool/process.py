"""The processes of a pool, seen from outside: the zygote that is asked for workers, and the workers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil

from gradfuzz.errors import TargetError, WorkerError
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.scratch import Scratch
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import home_of
from gradfuzz.worker.progress import Progress

START_LIMIT = 180.0
FORK_LIMIT = 60.0
LAST_LINES = 3
NOTHING = (-1, -1, [-1])  # no worker's progress
Threads = dict[str, tuple[float, float]]  # seconds that each has run, and has waited for a processor


def at_rest(seconds: float, then: Threads, now: Threads) -> float:
    """For how long a process has got nowhere: so many seconds by the clock, less those that a thread of it waited for a processor.

    What a thread has run counts whatever the others waited: where several spin on a busy machine, one of them always waits.
    """
    since = [(ran - then.get(thread, (0.0, 0.0))[0], waited - then.get(thread, (0.0, 0.0))[1]) for thread, (ran, waited) in now.items()]
    return max(seconds - max((waited for _, waited in since), default=0.0), *(ran for ran, _ in since), 0.0)


class WorkerProcess:
    """One forked worker: its socket, its progress, and the job it has."""

    def __init__(self, number: int, pid: int, connection: socket.socket, progress_file: str) -> None:
        self.number, self.pid, self.connection, self.progress_file = number, pid, connection, progress_file
        self.progress = Progress(progress_file)  # the worker opens the same file
        self.buffer = b""
        self.job: dict[str, Any] | None = None
        self.parked = False  # it rests while a guest has its place
        self.host: WorkerProcess | None = None  # whose place a guest has
        self.last_seen: tuple[int, int, list[int]] = NOTHING
        self.last_change = self.given = time.monotonic()  # when its progress moved, and when it was given its job
        self.threads_then: Threads | None = None  # what its threads had had of the processor when it was first seen at rest
        self._process: psutil.Process | None = None
        self.spent = 0.0  # seconds of the processor that its answers have told of

    def send(self, job: dict[str, Any]) -> None:
        self.job = job
        self.last_seen, self.last_change, self.threads_then = NOTHING, time.monotonic(), None
        self.given = self.last_change
        self.connection.setblocking(True)
        try:
            self.connection.sendall(json.dumps(job).encode() + b"\n")
        except OSError:
            pass  # it has just died; its silence tells
        finally:
            self.connection.setblocking(False)

    def messages(self) -> list[dict[str, Any]] | None:
        """What has arrived; None if the worker is gone. Garbled if it is none of what workers say."""
        try:
            chunk = self.connection.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not chunk:
            return None
        *lines, self.buffer = (self.buffer + chunk).split(b"\n")
        try:
            found = [json.loads(line) for line in lines if line]
        except ValueError:
            raise Garbled from None
        if not all(isinstance(message, dict) for message in found):
            raise Garbled
        return found

    def stalled(self, now: float) -> float:
        """Seconds since its progress last moved, less those that it waited for a processor: slow is not hung."""
        progress = self.progress.read()
        if progress != self.last_seen:
            self.last_seen, self.last_change, self.threads_then = progress, now, None
            return 0.0
        threads = self._threads()
        if self.threads_then is None:
            self.threads_then = threads
        return at_rest(now - self.last_change, self.threads_then, threads)

    def _threads(self) -> Threads:
        """Of each thread the seconds that it ran, and that it was ready to run while others had the processors, where the system says."""
        found: Threads = {}
        for path in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                ran, waited = path.read_text().split()[:2]
                found[path.parent.name] = int(ran) / 1e9, int(waited) / 1e9
        return found

    @property
    def resident(self) -> float:
        """Megabytes of memory that it holds."""
        try:
            self._process = self._process or psutil.Process(self.pid)
            return float(self._process.memory_info().rss) / 2**20
        except psutil.Error:
            return 0.0

    @property
    def item(self) -> int | None:
        """The item of its job that it is at; None where it has not said."""
        job, index, _ = self.progress.read()
        return index if self.job is not None and job == self.job["id"] else None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self.connection.close()
        self.progress.close()
        Path(self.progress_file).unlink(missing_ok=True)


class Garbled(Exception):
    """The library has written to its worker's connection."""


class Lost(WorkerError):
    """The process that holds the library is gone, and its workers with it."""


class Zygote:
    """A process with the library imported, that forks workers in milliseconds."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.folder = Scratch()
        self.log = self.folder.path / "worker.log"
        self.deaths: dict[int, dict[str, Any]] = {}
        self._workers: set[int] = set()
        self.gone = False
        self._buffer = b""
        self._count = 0
        # A worker's end of its connection travels over this socket: names in the file system may be too long for one.
        self._requests, theirs = socket.socketpair()
        try:
            self.process = subprocess.Popen(
                launch.command(self.log), stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=launch.environment(dict(os.environ)),
            )  # fmt: skip
        except (OSError, TargetError) as error:
            self._requests.close()
            self.folder.close()
            if isinstance(error, TargetError):
                raise
            raise TargetError(f"{launch.python} cannot be started: {error.strerror}") from None
        finally:
            theirs.close()
        ready = self._control(START_LIMIT)
        if ready is None or "ready" not in ready:
            killed = self.gone and self.process.wait(5) == -signal.SIGKILL
            why = _why(ready, launch, self.process, self.log)
            self.close()
            raise Lost(f"{why} (it was killed)") if killed else TargetError(why)
        self.version: str = ready["ready"]
        self.patience = float(ready["patience"])
        self.family = int(ready["family"])
        self.ways = declared(home_of(launch.target).data("ways"), ready["ways"])

    def fork(self) -> WorkerProcess:
        """A new worker, connected. Lost if there is nobody to ask any more, WorkerError if there is no room for one."""
        self._count += 1
        progress = str(self.folder.path / f"{self._count}.progress")
        # A device's runtime reserves address space by the terabyte, so that only what a worker holds can be limited.
        memory = 0 if self.launch.device else self.launch.memory
        request = {"worker": self._count, "progress": progress, "memory": memory, "walls": self.launch.walls}
        connection, theirs = socket.socketpair()
        try:
            socket.send_fds(self._requests, [json.dumps(request).encode() + b"\n"], [theirs.fileno()])
            pid = self._forked(self._count)
        except (OSError, WorkerError) as error:
            connection.close()
            raise error if isinstance(error, WorkerError) else self.lost() from None
        finally:
            theirs.close()
        connection.setblocking(False)
        self._workers.add(pid)
        return WorkerProcess(self._count, pid, connection, progress)

    def _forked(self, worker: int) -> int:
        while True:
            message = self._control(FORK_LIMIT)
            if message is None:
                raise self.lost()
            if message.get("worker") == worker:
                if "failed" in message:
                    raise WorkerError(f"a worker could not be started: {message['failed']}")
                return int(message["forked"])

    def lost(self) -> Lost:
        """What to say of its end, with the last lines that it wrote."""
        self.gone = True
        status = self.process.poll()
        how = f" ({signal.Signals(-status).name})" if status is not None and status < 0 else ""
        return Lost(f"the process that holds {self.launch.target} died{how}{_tail(self.log)}")

    def death(self, pid: int, wait: float = 5.0) -> dict[str, Any]:
        """How a worker died. Lost if the zygote did."""
        deadline = time.monotonic() + wait
        while pid not in self.deaths and time.monotonic() < deadline:
            if self._control(max(0.01, deadline - time.monotonic())) is None:
                break
        if self.gone:
            raise self.lost()
        self._workers.discard(pid)
        return self.deaths.pop(pid, {"signal": 0, "status": -1, "cpu": 0.0})

    def notice(self) -> None:
        """Take in deaths that were told of. Lost if there is nobody left to tell."""
        while self._control(0.0) is not None:
            pass
        if self.gone:
            raise self.lost()

    def fileno(self) -> int:
        """Where it tells of deaths."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def _control(self, wait: float) -> dict[str, Any] | None:
        """The next control message. Deaths are noted on the way."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        deadline = time.monotonic() + wait
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(handle, 1 << 16) if ready else b""
            if not chunk:
                self.gone = self.gone or bool(ready)
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            message: dict[str, Any] = dict(json.loads(line))
        except (ValueError, TypeError):  # --python names a program that is no Python
            return None
        if message.get("exited") in self._workers:
            self.deaths[message["exited"]] = message
        return message

    def close(self) -> None:
        self._requests.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.folder.close()


def _why(ready: dict[str, Any] | None, launch: Launch, process: subprocess.Popen[bytes], log: Path) -> str:
    if ready is not None and "failed" in ready:
        return str(ready["failed"])
    process.kill()
    error = (process.stderr.read() if process.stderr else b"").decode(errors="replace").strip().splitlines()
    detail = f": {error[-1]}" if error else _tail(log)
    return f"{launch.target} could not be started with {launch.python}{detail}"


def _tail(log: Path) -> str:
    """The last lines of a log, on one line."""
    try:
        lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return ": " + " / ".join(lines[-LAST_LINES:]) if lines else ""
