"""Work on many things that may each kill the process: in forked processes, a chunk at a time, past whatever killed one.

TensorFlow's own checks abort the process for some arguments. This process must not have started TensorFlow's runtime: it does not
survive a fork.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from tensorflow.python.eager import context

CHUNK = 48
# One thing may take so long before its child is given up.
PATIENCE = 20.0


def runtime_started() -> bool:
    return bool(context.context()._initialized)


def in_forks(things: Sequence[Any], work: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    """What `work` yields for each thing, in order. Answers travel as JSON."""
    if runtime_started():
        for thing in things:
            yield from work(thing)
        return
    position = 0
    while position < len(things):
        chunk = things[position : position + CHUNK]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _work_through(chunk, work, writing)
        os.close(writing)
        at = -1
        for line in _lines(reading, child):
            if "at" in line:
                at = line["at"]
            else:
                yield line["answer"]
        os.close(reading)
        died = os.waitpid(child, 0)[1] != 0
        position += at + 1 if died else len(chunk)


def _work_through(chunk: Sequence[Any], work: Callable[[Any], Iterator[Any]], writing: int) -> None:
    status = 1
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            for index, thing in enumerate(chunk):
                stream.write(json.dumps({"at": index}) + "\n")
                stream.flush()
                for answer in work(thing):
                    stream.write(json.dumps({"answer": answer}) + "\n")
                    stream.flush()
        status = 0
    finally:
        os._exit(status)


def _lines(reading: int, child: int) -> Iterator[dict[str, Any]]:
    """Whole lines until the child closes its end; a child that says nothing for too long is killed."""
    rest = b""
    while True:
        if not select.select([reading], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
        part = os.read(reading, 2**16)
        if not part:
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from (json.loads(line) for line in lines)
