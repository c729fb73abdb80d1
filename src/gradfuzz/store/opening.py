"""How a file becomes a connection: never somebody else's file, and never written to by those who only read."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
from pathlib import Path
from urllib.parse import quote

from gradfuzz.errors import StoreError

APPLICATION = 0x67667A31  # says in the file's header that it is ours
SCHEMA = 5
_HEADER = 100


def refuse_foreign(path: Path) -> bool:
    """Whether the file holds anything; StoreError if that is not ours. By its header alone: a foreign file is not even locked."""
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise StoreError(f"{path} is a folder, not a store; name a file with --store")
        if not stat.S_ISREG(about.st_mode):
            raise StoreError(f"{path} is not an ordinary file; name another with --store")
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); name another with --store") from None
    if not header:
        return False
    if len(header) < _HEADER or not header.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{path} is not a gradfuzz store; name another file with --store")
    application, version = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of another program; name another file with --store")
    if version > SCHEMA:
        raise StoreError(f"{path} was written by a newer gradfuzz (form {version}, this one knows {SCHEMA}); upgrade gradfuzz")
    return True


def missing(path: Path) -> StoreError:
    return StoreError(f"there is no store at {path}; run `gradfuzz run` first or name another with --store")


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, whatever state the file and its folder are in."""
    try:
        there = path.exists()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); name another with --store") from None
    if not there:
        raise missing(path)
    if not refuse_foreign(path):
        raise StoreError(f"{path} is empty, not a store; run `gradfuzz run` first or name another with --store")
    beside = [path.with_name(path.name + end) for end in ("-wal", "-shm")]
    try:
        if not any(p.exists() for p in beside):
            return _look(path, "immutable=1")  # nobody writes: no locks, and no files appear beside it
        try:
            return _look(path, "mode=ro")
        except sqlite3.OperationalError:
            return _look_at_a_copy(path, beside[0])  # what is in the log cannot be read where nothing can be written
    except (sqlite3.Error, OSError, ValueError) as error:
        raise StoreError(f"{path} is damaged beyond reading ({error}); name another with --store") from None


def _look(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, isolation_level=None)
    try:
        db.execute("pragma query_only = on")
        db.execute("pragma writable_schema = on")  # a file that was cut short is still read as far as it goes
        db.execute("select count(*) from sqlite_master").fetchone()
    except (sqlite3.Error, ValueError):
        db.close()
        raise
    return db


def _look_at_a_copy(path: Path, log: Path) -> sqlite3.Connection:
    with tempfile.TemporaryDirectory(prefix="gradfuzz-read-") as folder:
        copy = Path(folder) / "store.db"
        shutil.copyfile(path, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name("store.db-wal"))
        return _look(copy, "mode=rw")  # once open, its folder may go
