"""The one place that decides how deep and in which ways things are examined: from the order asked for, what was shown before, and costs.

Each order costs a few times the one below, each way as much as the plain scenarios together, and both cost a compilation where another
shape does. What is decided here travels to the workers as data.
"""

from __future__ import annotations

import bisect
import math
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from gradfuzz.surveys.profiles import Choice
from gradfuzz.targets.base.ways import Way
from gradfuzz.worker.depth import Depth

# The order that is looked at where nobody says: one less where each costs a compilation.
DEFAULT_ORDER, DEFAULT_ORDER_COMPILED = 3, 2
# Second order is checked on every other mutant, higher ones on every sixteenth of the batches that go deep.
SECOND_EVERY = 2
DEEPEST_EVERY = 16
# One batch of a later round in so many goes deep; of the first round, one seed of each API.
DEEP_BATCH_EVERY = 3
# A seed that has shown a bug twice at some order shows it to most of its mutants: the rest of the batch stays below that order. Where an
# earlier batch has shown one there, once is enough.
SHOWN_OFTEN = 2
# Of the mutants that are examined in another way, too, each is in one of them. What a library traces for it serves the mutants after it, so
# that a way keeps its turn.
WAY_TURN = 64
# A compilation is worth a family of numbers: a batch in a compiled way has two families, the seed's own shapes and others.
COMPILED_FAMILY = 9
COMPILED_BATCH = 16
# Of the batches of a profile that is for compiling so many go to designs, which are not compiled: another shape each.
DESIGNED_BESIDE_COMPILED = 1 / 2
# Where each way costs a compilation, whether it is said to compile or not, an operator's turn is in so many of them, at order one.
SWEPT_WAYS = 10
# A way whose findings are its own, whichever API shows them, needs few tries: it has a turn in one round of ways of so many.
OF_ITS_OWN_EVERY = 8
# A way with fewer turns than one in so many batches would hardly meet what it goes wrong with: it is tried with what programs are made of.
SELDOM = 200
# A way that makes no more than a trace, in these units, needs no turn of its own to meet every operator: its seed affords it.
TRACE = 40.0
NEVER_AGAIN = 10**9  # every so many: the first of a batch alone
# Directions differ from mutant to mutant and from batch to batch: so far apart do batches start.
SALT_STRIDE = 64
GOLDEN = (math.sqrt(5) - 1) / 2
# Refusals of a batch, no two alike, that are put to the derivatives as well: few APIs have more ways to say no, and each costs three runs
# op by op, which is dear where another shape costs a compilation.
REFUSED, REFUSED_COMPILED = 16, 4
# Losses of digits and NaN of a batch, no two alike, that are followed to where they are plain.
SCENTS = 4
# Of random graphs every so many go beyond order one.
GRAPH_DEEP_EVERY = 4


@dataclass(frozen=True)
class Depths:
    """What a campaign asks for, and what the target's costs are."""

    order: int | None  # None: as deep as the costs allow
    scenarios: tuple[str, ...]  # only these; none: all
    seed: int
    choice: Choice  # which ways, and how much of the time is theirs
    family: int  # mutants that share a compilation; 1 where nothing is compiled
    device: str = ""  # to be compared with

    @property
    def highest(self) -> int:
        return self.order or (DEFAULT_ORDER if self.family == 1 else DEFAULT_ORDER_COMPILED)

    def batch(
        self, number: int, funcs: Sequence[str], shown: Collection[int] = (), deep: bool = False, glance: bool = False,
        swept: bool = False, design: bool = False, dear: bool = False, seldom: int | None = None,
    ) -> Depth:  # fmt: skip
        """For a batch of mutants of a Program that calls `funcs`.

        `shown`: orders at which the seed has shown findings; `deep`: some go to the highest order; `glance`: of all others only the seed
        itself goes beyond order one, and nothing is run in another way; `swept`: its operator has its turn in the compiled way that all
        have, or, where another shape costs a compilation, is traced in all ways and run in some; `dear`: it has it in one of the dearest;
        `design`: every value is to be met at order two, and a compiled way would cost a compilation each time; `seldom`: the turn is that
        of one of these ways.
        """
        if seldom is not None:
            depth = self._depth(number, ((1, min(2, self.highest)),), (), ())
            return replace(depth, compiled=self.seldom[seldom].name, family=COMPILED_FAMILY)
        if swept and self.family > 1:
            return replace(self._depth(number, (), (), self._in_turn(number, funcs)), way_every=1, turn=1, traced=self._traced())
        second = min(2, self.highest)
        if glance:
            orders: list[tuple[int, int]] = [(NEVER_AGAIN, second)]
        else:
            orders = [(SECOND_EVERY, second), *([(DEEPEST_EVERY, self.highest)] if deep else [])]
        enough = tuple((order, SHOWN_OFTEN - (order in shown)) for order in range(2, self.highest + 1))
        depth = self._depth(number, tuple(orders), enough, () if glance else self._in_turn(number, funcs))
        rehearsed = self.choice.rehearsed
        depth = replace(depth, alone=second if design else depth.alone, alone_in=rehearsed.name if rehearsed else "")
        turn = self.choice.dear[number % len(self.choice.dear)] if dear else self.choice.swept
        compiled = turn if swept else None if design else self._compiled(number)
        if swept:  # and the seed itself in all cheap ways, and in those that trace: chance has some of them for each operator in a night
            depth = replace(depth, ways=self._traced(), together=True, way_every=NEVER_AGAIN)
        return depth if compiled is None else replace(depth, compiled=compiled.name, family=COMPILED_FAMILY)

    @property
    def sweeps(self) -> bool:
        """Whether every operator has a turn of its own in further ways, early on."""
        return self.choice.profile.sweep and bool(self.choice.swept if self.family == 1 else self.choice.cheap)

    @property
    def sweeps_dearly(self) -> bool:
        """Whether some operators have a turn in the dearest way, too."""
        return self.sweeps and self.family == 1 and self.choice.dearest is not None

    @property
    def seldom(self) -> tuple[Way, ...]:
        """The compiled ways that hardly ever have a turn, since they cost much or answer for themselves."""
        return tuple(way for way in self.choice.compiled if self._often(way) * SELDOM < 1) if self.sweeps and self.family == 1 else ()

    def graphs(self, number: int) -> Depth:
        """For a batch of random graphs. They differ so much that the same directions will do."""
        return replace(self._depth(number, ((GRAPH_DEEP_EVERY, self.highest),), (), self._in_turn(number, ())), salt=0)

    def chains(self) -> Depth:
        """For chains: every point to the order asked for, plainly, along the same directions."""
        return Depth(((1, self.highest),), scenarios=self.scenarios or None)

    def _depth(self, number: int, orders: tuple[tuple[int, int], ...], enough: tuple[tuple[int, int], ...], ways: tuple[str, ...]) -> Depth:
        return Depth(
            orders, enough, ways, self._every(), WAY_TURN, self.choice.profile.together, device=self.device,
            scenarios=self.scenarios or None, salt=self.seed + SALT_STRIDE * number,
            refused=REFUSED if self.family == 1 else REFUSED_COMPILED, scents=SCENTS,
        )  # fmt: skip

    def _every(self) -> int:
        """Every so many mutants are examined in a cheap way, such that these take their share of the time."""
        ways = self.choice.cheap
        if not ways or self.choice.profile.together:
            return 1
        mean = sum(way.cost * way.turns for way in ways) / sum(way.turns for way in ways)
        return max(1, round(mean / self.choice.profile.cheap))

    def _in_turn(self, number: int, funcs: Sequence[str]) -> tuple[str, ...]:
        """The cheap ways, beginning with the one whose turn it is: another one for every batch, and for other calls."""
        rarely = number % OF_ITS_OWN_EVERY == 0
        together = self.choice.profile.together
        ways = tuple(
            way.name for way in self.choice.cheap for _ in range(1 if together else way.turns) if rarely or not way.of_its_own
        )  # fmt: skip
        if not ways:
            return ()
        first = (zlib.crc32(" ".join(funcs).encode()) + number) % len(ways)
        return ways[first:] + ways[:first]

    def _traced(self) -> tuple[str, ...]:
        """A trace is no compilation: an operator's turn traces its seed in all ways. Those that answer for themselves need none for it."""
        traces = (way for way in self.choice.compiled if way.compiles <= TRACE)
        return tuple(way.name for way in (*self.choice.cheap, *traces) if not way.of_its_own) if self.sweeps else ()

    def _compiled(self, number: int) -> Way | None:
        """The compiled way whose turn a batch is, if any, such that together they take their share of the time, each its own."""
        ways = self.choice.compiled
        often = [self._often(way) for way in ways]
        turn = int((number + 1) * sum(often))
        if turn == int(number * sum(often)):
            return None
        # Multiples of the golden ratio fall evenly over the ways, each as wide as it is often, and never in step with anything.
        at = turn * GOLDEN % 1.0 * sum(often)
        return ways[min(bisect.bisect(list(accumulate(often)), at), len(ways) - 1)]

    def _often(self, way: Way) -> float:
        """In what part of the batches a compiled way has its turn."""
        families = -(-COMPILED_BATCH // COMPILED_FAMILY)
        share = self.choice.profile.compiled * way.turns / sum(w.turns for w in self.choice.compiled)
        often = share * COMPILED_BATCH / (families * way.compiles + COMPILED_BATCH * way.cost)
        often /= OF_ITS_OWN_EVERY if way.of_its_own else 1
        return often / (1 - DESIGNED_BESIDE_COMPILED if self.choice.profile.sweep else 1)  # designs are not compiled
