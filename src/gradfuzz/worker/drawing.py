"""Which mutant has which number in a batch: the seed, the rows of its covering design where the batch has one, then chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Callable

from gradfuzz.mutate.cover import Cover, Design, Row
from gradfuzz.mutate.draw import Weights, draw_edits, draw_relative
from gradfuzz.mutate.edit import Menu, no_menu
from gradfuzz.mutate.edits import Edit
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Target


class Drawing:
    """Mutants of a seed by number. The same for the same job, whichever of them were asked for before."""

    def __init__(self, seed: Program, rng: str, size: int = 1, menu: Menu = no_menu, weights: Weights | None = None,
                 cover: Cover | None = None, layouts: bool = False, takes: Callable[[Program], bool] | None = None) -> None:  # fmt: skip
        """`size`: of families; `layouts`: whether these differ in memory layouts, too; `takes`: see Design."""
        self.seed, self._rng, self._size, self._menu, self._weights, self._layouts = seed, rng, size, menu, weights, layouts
        self.design = None if cover is None else Design(seed, menu, cover, size, takes)
        self._families: Iterator[list[Row]] = iter(()) if self.design is None else self.design.families()
        self._rows: list[tuple[int, Row]] = []  # with the number of the family each belongs to
        self._met = 0

    @staticmethod
    def of(job: dict[str, Any], seed: Program, target: Target) -> Drawing:
        cover = None if job.get("cover") is None else Cover.from_json(job["cover"])
        # A library that computes op by op keeps the layouts that it is given, and so does what it compiles now and then.
        layouts = target.family == 1
        takes = getattr(target, "takes", None)  # see Tracing
        return Drawing(seed, job["rng"], job.get("family") or target.family, target.parameters, job["weights"], cover, layouts, takes)

    def row(self, index: int) -> Row | None:
        """The row of the design that has this number; None where chance decides."""
        while len(self._rows) <= index:
            family = next(self._families, None)
            if family is None:
                return None
            self._rows += [(self._met, row) for row in family]
            self._met += 1
        return self._rows[index][1]

    def alone(self, index: int) -> bool:
        """Whether a mutant tries one value of the design by itself, or a pair with nothing beside it, or beside an input that is held."""
        row = self.row(index)
        return row is not None and (len(row) <= 2 or (self.design is not None and row in self.design.ends))

    def wide(self, index: int) -> bool:
        """Whether a mutant tries many values of the design together, where another choice of scenarios costs no compilation."""
        return self._size == 1 and self.row(index) is not None and not self.alone(index)

    def family(self, index: int) -> int:
        """Which family a mutant belongs to. Without a design the seed itself leads the first, which keeps its shapes."""
        return self._rows[index][0] if self.row(index) is not None else self._met + index // self._size

    def edits(self, index: int) -> list[Edit]:
        """Number 0 is the seed itself."""
        row = self.row(index)
        if row is not None and self.design is not None:
            return self.design.edits(row)
        if index == 0:
            return []
        chance = random.Random(f"{self._rng}:{index}")
        if self._size == 1:
            return draw_edits(self.seed, chance, self._menu, self._weights)
        family = index // self._size
        shared = random.Random(f"{self._rng}:family:{family}")
        return draw_relative(self.seed, family, shared, chance, self._menu, self._weights, self._layouts)
