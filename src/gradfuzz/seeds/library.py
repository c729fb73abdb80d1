"""The library's own samples as seeds, read once per version and kept on disk."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from gradfuzz.errors import WorkerError
from gradfuzz.pool.pool import Pool
from gradfuzz.seeds.cache import MOST_DEADLY, cache_path
from gradfuzz.seeds.seed import Seed

READ_LIMIT = 1200.0


def library_seeds(pool: Pool, say: Callable[[str], None]) -> list[Seed]:
    """The target's own samples."""
    launch = pool.launch
    path = cache_path("-".join(("seeds", *launch.modules)), pool, "jsonl")  # a target may try out the user's modules, too
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not there yet, or damaged
        if path.exists() and (kept := read_jsonl(path)):
            return kept
    say(f"reading the samples of {launch.target} {pool.version} (once per version)")
    _read(pool, path, say)
    return read_jsonl(path)


def _read(pool: Pool, path: Path, say: Callable[[str], None]) -> None:
    """Have a worker write the seeds. An API that kills it when it is tried out is left out the next time."""
    deadly: list[str] = []
    while True:
        written = pool.folder / "seeds.jsonl"  # behind its walls a worker cannot write elsewhere
        event = pool.run("seeds", path=str(written), deadly=deadly, limit=READ_LIMIT, fresh=True)
        note = written.with_name(written.name + ".trying")
        api = note.read_text(encoding="utf-8") if note.exists() else ""
        note.unlink(missing_ok=True)
        if event.kind == "done" and "failed" not in event.data:
            part = path.with_name(f"{path.name}.{os.getpid()}.part")
            shutil.move(written, part)
            part.replace(path)
            return
        if event.kind != "died" or not api or api in deadly or len(deadly) >= MOST_DEADLY:
            reason = event.data.get("failed") or event.data.get("cause")
            raise WorkerError(f"the samples of {pool.launch.target} could not be read: {reason}")
        deadly.append(api)
        say(f"trying out {api} killed its process ({event.data.get('cause')}); going on without it")


def read_jsonl(path: Path) -> list[Seed]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [Seed(row["api"], row["source"], row["program"]) for row in rows]
