"""Seeds from people's files: Programs as text, separated by blank lines, or one JSON object a line. What is wrong is said with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from gradfuzz.errors import GradfuzzError, ProgramError
from gradfuzz.pool.executor import Executor
from gradfuzz.program import Language, Program, from_json, gate, parse, to_json
from gradfuzz.seeds.seed import Seed
from gradfuzz.targets.homes import language_for

VET_LIMIT = 60.0
MOST_SAID = 5


def file_seeds(path: Path, target: str, modules: tuple[str, ...]) -> list[Seed]:
    """The seeds of one file; all of them pass the gate. GradfuzzError, with the file and the line, for anything that is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GradfuzzError(f"--seeds {path}: {error.strerror}; name a file of Programs") from None
    except UnicodeDecodeError:
        raise GradfuzzError(f"--seeds {path}: the file is not UTF-8 text; write Programs as the README shows") from None
    language = language_for(target, modules)
    found = []
    for line, part in _rows(text) if path.suffix == ".jsonl" else _parts(text):
        try:
            found.append(_row(part, language) if path.suffix == ".jsonl" else _program(parse(part, language), path))
        except ProgramError as error:
            raise GradfuzzError(f"--seeds {path}, line {line + max(0, error.line - 1)}: {error.reason}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, MemoryError) as error:
            raise GradfuzzError(f"--seeds {path}, line {line}: this is no Program ({type(error).__name__}: {str(error)[:80]})") from None
    if not found:
        raise GradfuzzError(f"--seeds {path}: the file holds no Program; see the README for how to write one")
    return found


def seeds_of_lines(lines: list[str], target: str, modules: tuple[str, ...], whose: str) -> list[Seed]:
    """Seeds that were kept as lines of JSON; all of them pass the gate. GradfuzzError for anything that is none."""
    language = language_for(target, modules)
    try:
        return [_row(line, language) for line in lines]
    except ProgramError as error:
        raise GradfuzzError(f"{whose}: {error.reason}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, MemoryError) as error:
        raise GradfuzzError(f"{whose} holds what is no Program ({type(error).__name__}: {str(error)[:80]})") from None


def _rows(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of what blank lines separate."""
    line = 1
    for part in text.split("\n\n"):
        if part.strip():
            yield line, part
        line += part.count("\n") + 2


def _row(text: str, language: Language) -> Seed:
    row = json.loads(text)
    if not isinstance(row, dict):
        raise ProgramError("this is not an object with api, source and program")
    program = gate.check(from_json(row.get("program", {})), language)
    return Seed(gate.check_api(row.get("api", ""), language), gate.check_word(row.get("source"), "source"), to_json(program))


def _program(program: Program, path: Path) -> Seed:
    return Seed(program.api, f"file:{path.name}", to_json(program))


def known_here(pool: Executor, seeds: list[Seed], say: Callable[[str], None]) -> list[Seed]:
    """The seeds that this release of the library has the functions for; GradfuzzError if there are none."""
    event = pool.run("vet", programs=[seed.program for seed in seeds], start=0, limit=VET_LIMIT)
    refused = {int(index): str(why) for index, why in event.data.get("refused", {}).items()}
    if len(refused) == len(seeds):
        raise GradfuzzError(f"--seeds: none of the Programs can be run here: {refused[0]}")
    for index, why in list(refused.items())[:MOST_SAID]:
        say(f"{seeds[index].api} is left out: {why}")
    if len(refused) > MOST_SAID:
        say(f"{len(refused) - MOST_SAID} more are left out")
    return [seed for index, seed in enumerate(seeds) if index not in refused]
