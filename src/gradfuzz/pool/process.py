"""The processes of a pool, seen from outside: the zygote that is asked for workers, and the workers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from gradfuzz.errors import TargetError, WorkerError
from gradfuzz.pool.launch import Launch
from gradfuzz.worker.progress import Progress

START_LIMIT = 180.0
FORK_LIMIT = 60.0


class WorkerProcess:
    """One forked worker: its socket, its progress, and the job it has."""

    def __init__(self, number: int, pid: int, connection: socket.socket, progress: Progress) -> None:
        self.number, self.pid, self.connection, self.progress = number, pid, connection, progress
        self.buffer = b""
        self.job: dict[str, Any] | None = None
        self.parked = False  # it rests while a guest has its place
        self.host: WorkerProcess | None = None  # whose place a guest has
        self.last_seen: tuple[int, int] = (-1, -1)
        self.last_change = self.began = time.monotonic()
        self.waited_then = 0.0

    def send(self, job: dict[str, Any]) -> None:
        self.job = job
        self.last_seen, self.last_change = (-1, -1), time.monotonic()
        self.began, self.waited_then = self.last_change, self.waited()
        self.connection.setblocking(True)
        try:
            self.connection.sendall(json.dumps(job).encode() + b"\n")
        except OSError:
            pass  # it has just died; its silence tells
        finally:
            self.connection.setblocking(False)

    def messages(self) -> list[dict[str, Any]] | None:
        """What has arrived; None if the worker is gone."""
        try:
            chunk = self.connection.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not chunk:
            return None
        *lines, self.buffer = (self.buffer + chunk).split(b"\n")
        return [json.loads(line) for line in lines if line]

    def stalled(self, now: float) -> float:
        """Seconds since its progress last moved, less those that it waited for a processor: slow is not hung."""
        job, index, _ = self.progress.read()
        if (job, index) != self.last_seen:
            self.last_seen, self.last_change, self.waited_then = (job, index), now, self.waited()
        return now - self.last_change - (self.waited() - self.waited_then)

    def waited(self) -> float:
        """Seconds that it was ready to run while other processes had the processors; nothing where the system does not say."""
        total = 0
        for path in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                total += int(path.read_text().split()[1])
        return total / 1e9

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self.connection.close()
        self.progress.close()


class Zygote:
    """A process with the library imported, that forks workers in milliseconds."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.folder = tempfile.TemporaryDirectory(prefix="gradfuzz-")
        self.log = Path(self.folder.name) / "worker.log"
        self.deaths: dict[int, dict[str, Any]] = {}
        self._buffer = b""
        self._count = 0
        self.process = subprocess.Popen(
            launch.command(self.log), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=launch.environment(dict(os.environ)),
        )  # fmt: skip
        ready = self._control(START_LIMIT)
        if ready is None or "failed" in ready:
            self.close()
            raise TargetError(_why(ready, launch, self.process))
        self.version: str = ready["ready"]
        self.patience = float(ready["patience"])
        self.family = int(ready["family"])
        self.ways: tuple[str, ...] = tuple(ready["ways"])

    def fork(self) -> WorkerProcess:
        """A new worker, connected."""
        self._count += 1
        name = str(Path(self.folder.name) / f"{self._count}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(name + ".sock")
        listener.listen(1)
        listener.settimeout(FORK_LIMIT)
        request = {"worker": self._count, "socket": name + ".sock", "progress": name + ".progress", "memory": self.launch.memory}
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            connection, _ = listener.accept()
        except (OSError, socket.timeout) as error:
            raise WorkerError(f"a worker could not be started ({error}); see {self.log}") from None
        finally:
            listener.close()
        pid = self._forked(self._count)
        os.unlink(name + ".sock")
        progress = Progress(name + ".progress")  # the worker opens the same file
        connection.setblocking(False)
        return WorkerProcess(self._count, pid, connection, progress)

    def _forked(self, worker: int) -> int:
        while True:
            message = self._control(FORK_LIMIT)
            if message is None:
                raise WorkerError(f"the process that holds {self.launch.target} died; see {self.log}")
            if message.get("worker") == worker:
                return int(message["forked"])

    def death(self, pid: int, wait: float = 5.0) -> dict[str, Any]:
        """How a worker died."""
        deadline = time.monotonic() + wait
        while pid not in self.deaths and time.monotonic() < deadline:
            if self._control(max(0.01, deadline - time.monotonic())) is None:
                break
        return self.deaths.pop(pid, {"signal": 0, "status": -1})

    def _control(self, wait: float) -> dict[str, Any] | None:
        """The next control message. Deaths are noted on the way."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        deadline = time.monotonic() + wait
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(handle, 1 << 16) if ready else b""
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        if "exited" in message:
            self.deaths[message["exited"]] = message
        return message

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def _why(ready: dict[str, Any] | None, launch: Launch, process: subprocess.Popen[bytes]) -> str:
    if ready is not None:
        return str(ready["failed"])
    process.kill()
    error = (process.stderr.read() if process.stderr else b"").decode(errors="replace").strip().splitlines()
    detail = f": {error[-1]}" if error else ""
    return f"{launch.target} could not be started with {launch.python}{detail}"
