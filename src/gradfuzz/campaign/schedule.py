"""Which seed gets which batch: a pure function of the campaign's seed and the batch's number."""

from __future__ import annotations

import random
from dataclasses import dataclass

# The first round looks at every seed itself and a few mutants, so that short campaigns see every API; later rounds go deeper.
FIRST_BATCH = 4
LATER_BATCH = 16
# Where other numbers cost next to nothing beside another shape, a batch is longer: it has the compilation to earn back.
CHEAP_VALUES = 16


@dataclass(frozen=True)
class Batch:
    """`count` mutants of one seed, drawn from `rng`."""

    number: int
    seed_index: int
    rng: str
    start: int
    count: int


class Schedule:
    """Rounds over all seeds, each in its own order. A batch's content depends on its number alone."""

    def __init__(self, seeds: int, seed: int, value_edits_cheap: bool = False) -> None:
        self.seeds, self.seed = seeds, seed
        self._factor = CHEAP_VALUES if value_edits_cheap else 1
        self._order: tuple[int, list[int]] = (-1, [])

    def batch(self, number: int) -> Batch:
        round_number, position = divmod(number, self.seeds)
        count = (FIRST_BATCH if round_number == 0 else LATER_BATCH) * self._factor
        start = 0 if round_number == 0 else 1  # the seed itself is examined once
        return Batch(number, self._round(round_number)[position], f"{self.seed}:{number}", start, count + start)

    def _round(self, round_number: int) -> list[int]:
        if self._order[0] != round_number:
            order = list(range(self.seeds))
            random.Random(f"{self.seed}:round:{round_number}").shuffle(order)
            self._order = (round_number, order)
        return self._order[1]
