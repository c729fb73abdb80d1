"""How a target reads what its library raises: by the type of the exception, then by patterns that are data with reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gradfuzz.errors import ProgramError
from gradfuzz.targets.protocol import Refusal


class Refusals:
    """A target's refusals.json. `unsupported`: exceptions by which its own code says so, beside NotImplementedError."""

    def __init__(self, file: Path, unsupported: tuple[type[BaseException], ...] = ()) -> None:
        rows = json.loads(file.read_text(encoding="utf-8"))["refusals"]
        self._patterns = [(re.compile(row["pattern"]), row["kind"]) for row in rows]
        self._unsupported = (*unsupported, NotImplementedError)

    def read(self, error: BaseException, message: str, named: str = "") -> Refusal:
        """The refusal behind an error. Patterns see `named`, the message with the error's type, if given."""
        said = named or message
        if isinstance(error, self._unsupported):
            return Refusal("unsupported", message or type(error).__name__)
        if isinstance(error, ProgramError):
            return Refusal("invalid", message)
        if isinstance(error, MemoryError):
            return Refusal("memory", message or "MemoryError")
        for pattern, kind in self._patterns:
            if pattern.search(said):
                return Refusal(kind, said)
        return Refusal("error", named or f"{type(error).__name__}: {message}")
