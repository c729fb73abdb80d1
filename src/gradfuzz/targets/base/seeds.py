"""Seeds as targets hand them out: each Program once, and without the library's warnings about what it was asked to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

from gradfuzz.program.text import to_text
from gradfuzz.targets.base.protocol import SeedProgram


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
