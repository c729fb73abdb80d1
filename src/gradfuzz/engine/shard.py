"""A part of a campaign for a machine of its own: the same seed and number of shards give disjoint work, whose union is the whole.

What is divided are APIs. One API is never divided: its covering design, its mutants that become seeds and what is learnt of its edits all
build on what was done to it before. Which shard has it hangs on its name alone, so that nobody has to ask anybody.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import GradfuzzError

MOST_SHARDS = 10_000  # no library has more APIs


@dataclass(frozen=True)
class Shard:
    """The `number`-th of so many, counted from one."""

    number: int = 1
    of: int = 1

    @staticmethod
    def named(text: str) -> Shard:
        """`3/16`."""
        match = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text, re.ASCII)
        number, of = (int(part) for part in match.groups()) if match else (0, 0)
        if not 1 <= number <= of <= MOST_SHARDS:
            raise GradfuzzError(f"--shard {text[:40]!r} is none; write 3/16 for the third of sixteen (at most {MOST_SHARDS})")
        return Shard(number, of)

    @staticmethod
    def from_json(data: Any) -> Shard:
        """What a store says; ValueError where that is no shard."""
        number, of = data["number"], data["of"]
        if type(number) is not int or type(of) is not int or not 1 <= number <= of <= MOST_SHARDS:
            raise ValueError(f"{data!r:.80} is no shard")
        return Shard(number, of)

    def has(self, api: str) -> bool:
        digest = hashlib.blake2b(api.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard()
