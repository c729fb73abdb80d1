"""A seed: a Program that is known to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seed:
    """A Program that is known to run, in its JSON form: it travels to workers as it is."""

    api: str
    source: str
    program: dict[str, Any]
