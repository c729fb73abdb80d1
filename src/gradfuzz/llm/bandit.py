"""Which API and which kind of prompt comes next: by what brought something, with chances for what has not been tried.

Thompson sampling with a memory that fades. There are far more pairs of an API and a kind than requests, so that each side is learnt by
itself: a pair is worth what its API and its kind are worth.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

# What was seen counts a little less after every further try: an API that was exhausted may not be so with other programs around.
MEMORY = 0.9
# A new bug or rule is all that one hopes for; a combination of known rules is half of that.
BEST, FAIR = 1.0, 0.5


def worth(bugs: int, rules: int, pairs: int) -> float:
    """What a request brought, from 0 to 1."""
    return BEST if bugs or rules else FAIR if pairs else 0.0


class Bandit:
    """Chooses pairs. `hopes`: APIs that have more to give than others, as far as anybody knows, by how much."""

    def __init__(self, apis: Iterable[str], aims: Iterable[str], hopes: Mapping[str, float] | None = None) -> None:
        hopes = hopes or {}
        self.apis = {api: [1.0 + hopes.get(api, 0.0), 1.0] for api in apis}
        self.aims = {aim: [1.0, 1.0] for aim in aims}

    def choose(self, chance: random.Random, taken: set[tuple[str, str]]) -> tuple[str, str]:
        """The pair with the best draw that is not taken yet; any of them once all are."""
        aims = {aim: chance.betavariate(*counts) for aim, counts in self.aims.items()}
        apis = {api: chance.betavariate(*counts) for api, counts in self.apis.items()}
        pairs = [(apis[api] * aims[aim], api, aim) for api in apis for aim in aims if (api, aim) not in taken]
        if not pairs:
            pairs = [(apis[api] * aims[aim], api, aim) for api in apis for aim in aims]
        _, api, aim = max(pairs)
        return api, aim

    def companions(self, chance: random.Random, api: str, count: int) -> list[str]:
        """Further APIs to work together with one, by their own draws."""
        others = sorted((chance.betavariate(*counts), name) for name, counts in self.apis.items() if name != api)
        return [name for _, name in reversed(others[-count:])] if count else []

    def learn(self, api: str, aim: str, value: float) -> None:
        for table, name in ((self.apis, api), (self.aims, aim)):
            if name in table:
                won, lost = table[name]
                table[name] = [1 + MEMORY * (won - 1) + value, 1 + MEMORY * (lost - 1) + (1 - value)]
