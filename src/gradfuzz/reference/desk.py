"""Processes that answer questions to the reference, beside the campaign: nobody waits for them, and one that takes too long is ended."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

# Seconds for one question; a call into the arithmetic that does not come back is ended by force after so many times as long.
SECONDS = 8.0
PATIENCE = 3.0
# How much it gives way to workers: their throughput is what a campaign lives on.
NICENESS = 10
END = 0  # no question's number
ROOT = Path(__file__).parent.parent.parent


class Desk:
    """Questions in, answers out, in no order. Processes are started when the first question comes."""

    def __init__(self, size: int = 1, seconds: float = SECONDS) -> None:
        self.size, self.seconds = size, seconds
        self.finished: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._questions: queue.PriorityQueue[tuple[bool, int, dict[str, Any]]] = queue.PriorityQueue()
        self._threads: list[threading.Thread] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def ask(self, number: int, question: dict[str, Any], urgent: bool = True) -> None:
        """Queue a question; its answer comes to `finished` under the number. What is urgent goes first."""
        if len(self._threads) < self.size:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()
        self._questions.put((not urgent, number, {**question, "seconds": self.seconds}))

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._closed = True
        for _ in self._threads:
            self._questions.put((False, END, {}))
        for child in self._children:
            child.kill()
            child.wait()

    def _work(self) -> None:
        child: subprocess.Popen[bytes] | None = None
        while not self._closed:
            _, number, question = self._questions.get()
            if number == END:
                break
            if child is None or child.poll() is not None:
                child = self._start()
            answer = _asked(child, question, self.seconds * PATIENCE)
            if answer is None:
                child.kill()
                child.wait()
                answer = {"silent": "took too long"}
            self.finished.put((number, answer))
        if child is not None:
            child.kill()
            child.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "gradfuzz.reference.desk"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        self._children = [c for c in self._children if c.poll() is None] + [child]
        return child


def _asked(child: subprocess.Popen[bytes], question: dict[str, Any], limit: float) -> dict[str, Any] | None:
    """A process's answer; None where it does not come in time or the process is gone."""
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(json.dumps(question).encode() + b"\n")
        child.stdin.flush()
        with selectors.DefaultSelector() as waiting:
            waiting.register(child.stdout, selectors.EVENT_READ)
            if not waiting.select(limit):
                return None
            line = child.stdout.readline()
        found: dict[str, Any] | None = json.loads(line) if line else None
        return found
    except (OSError, ValueError):
        return None


def main() -> None:
    """One process: a question a line in, an answer a line out, until nobody asks any more."""
    from gradfuzz.reference.prove import answer

    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin.buffer:
            began = time.process_time()
            try:
                found = answer(json.loads(line))
            except Exception as error:  # a question that we cannot take is no reason to end a campaign
                found = {"silent": f"not known: {type(error).__name__}: {error}"}
            found["seconds"] = time.process_time() - began
            sys.stdout.write(json.dumps(found, default=str) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
