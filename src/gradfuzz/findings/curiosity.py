"""Questions to the reference where nothing is suspected: who is asked about next, since there are more of them than time."""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")

# In tails differences are blind and formulas lose most; at tiny and huge numbers a derivative is mostly right, or plainly not. At a seed's
# own numbers differences see as well as the reference does. So many turns each waits for what comes before it.
ELSEWHERE_WAITS, OWN_NUMBERS_WAIT = 1, 3


class Turns(Generic[T]):
    """What waits, taken such that every function has its turn at every order before any has another.

    Campaigns ask about many forms and samples of one function, which have one formula, and answer a few questions a second. First come,
    first served would leave the last functions of a round without a question. Tails have turns of their own: a design comes to them
    late, and questions about other numbers have had a function's turn by then. In their order where turns are equal.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, T]] = []
        self._asked: Counter[tuple[str, int, int]] = Counter()
        self._arrived = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, question: T, function: str, order: int, own: bool, tail: bool = False) -> None:
        """`function`: whatever form of it is called; `own`: at the numbers of a seed, as they are; `tail`: where functions level off."""
        waits = 0 if tail else OWN_NUMBERS_WAIT if own else ELSEWHERE_WAITS
        subject = (function, order, waits)
        turn = self._asked[subject] + waits
        self._asked[subject] += 1
        heapq.heappush(self._waiting, (turn, next(self._arrived), question))

    def take(self) -> T:
        return heapq.heappop(self._waiting)[-1]
