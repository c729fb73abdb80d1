"""Questions to the reference where nothing is suspected: who is asked about next, since there are more of them than time."""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")

# At a seed's own numbers differences see as well as the reference does: what lies far out is asked about so many turns before.
OWN_NUMBERS_WAIT = 2


class Turns(Generic[T]):
    """What waits, taken such that every function has its turn at every order before any has another.

    Campaigns ask about many forms and samples of one function, which have one formula, and answer a few questions a second. First come,
    first served would leave the last functions of a round without a question. In their order where turns are equal.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, T]] = []
        self._asked: Counter[tuple[str, int, bool]] = Counter()
        self._arrived = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, question: T, function: str, order: int, own: bool) -> None:
        """`function`: whatever form of it is called; `own`: at the numbers of a seed, as they are."""
        subject = (function, order, own)
        turn = self._asked[subject] + OWN_NUMBERS_WAIT * own
        self._asked[subject] += 1
        heapq.heappush(self._waiting, (turn, next(self._arrived), question))

    def take(self) -> T:
        return heapq.heappop(self._waiting)[-1]
