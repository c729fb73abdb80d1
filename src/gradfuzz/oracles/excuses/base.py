"""What an excuse is, and all of them.

An excuse weighs the evidence on one element (an element at a denormal excuses only itself), on a derivative that is not finite, or on a
whole direction before it is narrowed down. It supports AD, it says that nobody could see anything here, or it says nothing. None
of that acquits: where an excuse has spoken, the verdict is inconclusive.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Callable, Optional

from gradfuzz.oracles import excuses
from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect

SUPPORTS, BLIND = "supports AD", "blind"
Says = Optional[str]  # SUPPORTS, BLIND or nothing


@dataclass(frozen=True)
class Excuse:
    """One excuse. `name` is what campaigns count, `sentence` what a person reads; which evidence it weighs is up to it."""

    name: str
    sentence: str
    element: Callable[[Suspect], Says] | None = None
    broken: Callable[[Broken], Says] | None = None
    line: Callable[[Case, Line], Says] | None = None
    dear: bool = False  # it takes many evaluations: asked only where no other has spoken


@dataclass(frozen=True)
class Heard:
    """An excuse that has spoken."""

    excuse: Excuse
    says: str
    element: str = ""

    def __str__(self) -> str:
        return f"{self.excuse.name}: {self.excuse.sentence}"


@lru_cache(maxsize=1)
def all_excuses() -> tuple[Excuse, ...]:
    """Every excuse in this folder, cheap ones first."""
    names = sorted(m.name for m in pkgutil.iter_modules(excuses.__path__) if m.name != "base")
    found = [importlib.import_module(f"{excuses.__name__}.{name}").EXCUSE for name in names]
    return tuple(sorted(found, key=lambda e: (e.dear, e.name)))


def hear(question: str, where: str, *evidence: object) -> list[Heard]:
    """All excuses that have something to say to a question (`element`, `broken` or `line`); dear ones if no other has."""
    heard: list[Heard] = []
    for excuse in all_excuses():
        weigh = getattr(excuse, question)
        if weigh is None or (excuse.dear and heard):
            continue
        says = weigh(*evidence)
        if says is not None:
            heard.append(Heard(excuse, says, where))
    return heard


def names(heard: Iterable[Heard]) -> list[str]:
    return sorted({h.excuse.name for h in heard})
