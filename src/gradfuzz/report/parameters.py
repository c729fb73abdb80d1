"""How many parameters of which types each API is called with, read off the seeds that a campaign kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program import Program, from_json
from gradfuzz.program.model import Attr, Call, Item, Name, Ref

_TYPES = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (complex, "complex number"), (str, "text"), (type(None), "none"),
    ((list, tuple), "list"), (Name, "constant of the library"), ((Ref, Item, Attr, Call), "tensor"),
)  # fmt: skip


@dataclass
class Parameters:
    """Calls by their number of parameters, for each API and for all; parameters by type."""

    by_api: dict[str, Counter[int]] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Counter[int]:
        total: Counter[int] = Counter()
        for counts in self.by_api.values():
            total.update(counts)
        return total

    def average(self, api: str) -> float | None:
        counts = self.by_api.get(api)
        return sum(n * times for n, times in counts.items()) / counts.total() if counts else None

    def see(self, api: str, program: Program) -> None:
        call = next((c for c in program.calls() if c.func == api), None) or next(program.calls(), None)
        if call is None:
            return
        given = [*call.args, *(value for _, value in call.kwargs)]
        self.by_api.setdefault(api, Counter())[len(given)] += 1
        self.types.update(map(_type, given))


def parameters_of(corpus: Iterable[str], programs: Iterable[tuple[str, Program]]) -> Parameters:
    """Of the seeds, as lines of JSON that may be anybody's; of the given Programs where no seeds were kept."""
    found = Parameters()
    for line in corpus:
        try:
            seed = json.loads(line)
            if isinstance(seed, dict) and isinstance(api := seed.get("api"), str):
                found.see(api, from_json(seed.get("program")))
        except (ProgramError, ValueError, RecursionError):
            continue  # a row that is none is not a parameter
    if not found.by_api:
        for api, program in programs:
            found.see(api, program)
    return found


def _type(value: Any) -> str:
    return next((word for kinds, word in _TYPES if isinstance(value, kinds)), "other")
