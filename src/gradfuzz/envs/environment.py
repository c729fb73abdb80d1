"""Environments on disk: a folder each, with a record of what is in it. The interpreter is the folder's own, whatever the record says."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradfuzz.envs.recipe import Variable
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.base.scenario import DIRECT, nestings

RECORD = "gradfuzz.json"
FOLDER = "GRADFUZZ_ENVS"  # the variable that says where they are kept
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# What a smoke test tries: the value, and every nesting of orders one and two.
SMOKE = tuple(scenario.name for scenario in (DIRECT, *nestings(1), *nestings(2)))


def environments_folder() -> Path:
    """$GRADFUZZ_ENVS, or $XDG_DATA_HOME/gradfuzz/envs, as elsewhere."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "gradfuzz" / "envs"


@dataclass(frozen=True)
class Environment:
    """One release of one library, and the Python that has it."""

    name: str
    target: str
    version: str
    python_version: str
    requirements: tuple[str, ...]
    variables: tuple[Variable, ...]
    created: str
    size: int  # bytes
    scenarios: tuple[str, ...]  # of the smoke test: those that work
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        """Where its packages lie."""
        found = sorted((self.folder / "lib").glob("python3*/site-packages"))
        return found[0] if found else self.folder

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Environment variables for its processes, folders as absolute paths."""
        return tuple((v.name, ":".join(str(self.packages / f) for f in v.folders) if v.folders else v.value) for v in self.variables)

    @property
    def missing(self) -> list[str]:
        """Scenarios that did not work in the smoke test."""
        return [name for name in SMOKE if name not in self.scenarios]

    def write(self) -> None:
        data = {key: value for key, value in asdict(self).items() if key not in ("folder", "name")}
        part = self.folder / (RECORD + ".part")
        part.write_text(json.dumps(data, indent=2), encoding="utf-8")
        part.replace(self.folder / RECORD)


def checked_name(name: str) -> str:
    """The name, if it can be a folder's."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise GradfuzzError(f"{name!r} is no name for an environment; use letters, digits, dots and dashes")
    return name


def _read(folder: Path) -> Environment | None:
    """What is recorded of a folder; None for one that is no environment."""
    try:
        data: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        variables = tuple(Variable(str(v["name"]), str(v["value"]), tuple(map(str, v["folders"]))) for v in data["variables"])
        if not all(_VARIABLE.fullmatch(v.name) for v in variables):
            return None
        return Environment(
            folder.name, str(data["target"]), str(data["version"]), str(data["python_version"]), tuple(map(str, data["requirements"])),
            variables, str(data["created"]), int(data["size"]), tuple(map(str, data["scenarios"])), folder,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


def environments() -> list[Environment]:
    """All of them, by name."""
    try:
        folders = sorted(p for p in environments_folder().iterdir() if p.is_dir())
    except OSError:
        return []
    return [found for folder in folders if _NAME.fullmatch(folder.name) and (found := _read(folder)) is not None]


def environment(name: str) -> Environment:
    """The one of that name; GradfuzzError if there is none."""
    found = _read(environments_folder() / checked_name(name))
    if found is None:
        known = ", ".join(e.name for e in environments()) or "there are none yet"
        raise GradfuzzError(f"there is no environment {name}; make one with `gradfuzz env add LIBRARY==RELEASE`; known: {known}")
    return found


def remove(found: Environment) -> None:
    """Take an environment away. It stops being one at once, however long the rest takes."""
    try:
        (found.folder / RECORD).unlink()
        shutil.rmtree(found.folder)
    except OSError as error:
        raise GradfuzzError(f"{found.folder} cannot be removed ({error.strerror}); remove the folder by hand") from None
