"""A few numbers in shared memory that outlive a worker: which mutant it was at, what it had counted, and what became of each mutant."""

from __future__ import annotations

import mmap
import os
import struct

from gradfuzz.oracles.verdict import RANK

_LAYOUT = struct.Struct(f"<qqq{len(RANK)}q")
# What became of a mutant, a byte for each of the first so many of a job; nothing is said of those that were left out.
LEFT_OUT, REFUSED, RAN_BLIND, RAN, DIED = b"0", b"1", b"2", b"3", b"4"
MOST_FATES = 4096
SIZE = _LAYOUT.size + MOST_FATES


class Progress:
    """Written by a worker before each mutant, read by its supervisor after a death."""

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, SIZE)
        self._memory = mmap.mmap(handle, SIZE)
        os.close(handle)
        self._pid = os.getpid()
        self._job = -1

    def write(self, job: int, index: int, counts: list[int], swift: bool = False) -> None:
        """`swift`: one like it has just taken next to no time, so that this one hangs if it takes seconds."""
        if os.getpid() != self._pid:
            os._exit(0)  # the library forked, and this is the copy: a job has one worker
        if job != self._job:
            self._job = job
            self._memory[_LAYOUT.size :] = LEFT_OUT * MOST_FATES
        _LAYOUT.pack_into(self._memory, 0, job, index, swift, *counts)

    def note(self, index: int, fate: bytes) -> None:
        """What became of a mutant."""
        if index < MOST_FATES:
            self._memory[_LAYOUT.size + index] = fate[0]

    def read(self) -> tuple[int, int, list[int]]:
        job, index, _, *counts = _LAYOUT.unpack_from(self._memory, 0)
        return job, index, list(counts)

    @property
    def swift(self) -> bool:
        """Whether the mutant at hand ought to take next to no time."""
        return bool(_LAYOUT.unpack_from(self._memory, 0)[2])

    def fates(self, count: int) -> str:
        """What became of the first mutants of a job."""
        return self._memory[_LAYOUT.size : _LAYOUT.size + min(count, MOST_FATES)].decode()

    def close(self) -> None:
        self._memory.close()
