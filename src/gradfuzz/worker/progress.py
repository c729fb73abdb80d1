"""A few numbers in shared memory that outlive a worker: which mutant it was at, and what it had counted."""

from __future__ import annotations

import mmap
import os
import struct

from gradfuzz.oracles.verdict import RANK

_LAYOUT = struct.Struct(f"<qq{len(RANK)}q")
SIZE = _LAYOUT.size


class Progress:
    """Written by a worker before each mutant, read by its supervisor after a death."""

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, SIZE)
        self._memory = mmap.mmap(handle, SIZE)
        os.close(handle)
        self._pid = os.getpid()

    def write(self, job: int, index: int, counts: list[int]) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # the library forked, and this is the copy: a job has one worker
        _LAYOUT.pack_into(self._memory, 0, job, index, *counts)

    def read(self) -> tuple[int, int, list[int]]:
        job, index, *counts = _LAYOUT.unpack_from(self._memory, 0)
        return job, index, list(counts)

    def close(self) -> None:
        self._memory.close()
