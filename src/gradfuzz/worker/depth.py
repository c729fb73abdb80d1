"""How deep and in which ways the mutants of one batch are examined: decided by the campaign, carried as data, read here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from gradfuzz.oracles.check import Options
from gradfuzz.oracles.effort import SEARCHING
from gradfuzz.targets.base.scenario import Scenario, nestings

# The nestings of order two in two halves, each with both modes inside and outside. A row of many values is examined in one of them: what
# it brings is pairs, and every value and every pair meets others in the other half.
HALVES = tuple(frozenset([*nestings(1), *(s for s in nestings(2) if (s.modes[0] == s.modes[1]) == same)]) for same in (True, False))


@dataclass(frozen=True)
class Depth:
    """A decision. The number of a mutant in its batch says what it gets.

    `orders`: (every, order) pairs; a mutant whose number is a multiple of `every` goes to the highest such order, others to order one.
    `alone`: the order of mutants that try one value of a design by itself; `alone_in`: a way that they and the seed itself are examined in,
    too.
    `enough`: (order, findings) pairs; after so many findings of an order in this batch the rest stay below it.
    `ways`: beside the plain one; each has its turn for `turn` mutants, of which every `way_every`-th is examined in it, or in all of them
    `together`. `compiled`: a way that every mutant of the batch is examined in, since a compilation serves all numbers of one family.
    `traced`: ways that the seed itself is traced in where the library can, which computes nothing; it is examined in those that raise.
    """

    orders: tuple[tuple[int, int], ...] = ()
    enough: tuple[tuple[int, int], ...] = ()
    ways: tuple[str, ...] = ()
    way_every: int = 1
    turn: int = 1
    together: bool = False
    compiled: str = ""
    family: int = 0  # mutants in a row that share everything but their numbers; 0: as the target says
    device: str = ""
    scenarios: tuple[str, ...] | None = None  # only these, by name
    salt: int = 0  # where the batch's directions start
    strict: bool = False
    refused: int = 0  # so many refusals of a batch, no two alike, are put to the derivatives as well
    scents: int = 0  # so many findings of a batch, no two alike, are followed to where they are plain
    alone: int = 1
    alone_in: str = ""
    traced: tuple[str, ...] = ()
    families: tuple[int, int] | None = None  # of a design, by number: from, to; None: all

    def options(self, number: int, shown: Counter[int], alone: bool = False, wide: bool = False) -> Options:
        """What one mutant is examined for; `shown`: findings of the batch so far, by order; `alone`: it tries one value by itself;
        `wide`: it tries many together."""
        order = max([self.alone if alone else 1, *(order for every, order in self.orders if number % every == 0)])
        enough = dict(self.enough)
        while order > 1 and shown[order] >= enough.get(order, shown[order] + 1):
            order -= 1
        ways = self._ways(number, alone or number == 0)
        halved = wide and order == 2 and self.scenarios is None and not ways and not self.device
        scenarios = HALVES[number // 2 % 2] if halved else _only(self.scenarios)
        return Options(order, scenarios, self.salt + number, self.strict, ways, self.device, effort=SEARCHING)

    def whole(self, options: Options) -> Options:
        """The same in all scenarios that the campaign looks at."""
        return replace(options, scenarios=_only(self.scenarios))

    def _ways(self, number: int, rehearsed: bool) -> tuple[str, ...]:
        always = (self.compiled, self.alone_in if rehearsed else "")
        in_turn: tuple[str, ...] = ()
        if self.ways and number % self.way_every == 0:
            in_turn = self.ways if self.together else (self.ways[number // self.turn % len(self.ways)],)
        return tuple(dict.fromkeys(way for way in (*in_turn, *always) if way))

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))  # plain enough: it is made for every batch

    @staticmethod
    def from_json(data: dict[str, Any]) -> Depth:
        pairs = {key: tuple(tuple(pair) for pair in data[key]) for key in ("orders", "enough")}
        scenarios = None if data["scenarios"] is None else tuple(data["scenarios"])
        families = None if data.get("families") is None else tuple(data["families"])
        lists = {"ways": tuple(data["ways"]), "traced": tuple(data["traced"]), "scenarios": scenarios, "families": families}
        return Depth(**{**data, **pairs, **lists})


@lru_cache(maxsize=64)
def _only(names: tuple[str, ...] | None) -> frozenset[Scenario] | None:
    return None if names is None else frozenset(map(Scenario.named, names))
