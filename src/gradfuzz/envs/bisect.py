"""Which release changed something: a search by halves that goes round releases which cannot say."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def bisect(releases: Sequence[str], ask: Callable[[str], str], silent: str) -> dict[str, str]:
    """What releases said, in the order in which they were asked: the two ends, then halves between two that differ.

    `ask` gives a word; `silent` is the word of a release that cannot say, in whose place a neighbour is asked. Where the ends
    agree there is nothing to look for. The search is over when two that differ have nobody between them who could say.
    """
    said: dict[str, str] = {}

    def asked(index: int) -> str:
        if releases[index] not in said:
            said[releases[index]] = ask(releases[index])
        return said[releases[index]]

    low, high = 0, len(releases) - 1
    while low < high and asked(low) == silent:
        low += 1
    while high > low and asked(high) == silent:
        high -= 1
    if low >= high or asked(low) == asked(high):
        return said
    while True:
        middle = (low + high) // 2
        between = sorted(range(low + 1, high), key=lambda i: (abs(i - middle), i))
        index = next((i for i in between if asked(i) != silent), None)
        if index is None:
            return said
        if asked(index) == asked(low):
            low = index
        else:
            high = index
