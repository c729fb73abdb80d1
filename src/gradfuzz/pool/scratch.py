"""A campaign's temporary folder. Whoever starts next takes away the folders of those that did not get round to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

from gradfuzz.errors import WorkerError

PREFIX = "gradfuzz-"
OWNER = "owner"  # locked for as long as the owner lives; the lock goes with the process, however that ends


class Scratch:
    """A folder that is gone when it is closed, or soon after its owner is."""

    def __init__(self, within: Path | None = None) -> None:
        """`within`: the folder to make it in, where it is not for temporary files in general."""
        try:
            parent = within or Path(tempfile.gettempdir())
            sweep(parent)
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            self._handle = os.open(self.path / "new", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            os.rename(self.path / "new", self.path / OWNER)  # whoever sees the file finds it locked
            self._remove = weakref.finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)  # at the latest when Python ends
        except OSError as error:
            where = "name a folder" if within else "set TMPDIR to a folder"
            raise WorkerError(f"no temporary folder can be made ({error}); {where} that can be written to") from None

    def close(self) -> None:
        self._remove()
        with contextlib.suppress(OSError):
            os.close(self._handle)


def sweep(folder: Path) -> None:
    """Remove what campaigns that were killed have left in a folder."""
    for left in folder.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            handle = os.open(left / OWNER, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)
