"""The TOML file of nightly campaigns, read strictly: a word that is not known is said, not passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from gradfuzz.cli.console import seconds
from gradfuzz.errors import GradfuzzError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOP = {"folder": str, "tonight": int, "campaign": list}
_CAMPAIGN = {
    "name": str, "target": str, "env": str, "python": str, "profile": str, "device": str, "time": str, "order": int, "api": list,
    "workers": int, "seed": int,
}  # fmt: skip


@dataclass(frozen=True)
class Night:
    """One campaign of the rotation."""

    name: str
    target: str
    seconds: float
    env: str | None = None
    python: str | None = None
    profile: str = "nightly"
    device: str = ""
    order: int | None = None
    apis: tuple[str, ...] = ()
    workers: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Rotation:
    """All campaigns; so many have their turn in one night. Stores and the summary lie in the folder."""

    folder: Path
    tonight: int
    nights: tuple[Night, ...]

    def store(self, night: Night) -> Path:
        return self.folder / f"{night.name}.db"


def read_rotation(path: Path) -> Rotation:
    """GradfuzzError, in one line, for what is no such file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GradfuzzError(f"{path}: {error.strerror}; docs/nightly.md shows such a file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GradfuzzError(f"{path} is no TOML ({str(error).splitlines()[0]}); docs/nightly.md shows such a file") from None
    _check(path, "", data, _TOP)
    rows = data.get("campaign", [])
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise GradfuzzError(f"{path} names no campaign; begin one with [[campaign]]")
    nights = tuple(_night(path, row) for row in rows)
    names = [night.name for night in nights]
    if len(set(names)) < len(names):
        raise GradfuzzError(f"{path}: two campaigns have one name; each has a store of its own")
    tonight = data.get("tonight", len(nights))
    if not 1 <= tonight <= len(nights):
        raise GradfuzzError(f"{path}: tonight = {tonight} of {len(nights)} campaigns; write a number from 1 to {len(nights)}")
    return Rotation(path.parent / data.get("folder", "nightly"), tonight, nights)


def _night(path: Path, row: dict[str, Any]) -> Night:
    name = row.get("name", "?")
    _check(path, f"campaign {name}: ", row, _CAMPAIGN)
    missing = [key for key in ("name", "target", "time") if key not in row]
    if missing:
        raise GradfuzzError(f"{path}: campaign {name} lacks {' and '.join(missing)}")
    if not _NAME.fullmatch(row["name"]) or ".." in row["name"]:
        raise GradfuzzError(f"{path}: {row['name'][:64]!r} is no name for a campaign; use letters, digits, dots and dashes")
    if not all(isinstance(api, str) for api in row.get("api", [])):
        raise GradfuzzError(f"{path}: campaign {name}: api is a list of texts, as in ['torch.fft.*']")
    given = {key: value for key, value in row.items() if key not in ("time", "api")}
    return Night(**given, seconds=seconds(row["time"]), apis=tuple(row.get("api", ())))


def _check(path: Path, where: str, data: dict[str, Any], known: dict[str, type]) -> None:
    for key, value in data.items():
        if key not in known:
            raise GradfuzzError(f"{path}: {where}unknown word {key!r}; known: {', '.join(known)}")
        if type(value) is not known[key]:
            raise GradfuzzError(f"{path}: {where}{key} is {value!r:.40}, which is no {known[key].__name__}")
