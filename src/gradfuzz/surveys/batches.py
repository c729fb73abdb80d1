"""A batch of mutants as the plan has it, and how many make a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradfuzz.mutate.cover import Cover

# Batches in a later round, unless the campaign says otherwise.
ROUND = 256
# A cluster needs longer rounds: all must have something to do while the slowest batch of the round before the last is waited for, which may
# take a hundred times as long as others. So many batches for each worker, in powers of two.
ROUND_OF_EACH = 64


def round_for(workers: int) -> int:
    """How long the rounds of a campaign are that begins with so many workers: a part of its plan, which whoever goes on with it keeps."""
    needed = ROUND_OF_EACH * workers
    return max(ROUND, 1 << (needed - 1).bit_length())


@dataclass(frozen=True)
class Batch:
    """`count` mutants of one seed, drawn from `rng`; edits are kept by chance according to `weights`."""

    number: int
    seed_index: int
    rng: str
    start: int
    count: int
    weights: Mapping[str, float] = field(default_factory=dict)
    deep: bool = False  # some of its mutants go to the campaign's highest order
    shown: tuple[int, ...] = ()  # orders at which the seed's mutants have shown findings
    glance: bool = False  # a first look: anything more would cost a compilation each
    swept: bool = False  # its operator has its turn in a compiled way
    dear: bool = False  # in the dearest one
    seldom: int | None = None  # its turn is that of one of the ways that hardly ever have one: by their number
    dtype: str = ""  # of the seed's floating inputs, where it is not their own
    deaths: int = 0  # of workers at the hands of this API, as far as is known
    hangs: bool = False  # it is known to hang
    familiar: tuple[str, ...] = ()  # keys that batches of this API have told often
    cover: Cover | None = None  # what is known of the seed's design, if the batch goes on with it
    aside: bool = False  # the design is not that of the API, and nobody goes on with it
    families: tuple[int, int] | None = None  # of its design: from, to; None: all
    elsewhere: bool = False  # another shard's, or the same as an earlier one: it is not run here

    @property
    def mutants(self) -> int:
        return self.count - self.start

    @property
    def turn(self) -> bool:
        """Whether an operator has its turn in further ways here."""
        return self.swept and not self.elsewhere
