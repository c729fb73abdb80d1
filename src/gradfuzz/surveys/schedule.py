"""Which seed gets which batch: rounds, each planned from what the rounds before the last one taught. Every pair first, then chance.

The plan of a round depends on the campaign's seed and on finished rounds alone, never on which worker was faster. So the same
campaign makes the same mutants, and the workers still have a whole round to work on while the next one is planned.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice, product, zip_longest
from typing import Any

from gradfuzz.bugs.names import Names
from gradfuzz.engine.shard import WHOLE, Shard
from gradfuzz.mutate.cover import Cover
from gradfuzz.oracles.verdict import TIMEOUT
from gradfuzz.store import Lesson
from gradfuzz.surveys.batches import ROUND, Batch
from gradfuzz.surveys.depth import COMPILED_FAMILY, DEEP_BATCH_EVERY, DESIGNED_BESIDE_COMPILED, SWEPT_WAYS
from gradfuzz.surveys.designs import Designs

# The first round looks at every API, at every seed itself and a mutant of it, then tries values of one seed of each API, as many as most
# have: what else there is to try is known by then, and later rounds begin with it.
FIRST_LOOK = 8
FIRST_BATCH = 2
FIRST_COVER = 40
# One compilation of the seed's own shapes, and one in complex numbers, for which compilers and decompositions have code of their own.
SWEPT = COMPILED_FAMILY
SWEPT_TYPES = ("", "complex128")
# A turn in the dearest way takes seconds: so many operators have one, others with another seed of the campaign. Those that led to a
# derivative rule when seeds were read come first: what the others compute, they compute as well.
MOST_DEAR = 320
# What programs are made of in a way that hardly ever has a turn: one compilation each, for these numbers and others.
BASIC = 2
LATER_BATCH = 16
# Seeds of an API that call it otherwise than the one that leads (another word, another argument) try each value alone, as a rule all of
# them: its design stands for the pairs. So many forms of an API beside its own. All of them at once take as long as the rest of the first
# round: until all have had it, a part of every later round is theirs, which designs give up.
FORM_COVER = 64
MOST_FORMS = 3
OF_FORMS = 1 / 8
# Where another shape costs a compilation, a design's rows come in families of some sixteen, and those of the seed's own shapes: sixteen for
# each of three inputs, and pairs of what fails most often. Beside the compilation they cost nothing. How large
# the families are that chance draws says nothing of how much there is to meet.
FIRST_COVER_OF_FAMILIES = 96
# The first look at an API is at the first of them, which is the seed's own shapes: a third of the time of all. The others, which cost a
# compilation each, come when every API has been looked at, an API's before an operator's turn in further ways.
OWN_FAMILY, OTHER_FAMILIES = (0, 1), (1, FIRST_COVER_OF_FAMILIES)
# A turn in further ways takes several times as long as a first look. One operator in so many has it together with its part of the seeds,
# however soon the campaign may end; the others when all have been looked at.
EARLY_TURN = 4
# What chance draws there comes in families that share a compilation: later rounds look at some whole ones. Until a seed has been looked
# at it has more energy.
LATER_FAMILIES = 2
UNSEEN = 4.0
# In later rounds designs come first: so much of a round goes on with them while there is
# anything left to meet. What shapes are dear leaves more to chance, since there no other seed was looked at in the first round. Of two in
# three batches the APIs have a turn each in any case, so that none starves: where its design does not go on, some seed is mutated. The
# others go to where something new was seen.
DESIGNED = 7 / 8
IN_TURN = 2 / 3
# What a batch costs whoever plans it and takes it in is the same for few mutants and for many: in longer rounds batches are larger, by one
# more of the usual size for so many batches of a round.
LARGER_EVERY = 4096
MOST_LARGER = 8


# What names say by themselves.
NAMES = Names()
# A mutant that brought something new becomes a seed: so many of an API at most, one of a batch.
MOST_GROWN_OF_API = 8
# What so many batches of an API have told is named by later ones and not proven again: it was looked into as often as it will be.
FAMILIAR = 3
# What a seed's batch brought counts half as much after its next one.
MEMORY = 0.5
# An edit is kept at least so often however often it was refused: a release may learn, and seeds of one API differ.
LEAST_CHANCE = 0.05


class Schedule:
    """Plans rounds of batches and learns from what they brought.

    A shard's first round is that of the whole campaign, of which it runs what is its own: so the first rounds of all shards together are
    that of a campaign without shards, mutant by mutant. Its later rounds are made of its own APIs alone, and of what these have taught.
    """

    def __init__(
        self, apis: Sequence[str], seed: int, family: int = 1, sweep: bool = False, last: bool = True, shard: Shard = WHOLE,
        size: int = ROUND, names: Names = NAMES, dear: bool = False, seldom: int = 0,
    ) -> None:  # fmt: skip
        """`apis`: one for each seed; unless they are the `last`, more come with `grow`. `sweep`: every operator has a turn of its own in a
        compiled way, early on, by one of its names; `dear`: some have one in the dearest way, too. `seldom`: so many ways hardly ever
        have a turn. `size`: batches in a later round. `names`: what is one operator, and for users."""
        self._size, self._names, self._dear, self._seldom = size, names, dear, seldom
        self.apis: list[str] = []
        self.seed = seed
        self._family, self._sweep, self._shard = family, sweep, shard
        self._own: list[str] = []  # the shard's APIs
        self._by_api: dict[str, list[int]] = defaultdict(list)
        self._operators: set[str] = set()  # that have a first look
        self._ruled: set[str] = set()  # operators that lead to a derivative rule of their own
        self._forms: dict[str, dict[str, int]] = defaultdict(dict)  # by API: the first seed of each form
        self._other_forms: deque[int] = deque()  # seeds of a form that has not been tried yet
        self._words: dict[str, set[str]] = {}  # by operator: the words that its seeds so far give it
        self._worded: list[int] = []  # seeds that give their operators a word that none before them did
        self._basic: list[int] = []  # seeds of what programs are made of
        self._turned: set[int] = set()  # seeds whose operators have had a turn in further ways
        self._aliases: list[int] = []  # seeds that lead further names of these: they are looked at once all operators are
        self._designs = Designs(family)
        self._turn = 0
        self.turns = 0  # of operators in further ways, that are planned
        self._seen: set[int] = set()  # seeds that have a batch in some round
        self._first: list[Batch] = []  # the first round
        self._rounds: dict[int, list[Batch]] = {0: self._first}  # those that are not done
        self._ends: list[int] = []  # for each round that was planned, how many batches there are up to its end
        self._whole = False  # all seeds are known
        self._lessons: deque[tuple[Batch, Lesson]] = deque()  # in the order of the batches' numbers, those that no plan knows yet
        self._learnt = 0  # lessons, those among them that plans know
        self.features: set[str] = set()
        self._energy: list[float] = []
        self.grown: list[tuple[str, dict[str, Any]]] = []  # (API, Program) of mutants that became seeds, behind all others
        self._grown_of: Counter[str] = Counter()  # by API, those that wait for their round included
        self._told: dict[str, Counter[str]] = defaultdict(Counter)  # by API: keys, and how many batches have told them
        self._shown: dict[int, set[int]] = defaultdict(set)
        self._astray: set[int] = set()  # seeds whose own first derivative is wrong
        self._given = 0  # seeds that are no mutants
        self._again: Counter[str] = Counter()
        self._deaths: Counter[str] = Counter()
        self._edits: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        self.grow(apis, last)

    def grow(
        self, apis: Sequence[str], last: bool, ruled: Iterable[str] = (), basic: int = 0, forms: Sequence[str] = (),
        words: Sequence[Set[str]] = (),
    ) -> None:  # fmt: skip
        """More seeds. Those of the APIs `ruled` lead to rules that none before them did; the last `basic` are what programs are made of.
        `forms`: how each of them calls its API; `words`: those among its arguments.

        A first look at each new operator is planned at once, by one of its names that is for users, and the turns of some in further ways
        where those cost compilations; further names and the rest of the first round when the last seeds are known.

        The parts in which they come are the same in every run of a campaign, so that the plan is, too.
        """
        chance = random.Random(f"{self.seed}:seeds:{len(self.apis)}")
        leading: list[int] = []
        for index, api in enumerate(apis, len(self.apis)):
            if api not in self._by_api:
                (leading if self._is_first(api) else self._aliases).append(index)
                if self._shard.has(api):
                    self._own.append(api)
            self._by_api[api].append(index)
            self._forms[api].setdefault(forms[index - len(self.apis)] if forms else "", index)
            self._hear(index, api, words[index - len(self.apis)] if words else ())
        self.apis += apis
        self._given = len(self.apis)
        self._ruled.update(map(self._names.operator, ruled))
        self._basic += range(len(self.apis) - basic, len(self.apis))
        self._look_at(leading, chance)
        self._turns(EARLY_TURN)
        if last:
            self._look_at(self._aliases, chance)
            self._rest_of_first_round(chance)
            self._energy = [1.0 if index in self._seen else UNSEEN for index in range(len(self.apis))]
            self._ends.append(len(self._first))
            self._whole = True

    def _hear(self, index: int, api: str, words: Iterable[str]) -> None:
        """Note whether a seed gives its operator a word that is new to it. The first one leads it, whatever its words."""
        operator = self._names.operator(api)
        known = self._words.setdefault(operator, set(words))
        if not known.issuperset(words):
            self._worded.append(index)
            known.update(words)

    def _is_first(self, api: str) -> bool:
        """Whether an API is the first name of its operator that is for users."""
        operator = self._names.operator(api)
        if operator in self._operators or self._names.is_internal(api) or self._names.is_deprecated(api):
            return False
        self._operators.add(operator)
        return True

    def _look_at(self, leading: list[int], chance: random.Random) -> None:
        chance.shuffle(leading)
        for index in leading:
            self._look(index)

    # Planning ------------------------------------------------------------------------------------------------------------

    def batch(self, number: int) -> Batch | None:
        """The batch with this number; None while the round it belongs to cannot be planned yet, or where there is nothing to plan."""
        if not self._whole or not self._own:
            return self._first[number] if number < len(self._first) else None
        while number >= self._ends[-1]:
            # Plans may not know more than the round before the last.
            known = self._ends[-2] if len(self._ends) > 1 else 0
            if self._learnt < known:
                return None
            while self._lessons and self._lessons[0][0].number < known:
                self._apply(*self._lessons.popleft())
            self._plan_round(len(self._ends))
        round_number = bisect_right(self._ends, number)
        return self._rounds[round_number][number - (self._ends[round_number - 1] if round_number else 0)]

    def _plan_round(self, number: int) -> None:
        """The next round. Of those before it, all but the last two are done: nobody asks for their batches any more."""
        begin = self._ends[-1]
        batches = self._later_round(number, begin)
        self._rounds = {old: kept for old, kept in self._rounds.items() if old >= number - 2}
        self._rounds[number] = batches
        self._ends.append(begin + len(batches))

    def over(self, number: int) -> bool:
        """Whether there will never be a batch with this number: a shard may have no API at all."""
        return self._whole and not self._own and number >= len(self._first)

    def _look(self, index: int) -> None:
        """A first look at an API: the seed that leads it, up to the highest order, and the first rows of its design."""
        self._designs.went_on(self.apis[index], 0)
        if self._family > 1:
            self._plan_rows(index, OWN_FAMILY)
        else:
            self._plan(index, 0, FIRST_LOOK, deep=True, cover=Cover())

    def _plan_rows(self, index: int, families: tuple[int, int]) -> None:
        """The first rows of a design, where another shape costs a compilation: those of some families."""
        self._plan(index, 0, FIRST_COVER_OF_FAMILIES, glance=True, cover=Cover(), families=families)

    def _turns(self, every: int) -> None:
        """Where another shape costs a compilation: the turns of one operator in so many, of those that were looked at and have had none."""
        for position, index in enumerate(self._swept() if self._family > 1 else ()):
            if index not in self._turned and position % every == 0:
                self._take_turn(index)

    def _take_turn(self, index: int) -> None:
        self._turned.add(index)
        self._plan(index, 0, SWEPT_WAYS, swept=True)

    def _rest_of_families(self) -> None:
        """All have been looked at: the turns that are left, each after the other families of one design."""
        looked = [batch.seed_index for batch in self._first if batch.families == OWN_FAMILY]
        turns = [index for index in self._swept() if index not in self._turned]
        for index, turn in zip_longest(looked, turns):
            self._plan_rows(index, OTHER_FAMILIES)
            if turn is not None:
                self._take_turn(turn)

    def _rest_of_first_round(self, chance: random.Random) -> None:
        if self._family > 1:
            self._rest_of_families()
            return
        # The second seed of every API before the third of any: a campaign may end before its first round does.
        order = [index for index in range(len(self.apis)) if index not in self._seen]
        chance.shuffle(order)
        met: Counter[str] = Counter()
        turn = {}
        for index in order:
            met[self.apis[index]] += 1
            turn[index] = met[self.apis[index]]
        leading, swept = [batch.seed_index for batch in self._first], self._swept()
        for index, way in product(self._basic, range(self._seldom)):
            self._plan(index, 0, BASIC, seldom=way)
        for index in sorted(order, key=turn.__getitem__):
            self._plan(index, 0, FIRST_BATCH)
        values = iter(leading)
        for dtype in SWEPT_TYPES:
            for index in swept:
                self._plan(index, 0, SWEPT, swept=True, dtype=dtype)
                self._values_of(islice(values, -(-len(leading) // len(swept))))
            for index in self._worded if swept and not dtype else ():
                self._plan(index, 0, SWEPT, swept=True)
            for index in () if dtype else self._swept_dearly(swept, chance):
                self._plan(index, 0, SWEPT, swept=True, dear=True)
        self._values_of(values)
        self._other_forms.extend(index for index in self._of_other_forms() if self._shard.has(self.apis[index]))

    def _values_of(self, leading: Iterable[int]) -> None:
        """The first values of some designs. Beside turns in what compiles, which take ten times as long, no night may end without them."""
        for index in leading:
            self._plan(index, FIRST_LOOK, FIRST_COVER, cover=Cover())

    def _of_other_forms(self) -> list[int]:
        """Seeds that call their API otherwise than the one that leads it: the second form of each API before the third of any."""
        others = [list(forms.values())[1 : 1 + MOST_FORMS] for forms in self._forms.values()]
        return [index for turn in zip_longest(*others) for index in turn if index is not None]

    def _swept(self) -> list[int]:
        """The seeds that were looked at first, one for each operator: what is due in further ways, one after the other."""
        operators: dict[str, int] = {}
        for batch in self._first if self._sweep else ():
            operators.setdefault(self._names.operator(self.apis[batch.seed_index]), batch.seed_index)
        return list(operators.values())

    def _swept_dearly(self, swept: list[int], chance: random.Random) -> list[int]:
        """One seed, whichever, of some operators: those that lead have their turn in another compiled way, and are what everybody tests."""
        if not self._dear:
            return []
        operators = [self._names.operator(self.apis[index]) for index in swept]
        ruled = [operator for operator in operators if operator in self._ruled]
        step = -(-len(ruled) // MOST_DEAR) or 1
        chosen = ruled[self.seed % step :: step]
        others, left = [operator for operator in operators if operator not in self._ruled], MOST_DEAR - len(chosen)
        step = -(-len(others) // left) if left else 0
        chosen += others[self.seed % step :: step] if step else []
        alike: dict[str, list[int]] = {}
        for index, api in enumerate(self.apis):
            alike.setdefault(self._names.operator(api), []).append(index)
        return [chance.choice(alike[operator]) for operator in chosen]

    def _plan(self, index: int, start: int, count: int, **more: Any) -> None:
        """One more batch of the first round."""
        number = len(self._first)
        elsewhere = not self._shard.has(self.apis[index])
        self._first.append(Batch(number, index, f"{self.seed}:{number}", start, count, elsewhere=elsewhere, **more))
        self.turns += self._first[-1].turn
        self._seen.add(index)

    def _later_round(self, round_number: int, begin: int) -> list[Batch]:
        size = self._size
        chance = random.Random(f"{self.seed}:round:{round_number}")
        own = set(self._own)
        energies = [energy / (1 + self._again[api]) if api in own else 0.0 for energy, api in zip(self._energy, self.apis)]
        share = IN_TURN if self._family > 1 else DESIGNED_BESIDE_COMPILED if self._sweep else DESIGNED
        forms = [self._other_forms.popleft() for _ in range(min(int(size * OF_FORMS), len(self._other_forms)))]
        designed = int(size * share) - len(forms)
        chosen = [self._leader(api) for api in islice(self._designs.next(self._own, round_number), designed)]
        chosen += [self._next_in_turn(chance, energies) for _ in range(int(size * IN_TURN) - len(chosen))]
        chosen += chance.choices(range(len(self.apis)), energies, k=size - len(chosen) - len(forms))
        chance.shuffle(chosen)
        larger = min(MOST_LARGER, max(1, size // LARGER_EVERY))
        batches = [
            Batch(number, index, f"{self.seed}:{number}", 1, FORM_COVER, cover=Cover(), aside=True)
            for number, index in enumerate(forms, begin)
        ]
        for number, index in enumerate(chosen, begin + len(forms)):
            api = self.apis[index]
            cover = self._designs.covers[api] if self._goes_on(index, round_number) else None
            # A seed that had a batch was examined itself, and so was its own family.
            if cover is not None:
                self._designs.went_on(api, round_number)
                skipped, count = 1, self._designs.rows(api, larger)
            else:
                skipped, count = (1, larger * LATER_BATCH) if self._family == 1 else (self._family, larger * LATER_FAMILIES * self._family)
            start = skipped if index in self._seen else 0
            self._seen.add(index)
            batches.append(
                Batch(
                    number, index, f"{self.seed}:{number}", start, start + count, self._weights(api), deep=number % DEEP_BATCH_EVERY == 0,
                    shown=tuple(sorted(self._shown[index])), familiar=self._familiar(api), deaths=self._deaths[api],
                    hangs=TIMEOUT in self._told[api], cover=cover,
                )
            )  # fmt: skip
        return batches

    def _goes_on(self, index: int, round_number: int) -> bool:
        """Whether a batch of this seed in this round goes on with the design of its API."""
        api = self.apis[index]
        return index == self._leader(api) and self._designs.goes_on(api, round_number)

    def _leader(self, api: str) -> int:
        """The seed whose design stands for the API: the first one, unless its own first derivative is wrong and another's is not.

        What is wrong at the seed itself is wrong at nearly all of its mutants, and hides what lies deeper.
        """
        seeds = self._by_api[api]
        return next((index for index in seeds if index < self._given and index not in self._astray), seeds[0])

    def _next_in_turn(self, chance: random.Random, energies: list[float]) -> int:
        """The next API's turn: one of its seeds, by energy."""
        seeds = self._by_api[self._own[self._turn % len(self._own)]]
        self._turn += 1
        return chance.choices(seeds, [energies[s] for s in seeds])[0]

    def _familiar(self, api: str) -> tuple[str, ...]:
        return tuple(sorted(key for key, times in self._told[api].items() if times >= FAMILIAR))

    def _weights(self, api: str) -> dict[str, float]:
        """How often to keep an edit of this API: by the square of the share that ran, with two successes lent to each."""
        found = {}
        for name, (tried, valid) in self._edits[api].items():
            chance = max(LEAST_CHANCE, ((valid + 2) / (tried + 2)) ** 2)
            if chance < 1:
                found[name] = round(chance, 3)
        return found

    # Learning ------------------------------------------------------------------------------------------------------------

    def learn(self, batch: Batch, lesson: Lesson) -> Lesson:
        """Take in a finished batch. Batches come in the order of their numbers. Returns the part of the lesson that is new."""
        assert batch.number == self._learnt, (batch.number, self._learnt)
        new = sorted(set(lesson.features) - self.features)
        self.features.update(new)
        kept = replace(lesson, features=new, grown=self._worth_keeping(self.apis[batch.seed_index], new, lesson.grown))
        self._lessons.append((batch, kept))
        self._learnt += 1
        return kept

    def _worth_keeping(self, api: str, new: list[str], grown: list[list[Any]]) -> list[list[Any]]:
        """The first of a batch's mutants that brought something new to the campaign, while its API has not too many of them."""
        room = self._grown_of[api] < MOST_GROWN_OF_API
        found = next(([feature, program] for feature, program in grown if room and any(n.endswith("|" + feature) for n in new)), None)
        self._grown_of[api] += found is not None
        return [] if found is None else [found]

    def remember(self, past: Mapping[str, Lesson]) -> None:
        """What campaigns before this one have learnt, by API: nothing of it is new any more, and designs go on where they were.

        Comes once, when all seeds are known. The first round is the same: another seed makes other mutants of it.
        """
        for api, lesson in past.items():
            if api in self._by_api:
                self.features.update(lesson.features)
                self._grown_of[api] += len(lesson.grown)
                self._keep(api, lesson)
                self._designs.learn(api, lesson.cover or Cover(), lesson.features, Cover(), 0)
        self._first[:] = [self._going_on(batch) if batch.start == FIRST_LOOK else batch for batch in self._first]

    def _going_on(self, batch: Batch) -> Batch:
        """A first batch of a design that was begun by an earlier campaign."""
        cover = self._designs.covers[self.apis[batch.seed_index]]
        return replace(batch, cover=None if cover.complete else cover)

    def _keep(self, api: str, lesson: Lesson) -> None:
        """What a lesson says of an API, whichever batch taught it."""
        for _, program in lesson.grown:
            self.grown.append((api, program))
            self._by_api[api].append(len(self.apis))
            if self._family == 1:
                self._seen.add(len(self.apis))  # as a mutant
            self.apis.append(api)
            self._energy.append(UNSEEN)
        self._deaths[api] += lesson.deaths
        for name, (tried, valid) in lesson.edits.items():
            known = self._edits[api][name]
            known[0] += tried
            known[1] += valid

    def _apply(self, batch: Batch, lesson: Lesson) -> None:
        api = self.apis[batch.seed_index]
        led = self._leader(api)
        self._keep(api, lesson)
        if lesson.astray:
            self._astray.add(batch.seed_index)
        leads = self._leader(api)
        if leads != led:
            self._designs.begin_anew(api)
        cover, knew = (lesson.cover or Cover(), batch.cover or Cover()) if batch.seed_index == leads else (Cover(), Cover())
        self._designs.learn(api, cover, lesson.features, knew, batch.mutants)
        told = set(lesson.findings)
        fresh = told - self._told[api].keys()
        self._told[api].update(told)
        self._shown[batch.seed_index].update(lesson.orders)
        if told and not fresh:
            self._again[api] += 1
        energy = self._energy[batch.seed_index]
        self._energy[batch.seed_index] = MEMORY * energy + 0.2 + len(lesson.features) + 3 * len(fresh)
