"""The Pythons of this computer: by name on the path, and where they usually are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gradfuzz.errors import GradfuzzError
from gradfuzz.worker.boot import OLDEST

ASK_LIMIT = 20.0
# Newer ones than this do not exist yet; looking costs nothing.
NEWEST_MINOR = 20
USUAL = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


@dataclass(frozen=True)
class Python:
    """An interpreter; `minor`: 3.10."""

    path: str
    minor: str


@lru_cache(maxsize=64)
def ask(path: str) -> Python | None:
    """What an interpreter says of itself; None if it cannot be started, is older than workers can bear, or has no venv."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=ASK_LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    parts = done.stdout.strip().split(".")
    if done.returncode or len(parts) != 2 or tuple(map(int, parts)) < OLDEST:
        return None
    return Python(path, ".".join(parts))


def _places(minor: str) -> list[str]:
    """Where a Python 3.N may be."""
    name = f"python{minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(name), *(str(p / "bin" / name) for p in sorted(pyenv.glob(f"{minor}.*"), reverse=True))]
    found += [str(Path(folder) / name) for folder in USUAL]
    return [path for path in found if path and os.access(path, os.X_OK)]


def find(minor: str) -> Python | None:
    """A Python 3.N that works, wherever it is."""
    return next((p for path in _places(minor) if (p := ask(path)) is not None and p.minor == minor), None)


def installed() -> list[Python]:
    """One of each minor version, oldest first."""
    minors = [f"3.{minor}" for minor in range(OLDEST[1], NEWEST_MINOR + 1)]
    return [p for minor in minors if (p := find(minor)) is not None]


def choose(wanted: tuple[str, ...]) -> Python:
    """The newest installed Python among those that a release has wheels for; this one where nobody says which."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for minor in sorted(wanted or (here,), key=lambda m: int(m.partition(".")[2]), reverse=True):
        if (found := find(minor)) is not None:
            return found
    if not wanted and (own := ask(sys.executable)) is not None:
        return own
    raise GradfuzzError(f"it needs Python {' or '.join(wanted or (here,))}, and none was found; install one, or name it with --python")


def named(text: str) -> Python:
    """The interpreter that the user names: a path, a name on the path, or python3.10 wherever that is."""
    found = shutil.which(text)
    if found is not None and (python := ask(found)) is not None:
        return python
    minor = text.rpartition("python")[2]
    if minor.count(".") == 1 and all(part.isdigit() for part in minor.split(".")) and (python := find(minor)) is not None:
        return python
    oldest = ".".join(map(str, OLDEST))
    raise GradfuzzError(f"--python {text}: there is no such interpreter, or it is older than {oldest} or lacks venv and ensurepip")
