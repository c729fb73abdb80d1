"""Every value, then every pair: a covering design over what can be varied of a seed, grown batch by batch.

A level is one value of one factor, and costs one edit. Each level is tried alone first: what an API refuses alone is not tried with
others, and what leaves nothing to be seen alone (no number, no elements) comes last, since it would hide what others show. Rows then put
levels of many factors together, greedily those with the most pairs that nobody has met. A row that is refused leaves its pairs in doubt:
they meet in another row, and if that is refused as well each of them is tried by itself. What was met is a bit in an integer, so that a
whole API fits into a few hundred bytes; the rows of a batch depend on the bits at its beginning alone.

In a wide row one level may hide what two others do: of low precision only first derivatives are examined, and of a constant input none. So
the few pairs that fail most often, those of eager levels, come before all wide rows, each by itself.

Generators of covering arrays take all factors at once and know of no refusals, and this runs beside the library, where nothing can be
installed: hence a greedy one of our own, as AETG and its like are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, zip_longest
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.mutate.edit import Edit, Factor, Menu
from gradfuzz.mutate.edits import SORTS, apply_all
from gradfuzz.program.model import Program

# A row changes so many things at most: each more brings more pairs, and another reason to be refused.
WIDTH = 10
# While nobody knows what is refused alone, there are more of those reasons.
FIRST_WIDTH = 4
# Where mutants share a compilation, so many of them do.
MOST_OF_A_FAMILY = 48
# A compiler chooses its own layout.
LAYOUT = "layout"
# The kind of edit that makes a differentiated input constant.
HOLDS = "grad"
# The kind of edit that gives indices, labels and masks other numbers, which cost a compilation.
INDICES = "whole"
# The kinds of edits that take inputs to the ends of a narrow type: a compilation of its own for each.
ENDS = frozenset({"sizes", "one_size"})
# What a level leaves to be seen.
CLEAR, RETYPED, NOTHING = "clear", "retyped", "nothing"

Row = tuple[int, ...]  # levels by their number, in the order in which their edits are made


@dataclass(frozen=True)
class Cover:
    """What was met so far: bits of levels that ran, showed nothing or were refused by themselves; of pairs that are settled, in doubt, or
    barred.

    A pair is settled once a mutant with both ran, or one with nothing but both was refused; it is in doubt where a row with both was
    refused, and suspected where a second one was; it is barred where one of the two is refused alone.
    """

    levels: int = 0  # how many there are; 0: nobody has looked yet
    pairs: int = 0  # how many pairs of levels of different factors there are
    ran: int = 0
    refused: int = 0
    settled: int = 0
    doubted: int = 0
    barred: int = 0
    suspected: int = 0
    blind: int = 0

    def __or__(self, other: Cover) -> Cover:
        """Both together. Of two that are not of one design, an older campaign's and today's, say, the latter counts."""
        if self.levels and other.levels and self.levels != other.levels:
            return other
        settled = self.settled | other.settled
        return Cover(
            max(self.levels, other.levels), max(self.pairs, other.pairs), self.ran | other.ran, self.refused | other.refused, settled,
            (self.doubted | other.doubted) & ~settled, self.barred | other.barred, (self.suspected | other.suspected) & ~settled,
            self.blind | other.blind,
        )  # fmt: skip

    @property
    def levels_met(self) -> int:
        return _count(self.ran | self.refused)

    @property
    def pairs_met(self) -> int:
        return _count(self.settled & ~self.barred)

    @property
    def pairs_possible(self) -> int:
        return self.pairs - _count(self.barred)

    @property
    def complete(self) -> bool:
        return 0 < self.levels == self.levels_met and self.pairs_met >= self.pairs_possible

    def to_json(self) -> list[Any]:
        bits = (self.ran, self.refused, self.settled, self.doubted, self.barred, self.suspected, self.blind)
        return [self.levels, self.pairs, *(f"{b:x}" for b in bits)]

    @staticmethod
    def from_json(data: Sequence[Any]) -> Cover:
        levels, pairs, *bits = data
        if len(bits) not in (5, 7):  # five: of a store that knows nothing of the last two
            raise ValueError("not what was met of a design")
        return Cover(int(levels), int(pairs), *(int(text, 16) for text in bits))


def _slow_count(bits: int) -> int:
    return bin(bits).count("1")


_count: Callable[[int], int] = getattr(int, "bit_count", _slow_count)  # of Python 3.10


def _meet(waiting: list[int], row: Row) -> None:
    for a, b in combinations(row, 2):
        waiting[a] &= ~(1 << b)
        waiting[b] &= ~(1 << a)


def _among(waiting: list[int], levels: Sequence[int]) -> list[int]:
    """What these levels have still to meet of each other."""
    bits = sum(1 << level for level in levels)
    return [met & bits if bits >> level & 1 else 0 for level, met in enumerate(waiting)]


def _by_turns(*sources: Iterable[Row]) -> Iterator[Row]:
    """One row of each in turn, until all are at their ends."""
    return (row for rows in zip_longest(*sources) for row in rows if row is not None)


class Design:
    """The factors of one seed, with what is known of them at the beginning of a batch.

    `family`: mutants that share a compilation. Where one costs nothing (1), each level is tried alone before it is tried with others.
    Else what needs a compilation is put together boldly, and what is refused is taken apart later; each row meets many rows of numbers.
    One level that is refused takes all others of its row with it: `takes` says of a Program whether it is refused, where that can be told
    without a compilation. Where a row is, every level is asked about alone, and what is refused is in no row then. That is `learnt`.
    """

    def __init__(self, seed: Program, menu: Menu, known: Cover, family: int = 1, takes: Callable[[Program], bool] | None = None) -> None:
        self._seed, self._takes = seed, takes
        in_turn = [*(s for s in reversed(SORTS) if not s.shortens), *(s for s in SORTS if s.shortens)]
        found = [f if family == 1 else _bearable(f) for sort in in_turn for f in sort.factors(seed, menu)]
        self.factors: list[Factor] = [f for f in found if f.levels]
        self._edits: list[Edit] = [edit for factor in self.factors for _, edit in factor.levels]
        self.known, self.family = known if known.levels == len(self._edits) else Cover(), min(family, MOST_OF_A_FAMILY)
        self._factor_of = [number for number, factor in enumerate(self.factors) for _ in factor.levels]
        self._single = [name in factor.single for factor in self.factors for name, _ in factor.levels]
        self.learnt = Cover(len(self._edits), self._pairs())
        self.ends: set[Row] = set()  # rows at the ends of domains, that hold an input

    def families(self) -> Iterator[list[Row]]:
        """Rows that bring something new, as if each of them ran, until nothing is left to meet; those that share a compilation together.

        The seed itself comes first, as the row of nothing.
        """
        waiting, suspected = self._waiting()
        alone = [(level,) for level in self._unmet()]
        if self.family == 1:
            eager = self._eager_rows(waiting, self._clear())
            yield from ([row] for row in chain([()], alone, eager, self._clear_rows(waiting), self._wide_rows(waiting), suspected))
            return
        own = [level for level, factor in enumerate(self._factor_of) if not self.factors[factor].shared]
        shared = [level for level, factor in enumerate(self._factor_of) if self.factors[factor].shared]
        # Of a family that shows much the rest is left out: what there is little of comes first.
        rare = sorted((row for row in alone if row[0] in own), key=lambda row: self._rarity(row[0]))
        yield [(), *rare, *self._eager_rows(waiting, own)]
        seen = {level: self._seen(level) for level in shared}
        refused = self._foreseen(waiting, [level for level in shared if seen[level] == CLEAR] or shared)
        shared = [level for level in shared if not refused >> level & 1]
        clear = [level for level in shared if seen[level] == CLEAR]
        unmet = [row for row in alone if row[0] in shared]
        waiting = [0 if refused >> level & 1 else bits & ~refused for level, bits in enumerate(waiting)]
        suspected = [row for row in suspected if not any(refused >> level & 1 for level in row)]
        # Rules have code of their own for a type, and what is refused in one takes with it all that stands in its row: types have rows of
        # their own, each before two of all that leaves them as they are, and so have eager indices: most rows have sizes that no longer fit
        # them. What leaves nothing to be seen comes last.
        held: set[int] = set()
        unchanged = self._wide_rows(_among(waiting, clear), clear)
        retyped = (row for row in unmet if seen[row[0]] == RETYPED)
        indices = ((level,) for level in self._eager(clear) if self._edits[level].kind == INDICES)
        first = _by_turns(retyped, indices, unchanged, unchanged)
        rest = (row for row in unmet if seen[row[0]] != RETYPED)
        for row in chain(first, self._wide_rows(waiting, shared), suspected, rest):
            if len(row) == 1 and seen[row[0]] == RETYPED and not self._taken(row):
                self.learnt |= self.met(row, False)
                waiting[:] = _among(waiting, [level for level in range(len(waiting)) if level not in row])
                continue
            _meet(waiting, row)
            members = [row, *self._again(row, own, held)]
            while len(members) < self.family:
                member = self._wide(waiting, own, row)
                if member == row:
                    break
                members.append(member)
                _meet(waiting, member)
            yield members
        yield list(self._wide_rows(_among(waiting, own)))

    def _seen(self, level: int) -> str:
        """What a level leaves to be seen by itself, as far as its Program tells: everything, derivatives in other types, or nothing."""
        try:
            changed = apply_all(self._seed, self.edits((level,))).check()
        except ProgramError:
            return NOTHING
        inputs = changed.inputs.values()
        if not any(recipe.differentiable for recipe in inputs) or not all(recipe.elements for recipe in inputs):
            return NOTHING
        types = {name: recipe.dtype for name, recipe in self._seed.inputs.items()}
        return CLEAR if all(types.get(name, recipe.dtype) == recipe.dtype for name, recipe in changed.inputs.items()) else RETYPED

    def _foreseen(self, waiting: list[int], levels: Sequence[int]) -> int:
        """Bits of those levels that are refused by themselves, as far as that can be told without trying them; none are looked for where
        the next row is taken and none was refused before."""
        first = next(self._wide_rows(list(waiting), levels), ())
        if not self.known.doubted and self._taken(first):
            return 0
        met = self.known.ran | self.known.refused
        for level in levels:
            if not met >> level & 1 and not self._taken((level,)):
                self.learnt |= self.met((level,), False)
        return self.learnt.refused

    def _taken(self, row: Row) -> bool:
        try:
            return self._takes is None or self._takes(apply_all(self._seed, self.edits(row)).check())
        except ProgramError:
            return False

    def _rarity(self, level: int) -> tuple[int, int]:
        """Levels of a factor that has few of them come first, and the first of each factor before the second of any."""
        factor = self._factor_of[level]
        return len(self.factors[factor].levels), level - self._factor_of.index(factor)

    def _eager_rows(self, waiting: list[int], levels: Sequence[int]) -> Iterator[Row]:
        """Pairs of eager levels, each by itself, those of them that nobody has met."""
        for row in combinations(self._eager(levels), 2):
            if waiting[row[0]] >> row[1] & 1:
                _meet(waiting, row)
                yield row

    def _eager(self, levels: Sequence[int]) -> list[int]:
        names = [name for factor in self.factors for name, _ in factor.levels]
        return [level for level in levels if names[level] in self.factors[self._factor_of[level]].eager]

    def _again(self, row: Row, own: Sequence[int], held: set[int]) -> list[Row]:
        """Pairs of eager numbers once more in the first row that holds an input: at the end of a domain many a function has a derivative
        along one input and none along another, and with both of them differentiated nobody can tell."""
        holding = {level for level in row if self._edits[level].kind == HOLDS and not self.known.ran >> level & 1} - held
        held |= holding
        pairs = (pair for pair in combinations(self._eager(own), 2) if holding and self._factor_of[pair[0]] != self._factor_of[pair[1]])
        rows = [tuple(sorted((*pair, *row))) for pair in islice(pairs, self.family // 2)]
        self.ends.update(rows)
        return rows

    def _unmet(self) -> list[int]:
        met = self.known.ran | self.known.refused
        return [level for level in range(len(self._edits)) if not met >> level & 1]

    def _waiting(self) -> tuple[list[int], list[Row]]:
        """By level: bits of the levels that it has still to meet; and the pairs that have to be tried by themselves."""
        known = self.known
        waiting = [0] * len(self._edits)
        suspected: list[Row] = []
        for a, b in combinations([n for n, single in enumerate(self._single) if not single and not known.refused >> n & 1], 2):
            bit = _bit(a, b)
            if self._factor_of[a] == self._factor_of[b] or known.settled >> bit & 1:
                continue
            if known.suspected >> bit & 1:
                suspected.append((a, b))
            else:
                waiting[a] |= 1 << b
                waiting[b] |= 1 << a
        return waiting, suspected

    def _clear(self) -> list[int]:
        """Levels that show something alone; all of them before anything is known."""
        known = self.known.ran & ~self.known.blind if self.known.levels else -1
        return [level for level in range(len(self._edits)) if known >> level & 1]

    def _clear_rows(self, waiting: list[int]) -> Iterator[Row]:
        """Rows without anything that shows nothing alone, or was never tried alone."""
        for row in self._wide_rows(_among(waiting, self._clear())):
            _meet(waiting, row)
            yield row

    def _wide_rows(self, waiting: list[int], among: Sequence[int] | None = None) -> Iterator[Row]:
        """Rows until these levels have met all that they can; what they meet beside each other is up to whoever takes the rows."""
        levels = range(len(waiting)) if among is None else among
        while any(waiting[level] for level in levels):
            row = self._wide(waiting, levels, (max(levels, key=lambda level: (_count(waiting[level]), -level)),))
            _meet(waiting, row)
            yield row

    def _left(self, waiting: list[int], level: int) -> float:
        """The part of its pairs that a level has not had."""
        return _count(waiting[level]) / (len(self._edits) - len(self.factors[self._factor_of[level]].levels))

    def _wide(self, waiting: list[int], levels: Sequence[int], begun: Row) -> Row:
        """A row with these levels in it, and the one that meets most of those already chosen for the first time, and so on."""
        chosen = list(begun)
        bits, taken = sum(1 << level for level in begun), {self._factor_of[level] for level in begun}
        for _ in range((FIRST_WIDTH if self.family == 1 and self.known.levels == 0 else WIDTH) - 1):
            best, gain = -1, 0
            for level in levels:
                new = _count(waiting[level] & bits)
                if new < gain or not new or self._factor_of[level] in taken:
                    continue
                # Among equals the one that has met the least part of what it can meet: else the first level of a factor would be in all
                # rows before the second has any. A factor of many levels has fewer others to meet, and must not come last for that.
                if new > gain or self._left(waiting, level) > self._left(waiting, best):
                    best, gain = level, new
            if best < 0:
                break
            chosen.append(best)
            bits |= 1 << best
            taken.add(self._factor_of[best])
        return tuple(sorted(chosen))

    @property
    def size(self) -> int:
        """How many levels there are."""
        return len(self._edits)

    def left(self, most: int) -> list[str]:
        """In words: so many of the rows that would bring something new, those with most of it first."""
        words = [f"{factor.name}: {name}" for factor in self.factors for name, _ in factor.levels]
        waiting, suspected = self._waiting()
        rows = chain(self._clear_rows(waiting), self._wide_rows(waiting), suspected, ([level] for level in self._unmet()))
        return ["; ".join(words[level] for level in row) for row in islice(rows, most)]

    def edits(self, row: Row) -> list[Edit]:
        return [self._edits[level] for level in row]

    def met(self, row: Row, ran: bool, seen: bool = True) -> Cover:
        """What the end of a row teaches: whether it ran, and whether anything could be seen."""
        levels, pairs = sum(1 << level for level in row), sum(1 << _bit(a, b) for a, b in combinations(row, 2))
        learnt = {"ran": levels, "settled": pairs} if ran else {"doubted": pairs, "suspected": pairs & self.known.doubted}
        if ran and len(row) == 1 and not seen:
            learnt["blind"] = levels
        if not ran and len(row) == 1:
            learnt = {"refused": levels, "barred": self._pairs_of(row[0])}
        elif not ran and len(row) == 2:
            learnt = {"settled": pairs}
        return Cover(len(self._edits), self._pairs(), **learnt)

    def _pairs(self) -> int:
        sizes = [sum(name not in factor.single for name, _ in factor.levels) for factor in self.factors]
        return (sum(sizes) ** 2 - sum(n * n for n in sizes)) // 2

    def _pairs_of(self, level: int) -> int:
        apart = (other for other, factor in enumerate(self._factor_of) if factor != self._factor_of[level])
        others = (other for other in apart if not self._single[other] and not self._single[level])
        return sum(1 << _bit(min(level, other), max(level, other)) for other in others)


def _bearable(factor: Factor) -> Factor:
    """What of a factor is tried where another shape or type costs a compilation."""
    if factor.name == LAYOUT and not factor.shared:
        return replace(factor, levels=())
    return replace(factor, levels=tuple(level for level in factor.levels if level[1].kind not in ENDS))


def _bit(a: int, b: int) -> int:
    """Where the pair's bit is, for a < b."""
    return b * (b - 1) // 2 + a
