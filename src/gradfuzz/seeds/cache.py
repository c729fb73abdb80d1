"""What was learnt of a library once is kept on disk, for as long as neither it nor the code that learns changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from gradfuzz import __version__
from gradfuzz.errors import GradfuzzError, WorkerError
from gradfuzz.pool.executor import Executor
from gradfuzz.targets.homes import home_of

# Looking at a library tells of each function it tries: one that takes this long does not come back.
LEARN_LIMIT = 60.0
# More calls than this that kill the process say that something else is wrong.
MOST_DEADLY = 50
# Files that say how findings are told, labelled and gathered, how releases are installed, and what other commands want to know: which calls
# of the library work does not hang on them.
BESIDE_SEEDS = (
    "*.j2", "labels.json", "names.json", "releases.json", "idioms.json", "dialect.json", "spelling.json", "ways.json", "ways.py",
    "handwritten.py", "recording.py", "functions.py", "again.py", "beside.py", "compile.py", "decompose.py", "flow.py", "forms.py",
    "own_rule.py",
)  # fmt: skip


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/gradfuzz, as elsewhere."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradfuzz"


def cache_path(name: str, pool: Executor, suffix: str, *rooms: str, beside: tuple[str, ...] = ()) -> Path:
    """Where something about a target at its version is kept. It changes with the files of the target and of the rooms, but for those that
    it does not hang on (`beside`)."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise GradfuzzError(
            f"the cache {folder} cannot be written to ({error.strerror}); set XDG_CACHE_HOME to a folder that can"
        ) from None
    fingerprint = _fingerprint(home_of(pool.launch.target).folder, rooms, beside)
    return folder / f"{name}-{pool.launch.target}-{pool.version}-{fingerprint}.{suffix}"


@lru_cache(maxsize=16)
def _fingerprint(home: Path, rooms: tuple[str, ...], beside: tuple[str, ...]) -> str:
    here = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    folders = [here / "targets" / "base", home, here / "program", *(here / room for room in rooms)]
    for file in sorted(file for folder in folders for file in folder.glob("*")):
        if file.is_file() and not any(file.match(pattern) for pattern in beside):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def learnt(pool: Executor, do: str, what: str, rooms: tuple[str, ...], say: Callable[[str], None], **fields: Any) -> Any:
    """A worker's answer to a job that looks at the library, from the cache where it was given before.

    With modules of the user's own it is asked anew each time: they may have changed.
    """
    launch, path = pool.launch, cache_path(do, pool, "json", *rooms)
    with contextlib.suppress(OSError, ValueError):  # not there yet, or damaged
        if not launch.modules:
            return json.loads(path.read_text(encoding="utf-8"))
    say(f"looking for {what} of {launch.target} {pool.version} (once per version)")
    deadly: list[int] = []  # a call that kills the process when it is tried out is left out the next time
    while True:
        event = pool.run(do, deadly=deadly, limit=LEARN_LIMIT, fresh=True, **fields)
        if event.kind != "died" or event.data["index"] in deadly or len(deadly) >= MOST_DEADLY:
            break
        deadly.append(event.data["index"])
    if event.kind != "done" or "failed" in event.data:
        raise WorkerError(f"{what} of {launch.target} could not be found: {event.data.get('failed') or event.data.get('cause')}")
    if not launch.modules:
        part = path.with_suffix(".part")
        try:
            part.write_text(json.dumps(event.data[do]), encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise GradfuzzError(f"the cache {path.parent} cannot be written to ({error.strerror}); set XDG_CACHE_HOME elsewhere") from None
    return event.data[do]
