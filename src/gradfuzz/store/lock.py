"""One campaign has one writer: a lock beside the store that vanishes with the process that holds it, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from gradfuzz.errors import StoreError


class Claim:
    """Held for as long as a campaign writes to a store. StoreError, naming the other process, where somebody else holds it."""

    def __init__(self, store: Path) -> None:
        self.path = os.path.realpath(store) + ".lock"
        while True:
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise StoreError(f"--store {store}: nothing can be written there ({error.strerror}); name another file") from None
            if _locked(handle, store) and _is_at(handle, self.path):
                break
            os.close(handle)  # its last holder took the file away while we waited in line
        self._handle = handle
        with contextlib.suppress(OSError):  # who it is helps people; the lock holds without
            os.truncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())

    def release(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.path)  # while it is held: whoever has opened it meanwhile sees that it is gone
        os.close(self._handle)

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _locked(handle: int, store: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(handle, 20, 0).decode(errors="replace").strip()
        os.close(handle)
        raise StoreError(
            f"{store} is being written to by another campaign{f' (process {who})' if who.isdigit() else ''}; "
            "wait for it to end, or name another file with --store"
        ) from None
    except OSError:
        return True  # a file system without locks: better unguarded than not at all
    return True


def _is_at(handle: int, path: str) -> bool:
    """Whether the file that is open is still the one at the path."""
    try:
        there = os.stat(path)
    except OSError:
        return False
    return os.path.samestat(os.fstat(handle), there)
