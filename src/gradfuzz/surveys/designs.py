"""Whose covering design goes on next, and with how many rows: values that nobody has tried first, then where rows promise most."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gradfuzz.mutate.cover import Cover

# Rows of pairs in a batch. A design's first rows bring ten times as many new pairs as its last: in many small turns all APIs have those.
LATER_COVER = 32
# Where another shape costs a compilation, rows come in families of some sixteen.
LATER_COVER_OF_FAMILIES = 64
# The plan of a round knows nothing of the last one: a design that went on there waits.
DESIGN_EVERY = 2
# A rule that no other API has led to is looked at nearly whole before its aliases are: their rows count half as much.
RULE_OF_ITS_OWN = 2.0


class Designs:
    """What is known of every API's design. Depends on what was learnt and on its order alone, like the plan that it is a part of."""

    def __init__(self, family: int) -> None:
        self.covers: dict[str, Cover] = defaultdict(Cover)
        self._family = family
        self._round: dict[str, int] = {}  # the last in which a design went on; in the order of first looks
        self._promise: dict[str, float] = {}  # new pairs a row, as of the last batch that made any
        self._rules: set[str] = set()
        self._leading: set[str] = set()  # APIs that were the first to lead to some rule

    def went_on(self, api: str, round_number: int) -> None:
        self._round[api] = round_number

    def goes_on(self, api: str, round_number: int) -> bool:
        """Whether there is anything left of a design, and all that it has learnt is known."""
        return round_number - self._round.get(api, -DESIGN_EVERY) >= DESIGN_EVERY and not self.covers[api].complete

    def next(self, apis: Iterable[str], round_number: int) -> Iterator[str]:
        """Those that go on in a round, the most worthwhile first; among equals those that were looked at first."""
        looked = {api: position for position, api in enumerate(self._round)}
        ready = [api for api in apis if self.goes_on(api, round_number)]
        yield from sorted(ready, key=lambda api: (not self._untried(api), -self._worth(api), looked.get(api, len(looked))))

    def rows(self, api: str, larger: int) -> int:
        """How many rows a batch of a design has: all values that are to be tried alone, and some rows of pairs."""
        if self._family > 1:
            return larger * LATER_COVER_OF_FAMILIES
        return self._untried(api) + larger * LATER_COVER

    def _untried(self, api: str) -> int:
        """Values that are to be tried alone before anything else; where that costs a compilation each they come last."""
        cover = self.covers[api]
        return cover.levels - cover.levels_met if self._family == 1 else 0

    def _worth(self, api: str) -> float:
        return self._promise.get(api, math.inf) * (RULE_OF_ITS_OWN if api in self._leading else 1.0)

    def begin_anew(self, api: str) -> None:
        """Another seed leads the API: nothing of its design was met."""
        self.covers.pop(api, None)
        self._promise.pop(api, None)

    def learn(self, api: str, cover: Cover, features: Iterable[str], knew: Cover, mutants: int) -> None:
        """What a batch of so many mutants has met, which at its beginning `knew` what it says."""
        rules = {feature.partition("|")[0] for feature in features} - self._rules
        self._rules |= rules
        if rules:
            self._leading.add(api)
        before = self.covers[api]
        after = self.covers[api] = before | cover
        rows = mutants - (after.levels_met - before.levels_met)
        if knew.levels and rows > 0:  # before anything is known, rows are made in the dark
            self._promise[api] = (after.pairs_met - before.pairs_met) / rows
