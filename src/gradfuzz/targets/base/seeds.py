"""Seeds as targets hand them out: in shards, each Program once, and without the library's warnings about what it was asked to do."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Iterator

from gradfuzz.program.text import to_text
from gradfuzz.targets.base.protocol import SeedProgram

# Always so many, however many workers there are: which seeds there are, and in which order, must not depend on that. Each costs the
# import of the library's samples.
SHARDS = 16


def shard_of(api: str, kin: str = "") -> int:
    """Where an API belongs: its forms (method, in place, module) are read with it, since it decides what else is tried of them."""
    return zlib.crc32((kin or api).rpartition(".")[2].strip("_").lower().encode()) % SHARDS


def each_once(seeds: Iterable[SeedProgram]) -> Iterator[SeedProgram]:
    """The seeds in order, without those whose text came before."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            text = to_text(seed.program)
            if text not in seen:
                seen.add(text)
                yield seed
