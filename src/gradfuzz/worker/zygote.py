"""The zygote: imports the library once, where that bears being forked (library.py), and forks a worker for each request.

Requests come on standard input, a socket that carries each worker's end of its own connection; control messages go out on standard
output, one JSON object a line. A library must bear being forked after its import; it need not once its runtime has started.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from gradfuzz.errors import GradfuzzError, Poisoned
from gradfuzz.worker.progress import Progress
from gradfuzz.worker.walls import raise_walls
from gradfuzz.worker.wire import send

MOST_REQUEST = 1 << 16  # bytes
IDLE = 0.2  # seconds without a request: the workers that a campaign begins with are at work
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="gradfuzz.worker")
    parser.add_argument("--target", required=True)
    parser.add_argument("--package", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--way", action="append", default=[])
    parser.add_argument("--log", default=os.devnull)
    options = parser.parse_args(arguments)
    control = os.fdopen(os.dup(1), "wb", buffering=0)
    requests = socket.socket(fileno=os.dup(0))
    _redirect(options.log)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the campaign, which ends its processes itself
    _die_with_parent()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    sys.path[:0] = options.path
    why = _cannot_serve(Path(options.folder))
    if why:
        send(control, {"failed": why})
        return 2
    try:
        # Everything that a worker runs is imported here, once: a fork takes milliseconds, and all workers run the same code.
        import gradfuzz.worker.serve  # noqa: F401
        from gradfuzz.targets.homes import Home, adopt
        from gradfuzz.worker.library import library

        home = Home(options.target, options.package, Path(options.folder))
        adopt(home)
        found = library(home, tuple(options.module), options.way)
    except GradfuzzError as error:
        send(control, {"failed": str(error)})
        return 2
    except Exception as error:  # whatever a broken library or module of the user's raises when it is imported
        traceback.print_exc()
        what = f"{options.target} {'or ' + ', '.join(options.module) + ' ' if options.module else ''}cannot be imported"
        send(control, {"failed": f"{what} by {sys.executable} ({type(error).__name__}: {error})"})
        return 2
    send(control, {"pid": os.getpid(), **found.traits})
    _control(found, requests, control)


def _cannot_serve(folder: Path) -> str:
    """Why this interpreter cannot, and what to do about it; nothing where it can."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    missing = [m for m in (str(about["module"]).partition(".")[0], "numpy") if importlib.util.find_spec(m) is None]
    if not missing:
        return ""
    what = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing in {sys.executable}"
    return f"{what}: pip install {' '.join(missing)} there, or name another --python"


def _redirect(log: str) -> None:
    """The library's own chatter goes to a file: the control stream must stay clean."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _die_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(what: int, value: int) -> None:
    """Where there is such a thing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(what, value)


class Children:
    """The processes that come from this one: workers, what the library started when it was imported, and what workers have left behind."""

    def __init__(self) -> None:
        self.workers: set[int] = set()
        self._kept = self._all()

    def _all(self) -> set[int]:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/self/task/{os.getpid()}/children") as file:
            return set(map(int, file.read().split()))
        return set()

    def end_orphans(self) -> bool:
        """End what workers that are gone have started, which is ours by now; whether there was anything."""
        orphans = self._all() - self._kept - self.workers
        for pid in orphans:
            _kill(pid)
        return bool(orphans)

    def end_all(self) -> None:
        """End the workers, and whatever they had started, and what that had."""
        while self.workers:
            pid = self.workers.pop()
            _kill(pid)
            _wait(pid)
        while self.end_orphans():
            for pid in self._all() - self._kept:
                _wait(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _wait(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _control(library: Any, requests: socket.socket, control: BinaryIO) -> NoReturn:
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children = Children()
    with contextlib.suppress(OSError):  # whoever asked for workers is gone
        _serve(library, requests, control, wake_read, children)
    children.end_all()
    os._exit(0)  # without what the library would do at the end: it may never come to it


def _serve(library: Any, requests: socket.socket, control: BinaryIO, wake_read: int, children: Children) -> None:
    """Fork until nobody asks any more. What those to come will need is imported when the first ones have been forked."""
    warm = False
    while True:
        ready = select.select([requests.fileno(), wake_read], [], [], None if warm else IDLE)[0]
        if not ready:
            warm = True
            library.warm_up()
        if wake_read in ready:
            os.read(wake_read, 4096)
            _reap(control, children)
        if requests.fileno() in ready:
            message, handles, _, _ = socket.recv_fds(requests, MOST_REQUEST, 1)
            if not message:
                return
            request = json.loads(message)  # one at a time, each with the worker's end of its connection
            try:
                child = os.fork()
            except OSError as error:
                os.close(handles[0])
                send(control, {"failed": str(error), "worker": request["worker"]})
                continue
            if child == 0:
                signal.set_wakeup_fd(-1)
                os._exit(_become_worker(library, request, socket.socket(fileno=handles[0])))
            os.close(handles[0])
            children.workers.add(child)
            send(control, {"forked": child, "worker": request["worker"]})


def _reap(control: BinaryIO, children: Children) -> None:
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid not in children.workers:
            continue  # what one of them had left behind
        children.workers.remove(pid)
        children.end_orphans()
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        cpu = used.ru_utime + used.ru_stime
        send(control, {"exited": pid, "signal": killed, "status": os.WEXITSTATUS(status) if not killed else 0, "cpu": cpu})


def _become_worker(library: Any, request: dict[str, Any], connection: socket.socket) -> int:
    """A worker's life; returns its exit status."""
    from gradfuzz.worker.serve import Worker

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_parent()
    target = library()
    _limit_memory(request["memory"])
    progress = Progress(request["progress"])
    missing = raise_walls(os.path.dirname(request["progress"]), request["walls"])
    try:
        Worker(target, connection.makefile("rwb"), progress, missing).serve()
    except Poisoned as error:
        return error.STATUS
    return 0


def _limit_memory(megabytes: int) -> None:
    """The address space may grow by so much from here: an endless allocation then fails inside the library, as an exception."""
    if not megabytes:
        return
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    limit = used + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
