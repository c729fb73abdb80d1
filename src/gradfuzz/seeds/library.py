"""The library's own samples as seeds, read once per version and kept on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from gradfuzz.errors import GradfuzzError, ProgramError, WorkerError
from gradfuzz.pool.pool import Pool
from gradfuzz.program import from_json, gate, parse, to_json
from gradfuzz.seeds.cache import MOST_DEADLY, cache_path
from gradfuzz.seeds.seed import Seed
from gradfuzz.targets.homes import language_for

READ_LIMIT = 1200.0


def library_seeds(pool: Pool, say: Callable[[str], None]) -> list[Seed]:
    """The target's own samples."""
    launch = pool.launch
    path = cache_path("-".join(("seeds", *launch.modules)), pool, "jsonl")  # a target may try out the user's modules, too
    if not path.exists():
        say(f"reading the samples of {launch.target} {pool.version} (once per version)")
        _read(pool, path, say)
    return read_jsonl(path)


def _read(pool: Pool, path: Path, say: Callable[[str], None]) -> None:
    """Have a worker write the seeds. An API that kills it when it is tried out is left out the next time."""
    note = path.with_name(path.name + ".trying")
    deadly: list[str] = []
    while True:
        event = pool.run("seeds", path=str(path), deadly=deadly, limit=READ_LIMIT, fresh=True)
        api = note.read_text(encoding="utf-8") if note.exists() else ""
        note.unlink(missing_ok=True)
        if event.kind == "done" and "failed" not in event.data:
            return
        if event.kind != "died" or not api or api in deadly or len(deadly) >= MOST_DEADLY:
            reason = event.data.get("failed") or event.data.get("cause")
            raise WorkerError(f"the samples of {pool.launch.target} could not be read: {reason}")
        deadly.append(api)
        say(f"trying out {api} killed its process ({event.data.get('cause')}); going on without it")


def read_jsonl(path: Path) -> list[Seed]:
    """The rows of a file of seeds, one JSON object a line; GradfuzzError, with the line, for anything else."""
    found = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ProgramError("not an object with api, source and program")
            api, source = (gate.check_word(row.get(key), key) for key in ("api", "source"))
            found.append(Seed(api, source, row.get("program", {})))
        except ProgramError as error:
            raise GradfuzzError(f"{path}: line {number}: {error.reason}") from None
        except (ValueError, RecursionError) as error:
            raise GradfuzzError(f"{path}: line {number} is not JSON ({str(error)[:80]})") from None
    return found


def file_seeds(path: Path, target: str, modules: tuple[str, ...]) -> list[Seed]:
    """Seeds from a file: Programs as text, separated by blank lines, or one JSON object a line. All of them pass the gate."""
    language = language_for(target, modules)
    found = []
    if path.suffix == ".jsonl":
        for number, seed in enumerate(read_jsonl(path), 1):
            try:
                program = gate.check(from_json(seed.program), language)
                found.append(Seed(gate.check_api(seed.api, language), seed.source, to_json(program)))
            except ProgramError as error:
                raise GradfuzzError(f"{path}: seed {number}: {error}") from None
        return found
    for number, part in enumerate((p for p in _text(path).split("\n\n") if p.strip()), 1):
        try:
            program = parse(part, language)
        except ProgramError as error:
            raise GradfuzzError(f"{path}: Program {number}: {error}") from None
        found.append(Seed(program.api, f"file:{path.name}", to_json(program)))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GradfuzzError(f"{path} cannot be read: {error}") from None
