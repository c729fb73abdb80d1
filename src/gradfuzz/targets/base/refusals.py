"""How a target reads what its library raises: by the type of the exception, then by patterns that are data with reasons."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.errors import without_paths
from gradfuzz.targets.base.protocol import Refusal

SYMPTOM = 140
OUTSIDE = "outside"  # the kind of what the gate refuses, or what is larger than a Program may be
NO_FINDING = ("unsupported", "invalid", OUTSIDE)  # nobody asks what tells these apart
_PASSED_ON = re.compile(r"\braised:\s*$")
_NOT_WORDS = re.compile(r"[^A-Za-z_]+")
# Names of element types: the same complaint about another type is the same complaint. A library may spell them in more ways.
_TYPES = r"\b(B?[Ff]loat|[Dd]ouble|[Hh]alf|[Cc]omplex\w*|[Ii]nt|[Ll]ong|[Bb]ool|[Bb]yte|[Cc]har|[Ss]hort)(\d*)\b"


class Refusals:
    """A target's refusals.json. `unsupported`: exceptions by which its own code says so, beside NotImplementedError."""

    def __init__(self, data: dict[str, Any], unsupported: tuple[type[BaseException], ...] = ()) -> None:
        self._patterns = [(re.compile(row["pattern"]), row["kind"], bool(row.get("names_fault"))) for row in data.get("refusals", ())]
        self._types = re.compile(data.get("types", _TYPES))
        self._unsupported = (*unsupported, NotImplementedError)

    def classify(self, error: BaseException) -> Refusal:
        """What an error of the library's says. A target whose messages come wrapped takes the wrapping off first."""
        return self.read(error, str(error).strip())

    def read(self, error: BaseException, message: str, named: str = "") -> Refusal:
        """The refusal behind an error. Patterns see `named`, the message with the error's type, if given. Nobody is told whose disk it was
        met on."""
        refusal = self._read(error, without_paths(message), without_paths(named))
        return refusal if refusal.kind in NO_FINDING else self.with_symptom(refusal)

    def with_symptom(self, refusal: Refusal) -> Refusal:
        """The refusal with its message as far as it tells bugs apart."""
        return replace(refusal, symptom=symptom_of(self._types.sub("T", _head(refusal.message))))

    def _read(self, error: BaseException, message: str, named: str) -> Refusal:
        said = named or message
        if isinstance(error, self._unsupported):
            return Refusal("unsupported", message or type(error).__name__)
        if isinstance(error, ProgramError):
            return Refusal(OUTSIDE, message)
        if isinstance(error, MemoryError):
            return Refusal("memory", message or "MemoryError")
        for pattern, kind, names_fault in self._patterns:
            if pattern.search(said):
                return Refusal(kind, said, names_fault=names_fault)
        return Refusal("error", named or f"{type(error).__name__}: {message}")


def _head(message: str) -> str:
    """The first line; with the next one where it tells of what somebody else has raised, as a compiler's does of its backend."""
    first, _, rest = message.partition("\n")
    return f"{first} {rest.lstrip().split(chr(10))[0]}" if _PASSED_ON.search(first) else first


def symptom_of(message: str) -> str:
    """A message's first line, its words alone."""
    return _NOT_WORDS.sub(" ", message.split("\n")[0])[:SYMPTOM].strip()
