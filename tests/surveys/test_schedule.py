"""Schedules: the same for the same seed, nobody starves, and what brings nothing gets less."""

import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from gradfuzz.bugs.names import Names
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.cover import Cover, Design
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import DISAGREE, GRADIENT, NONFINITE, STATUS, Verdict
from gradfuzz.program import parse
from gradfuzz.store import Lesson
from gradfuzz.surveys.batches import ROUND, round_for
from gradfuzz.surveys.depth import DEEP_BATCH_EVERY, SWEPT_WAYS
from gradfuzz.surveys.mutants import Running
from gradfuzz.surveys.schedule import (
    BASIC,
    FIRST_LOOK,
    FORM_COVER,
    MOST_GROWN_OF_API,
    OF_FORMS,
    OTHER_FAMILIES,
    OWN_FAMILY,
    Schedule,
)
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.depth import Depth

APIS = [f"api{n // 3}" for n in range(30)]  # ten APIs with three seeds each
FIRST_ROUND = len(APIS) + 10  # every seed, and the designs of ten APIs


def run(schedule, batches, lesson):
    """Feed a schedule: each batch is learnt as soon as it is handed out."""
    taken = []
    for number in range(batches):
        batch = schedule.batch(number)
        taken.append(batch)
        schedule.learn(batch, lesson(batch))
    return taken


def dull(batch):
    return Lesson([], {}, [])


def test_the_first_round_looks_at_every_seed_itself():
    first = run(Schedule(APIS, 0), len(APIS), dull)
    assert sorted(b.seed_index for b in first) == list(range(len(APIS)))
    assert all(b.start == 0 for b in first)


def test_where_shapes_are_dear_a_glance_at_every_api_comes_before_whole_families():
    size, names = 8, set(APIS)
    batches = run(Schedule(APIS, 0, family=size), 2 * len(names) + 2 * ROUND, dull)
    first, later = batches[: 2 * len(names)], batches[2 * len(names) :]
    for part, families in ((first[: len(names)], OWN_FAMILY), (first[len(names) :], OTHER_FAMILIES)):
        assert {APIS[b.seed_index] for b in part} == names and all(b.families == families for b in part)
    assert all(b.glance and b.start == 0 for b in first)
    assert not any(b.glance for b in later) and all(b.mutants % size == 0 for b in later if b.cover is None)
    seen = {b.seed_index for b in first}
    for batch in later:  # a seed's own family comes first, and once
        assert batch.start == ((size if batch.cover is None else 1) if batch.seed_index in seen else 0)
        seen.add(batch.seed_index)
    assert len(seen) > 0.9 * len(APIS)


@pytest.mark.parametrize("size", [8, 64, 768])
def test_a_glance_meets_all_values_of_its_own_shapes_and_some_of_others(size):
    """However many mutants share a compilation, and of two inputs."""
    inputs = "".join(f'x{n} = tensor((3,), "float64", normal(seed={n}))\n' for n in range(2))
    design = Design(parse(f"{inputs}y = torch.hypot(x0, x1)\n", language_for("torch")), lambda func: [], Cover(), size)
    first, second = (len(family) for family in islice(design.families(), 2))
    batches = run(Schedule(APIS, 0, family=size), 2 * len(set(APIS)), dull)
    assert batches[0].families == OWN_FAMILY and batches[0].count >= first > 40
    assert batches[-1].families == OTHER_FAMILIES and batches[-1].count > first + second


def test_every_api_has_a_batch_before_any_has_two():
    first = run(Schedule(APIS, 3), len(APIS), dull)
    assert len({APIS[b.seed_index] for b in first[:10]}) == len({APIS[b.seed_index] for b in first[10:20]}) == 10


def test_the_same_campaign_plans_the_same_however_late_results_come():
    def lesson(batch):
        return Lesson([f"f{batch.seed_index % 7}"], {"size": [4, batch.seed_index % 4]}, [])

    prompt = run(Schedule(APIS, 5), len(APIS) + 3 * ROUND, lesson)
    late, handed, learnt = Schedule(APIS, 5), [], 0
    while len(handed) < len(prompt):
        batch = late.batch(len(handed))
        if batch is None:  # only now take in what has been handed out
            late.learn(handed[learnt], lesson(handed[learnt]))
            learnt += 1
        else:
            handed.append(batch)
    assert handed == prompt
    assert run(Schedule(APIS, 6), len(prompt), lesson) != prompt


def test_no_api_starves_while_one_brings_all_the_news():
    fresh = iter(range(10**6))

    def lesson(batch):
        news = [f"new{next(fresh)}" for _ in range(20)] if batch.seed_index == 0 else []
        return Lesson(news, {}, [])

    later = run(Schedule(APIS, 0), len(APIS) + 4 * ROUND, lesson)[len(APIS) + 2 * ROUND :]
    turns = Counter(APIS[b.seed_index] for b in later)
    assert turns["api0"] > 0.3 * len(later)
    assert min(turns[api] for api in APIS) >= 0.8 * (len(later) / 2 / 10)


def test_an_api_whose_finding_is_known_gets_less():
    def lesson(batch):
        return Lesson([], {}, ["the same"] if APIS[batch.seed_index] == "api3" else [])

    later = run(Schedule(APIS, 0), len(APIS) + 6 * ROUND, lesson)[len(APIS) + 3 * ROUND :]
    turns = Counter(APIS[b.seed_index] for b in later)
    assert turns["api3"] < 0.75 * turns["api4"]
    assert turns["api3"] > 0


def test_edits_that_an_api_refuses_are_kept_less_often():
    def lesson(batch):
        refused = APIS[batch.seed_index] == "api1"
        return Lesson([], {"size": [10, 0 if refused else 10]}, [])

    later = run(Schedule(APIS, 0), len(APIS) + 3 * ROUND, lesson)[-ROUND:]
    weights = {APIS[b.seed_index]: b.weights for b in later}
    assert weights["api1"]["size"] < 0.1
    assert weights["api2"] == {}


def test_later_rounds_go_deep_now_and_then():
    later = run(Schedule(APIS, 0), FIRST_ROUND + 2 * ROUND, dull)[FIRST_ROUND:]
    assert abs(sum(b.deep for b in later) - len(later) / DEEP_BATCH_EVERY) < 1


def test_what_a_seed_has_shown_is_known_to_its_later_batches():
    def lesson(batch):
        return Lesson(orders=[2] if batch.seed_index == 4 else [])

    later = run(Schedule(APIS, 0), len(APIS) + 4 * ROUND, lesson)[len(APIS) + ROUND :]
    assert {b.shown for b in later if b.seed_index == 4} == {(2,)}
    assert {b.shown for b in later if b.seed_index != 4} == {()}


def test_designs_go_on_in_every_other_round_until_nothing_is_left_of_them():
    def lesson(batch):
        if batch.cover is None:
            return Lesson()
        done = batch.cover.levels_met  # one level more each time; three and no pairs are all there is
        return Lesson(cover=Cover(levels=3, ran=1 << done))

    batches = run(Schedule(APIS, 0), FIRST_ROUND + 8 * ROUND, lesson)
    designed = [b for b in batches if b.cover is not None]
    rounds = [(b.seed_index, 0 if b.number < FIRST_ROUND else 1 + (b.number - FIRST_ROUND) // ROUND) for b in designed]
    assert {index for index, _ in rounds} == {0, 3, 6, 9, 12, 15, 18, 21, 24, 27}
    assert all(sorted(r for index, r in rounds if index == first) == [0, 0, 2, 4] for first in range(0, 30, 3))


@pytest.mark.parametrize("size", [1, 8])
def test_a_seed_that_is_wrong_itself_gives_the_lead_to_one_that_is_not(size):
    """api1 has such a first seed, api2 nothing else."""
    astray = {3, 6, 7, 8}

    def lesson(batch):
        ran = (1 << (batch.cover.levels_met + 1)) - 1 if batch.cover is not None else 0
        return Lesson(cover=None if batch.cover is None else Cover(levels=99, ran=ran), astray=batch.seed_index in astray)

    batches = [b for b in run(Schedule(APIS, 0, family=size), FIRST_ROUND + 6 * ROUND, lesson) if b.cover is not None]
    later = [b for b in batches if b.number >= FIRST_ROUND + ROUND]
    leads = {api: {b.seed_index for b in later if APIS[b.seed_index] == api} for api in APIS}
    assert (leads["api0"], leads["api1"]) == ({0}, {4})
    assert leads["api2"] == {6} if size == 1 else 6 in leads["api2"]  # until the others have been looked at
    met = [b.cover.levels_met for b in batches if b.seed_index == 4]
    assert met[0] == 0 and met == sorted(met) and met[-1] > 0  # its design begins anew, and goes on


def of_designs(batches, covers, lesson=dull):
    """Later batches that go on with designs, by API, where the first round has met these."""

    def learnt(batch):
        api = APIS[batch.seed_index]
        return Lesson(cover=covers[api]) if batch.number < FIRST_ROUND and batch.cover is not None and api in covers else lesson(batch)

    return [b for b in run(Schedule(APIS, 0), batches, learnt)[FIRST_ROUND:] if b.cover is not None]


def test_what_was_never_tried_alone_comes_first_and_all_at_once():
    halfway = Cover(levels=90, pairs=10, ran=(1 << 40) - 1)
    done = Cover(levels=40, pairs=10, ran=(1 << 40) - 1)
    covers = {api: halfway if api in ("api3", "api7") else done for api in set(APIS)}
    designed = of_designs(FIRST_ROUND + 3 * ROUND, covers)
    rows = {APIS[b.seed_index]: b.mutants for b in reversed(designed)}
    assert rows["api3"] == rows["api7"] == 50 + rows["api0"]


def test_designs_take_most_of_a_round_while_there_is_anything_left_of_them():
    many = [f"api{n}" for n in range(2 * ROUND)]
    schedule = Schedule(many, 0)
    first = 2 * len(many)
    later = run(schedule, first + 3 * ROUND, lambda batch: Lesson(cover=Cover(levels=1, pairs=9, ran=1)))[first + ROUND :]
    share = sum(b.cover is not None for b in later) / len(later)
    assert 0.8 < share < 1.0


def test_designs_go_on_where_rows_bring_most_and_rules_are_nobody_elses():
    many = [f"api{n}" for n in range(4 * ROUND)]

    def lesson(batch):
        number = batch.seed_index
        if batch.cover is None:
            return Lesson()
        gained = (320 if number % 2 else 32) if batch.cover.levels else 0  # pairs
        rule = [f"rule{number}|x"] if number % 4 == 1 else []
        return Lesson(rule, cover=Cover(levels=1, pairs=10**6, ran=1, settled=(1 << batch.cover.pairs_met + gained) - 1))

    first = 2 * len(many)
    rounds = run(Schedule(many, 0), first + 12 * ROUND, lesson)[first:]
    turns = Counter(b.seed_index for b in rounds if b.cover is not None)
    assert all(turns[n] for n in range(len(many)))  # each has its first rows before any has many
    own, aliases, poor = (sum(turns[n] for n in range(rest, len(many), 4)) for rest in (1, 3, 0))
    assert own > 1.2 * aliases > 1.4 * poor


def test_the_first_round_follows_each_design_without_a_gap():
    first = run(Schedule(APIS, 0), FIRST_ROUND, dull)
    for index in range(0, 30, 3):
        look, rest = [b for b in first if b.seed_index == index]
        assert look.start == 0 and look.count == rest.start and look.cover == rest.cover


def test_a_sweep_gives_every_api_one_batch_of_its_own_and_one_in_complex_numbers():
    swept = [b for b in run(Schedule(APIS, 0, sweep=True), FIRST_ROUND + 20, dull) if b.swept]
    assert all(b.cover is None for b in swept)
    for dtype in ("", "complex128"):
        assert sorted(APIS[b.seed_index] for b in swept if b.dtype == dtype) == sorted(set(APIS))


def test_some_operators_have_a_turn_in_the_dearest_way_others_with_another_seed(monkeypatch):
    """All of a few, and of many as many as a campaign can afford, before any is compiled in complex numbers."""
    few = [b for b in run(Schedule(APIS, 0, sweep=True, dear=True), FIRST_ROUND + 40, dull) if b.swept]
    assert sorted(APIS[b.seed_index] for b in few if b.dear) == sorted(set(APIS)) and not any(b.dtype for b in few if b.dear)
    assert max(b.number for b in few if b.dear) < min(b.number for b in few if b.dtype)
    leading = {b.seed_index for b in few if not b.dear}
    assert {b.seed_index for b in few if b.dear} - leading, "by any of their seeds"
    monkeypatch.setattr("gradfuzz.surveys.schedule.MOST_DEAR", 4)
    planned = [run(Schedule(APIS, seed, sweep=True, dear=True), FIRST_ROUND + 40, dull) for seed in range(3)]
    turns = [{APIS[b.seed_index] for b in batches if b.dear} for batches in planned]
    assert all(3 <= len(had) <= 4 for had in turns) and len({frozenset(had) for had in turns}) == 3
    assert not any(b.dear for b in run(Schedule(APIS, 0, sweep=True), FIRST_ROUND + 40, dull))


def test_operators_with_rules_of_their_own_come_first_in_the_dearest_way(monkeypatch):
    monkeypatch.setattr("gradfuzz.surveys.schedule.MOST_DEAR", 4)
    for most, others in ((4, 0), (3, 1)):
        schedule = Schedule([], 0, sweep=True, last=False, dear=True)
        ruled = {f"api{n}" for n in range(most)}
        schedule.grow(APIS, True, ruled)
        turns = {APIS[b.seed_index] for b in run(schedule, FIRST_ROUND + 30, dull) if b.dear}
        assert ruled <= turns and len(turns - ruled) == others


def test_what_programs_are_made_of_is_tried_in_every_way_that_seldom_has_a_turn():
    schedule = Schedule([], 0, sweep=True, last=False, seldom=3)
    schedule.grow([*APIS, "api0", "other"], True, basic=2)
    tried = [b for b in run(schedule, FIRST_ROUND + 30, dull) if b.seldom is not None]
    assert sorted((b.seed_index, b.seldom) for b in tried) == [(30 + n, way) for n in range(2) for way in range(3)]
    assert {(b.start, b.count, b.swept) for b in tried} == {(0, BASIC, False)}
    run_on(schedule, FIRST_ROUND + 30)


def test_a_word_that_an_operator_was_not_given_before_has_a_turn_in_what_compiles():
    names = ["lib.resize", "lib.resize", "lib.Resize", "lib.resize", "lib.sub"]
    words = [{"nearest", "even"}, {"cubic"}, {"cubic", "even"}, {"area"}, {"area"}]
    schedule = Schedule([], 0, sweep=True, last=False)
    schedule.grow(names[:2], False, words=words[:2])
    schedule.grow(names[2:], True, words=words[2:])
    turns = [b.seed_index for b in run(schedule, 20, dull) if b.swept and not b.dtype]
    assert sorted(turns) == [0, 1, 3, 4] and turns[-2:] == [1, 3], "beside the turn that each operator has by the seed that leads it"
    assert not any(b.swept for b in run(Schedule(names, 0), 10, dull))


def test_values_do_not_wait_for_turns_in_what_compiles():
    """Every design has begun before any operator is compiled in complex numbers, and some before half of them were compiled at all."""
    schedule = Schedule(APIS, 0, sweep=True, dear=True)
    planned = run(schedule, FIRST_ROUND + 30, dull)
    begun = [b.number for b in planned if b.start == FIRST_LOOK]
    turns = [b.number for b in planned if b.swept and not b.dear and not b.dtype]
    assert len(begun) == len(set(APIS)) and max(begun) < min(b.number for b in planned if b.dtype or b.dear)
    assert begun[0] < turns[1] and begun[-1] > turns[-1]


def test_seeds_that_call_an_api_otherwise_try_their_values_in_later_rounds():
    """The second form of each API before the third of any, a few in every round; what they meet is not the API's design."""
    schedule, names = Schedule([], 0, last=False), [f"api{n}" for n in range(30)]
    forms = [*["plain"] * 30, *["word"] * 30, *["other word"] * 10]
    schedule.grow([*names, *names, *names[:10]], True, forms=forms)
    first = len(forms) + len(names)
    planned = run(schedule, first + 3 * ROUND, dull)
    aside = [b for b in planned if b.aside]
    assert [b.seed_index for b in aside] == list(range(30, 70))
    assert {(b.start, b.count, b.cover) for b in aside} == {(1, FORM_COVER, Cover())}
    assert Counter((b.number - first) // ROUND for b in aside) == {0: ROUND * OF_FORMS, 1: 40 - ROUND * OF_FORMS}
    assert not any(b.aside for b in run(Schedule(APIS, 0), FIRST_ROUND + ROUND, dull))


def run_on(schedule, begin, batches=2 * ROUND):
    """Later rounds, which know what the first has taught."""
    for number in range(begin, begin + batches):
        schedule.learn(schedule.batch(number), Lesson([], {}, []))


def test_a_sweep_takes_an_operator_by_one_of_its_names():
    names = ["lib.add_up", "lib.Tensor.add_up", "lib.Tensor.add_up_", "lib.nn.AddUp", "lib.sub"]
    swept = [b for b in run(Schedule(names, 0, sweep=True), 20, dull) if b.swept and not b.dtype]
    assert len(swept) == 2 and {names[b.seed_index] for b in swept} > {"lib.sub"}


@pytest.mark.parametrize("family", [1, 64])
def test_every_operator_is_looked_at_before_any_has_a_second_look_by_another_name(family):
    names = Names(functions=(re.compile(r"lib\.(?P<name>\w+)_p\.bind"),), internal=("*.bind",), deprecated=("lib.old.*",))
    parts = [["lib.mul_p.bind", "lib.add", "lib.Tensor.add_", "lib.old.sub"], ["lib.nn.Add", "lib.mul", "lib.sub", "lib.only_p.bind"]]
    schedule = Schedule([], 0, family, sweep=True, last=False, names=names)
    for part in parts:
        schedule.grow(part, last=part is parts[-1])
    planned = run(schedule, 8 + 4 + 8, dull)
    looked = [schedule.apis[b.seed_index] for b in planned if not b.swept and b.families != OTHER_FAMILIES and b.start != FIRST_LOOK]
    assert looked[0] == "lib.add" and set(looked[1:3]) == {"lib.mul", "lib.sub"} and len(set(looked)) == len(looked) == 8
    swept = [schedule.apis[b.seed_index] for b in planned if b.swept and not b.dtype]
    assert sorted(swept) == ["lib.add", "lib.mul", "lib.only_p.bind", "lib.sub"]


def test_where_shapes_are_dear_a_sweep_takes_every_operator_through_some_ways():
    schedule = Schedule(APIS, 0, family=64, sweep=True)
    swept = [b for b in run(schedule, FIRST_ROUND + 20, dull) if b.swept]
    assert sorted(APIS[b.seed_index] for b in swept) == sorted(set(APIS)) and schedule.turns == len(swept)
    assert {(b.start, b.count, b.glance) for b in swept} == {(0, SWEPT_WAYS, False)}
    assert not any(b.swept for b in run(Schedule(APIS, 0, family=64), FIRST_ROUND + 20, dull))


def in_parts(seed=5, size=7, **more):
    """The same seeds, part by part."""
    parts = [APIS[start : start + size] for start in range(0, len(APIS), size)]
    schedule = Schedule([], seed, last=False, **more)
    return schedule, [(part, part is parts[-1]) for part in parts]


def test_batches_begin_with_the_first_seeds_and_do_not_depend_on_when_the_others_come():
    late, parts = in_parts()
    handed = []
    for part, last in parts:
        assert late.batch(len(handed)) is None
        late.grow(part, last)
        while len(handed) < len(set(APIS)) and (batch := late.batch(len(handed))) is not None:
            assert batch.seed_index < len(late.apis)
            handed.append(batch)
            late.learn(batch, dull(batch))
    assert {APIS[b.seed_index] for b in handed} == set(APIS)
    for number in range(len(handed), FIRST_ROUND + 3 * ROUND):
        handed.append(late.batch(number))
        late.learn(handed[-1], dull(handed[-1]))
    prompt, parts = in_parts()
    for part, last in parts:
        prompt.grow(part, last)
    assert run(prompt, len(handed), dull) == handed


def test_where_shapes_are_dear_a_glance_is_all_there_is_until_the_last_seeds_come():
    schedule, parts = in_parts(family=8)
    for part, last in parts:
        schedule.grow(part, last)
    first = [schedule.batch(number) for number in range(len(set(APIS)))]
    assert all(b.glance for b in first) and {APIS[b.seed_index] for b in first} == set(APIS)


def news(batch):
    """Every batch brings a feature of its own, and the mutant that showed it."""
    return Lesson([f"rule|f{batch.number}"], grown=[[f"f{batch.number}", {"mutant of": batch.seed_index}]])


def test_a_mutant_that_brought_something_new_becomes_a_seed_of_its_api():
    schedule = Schedule(APIS, 0)
    batches = run(schedule, FIRST_ROUND + 4 * ROUND, news)
    assert 0 < len(schedule.grown) <= MOST_GROWN_OF_API * len(set(APIS))
    assert max(Counter(api for api, _ in schedule.grown).values()) == MOST_GROWN_OF_API
    used = {b.seed_index for b in batches if b.seed_index >= len(APIS)}
    assert len(used) > 0.5 * len(schedule.grown)
    for index in used:
        api, program = schedule.grown[index - len(APIS)]
        assert schedule.apis[index] == api == schedule.apis[program["mutant of"]]


def test_what_was_kept_of_a_batch_is_kept_again_when_a_campaign_goes_on():
    first, again = Schedule(APIS, 0), Schedule(APIS, 0)
    for number in range(FIRST_ROUND + 3 * ROUND):
        batch = first.batch(number)
        kept = first.learn(batch, news(batch))
        assert again.batch(number) == batch and again.learn(batch, kept) == kept
    assert first.grown == again.grown


def test_a_mutant_that_brings_what_is_known_is_no_seed():
    schedule = Schedule(APIS, 0)
    run(schedule, FIRST_ROUND + 2 * ROUND, lambda batch: Lesson(["rule|f"], grown=[["f", {}]]))
    assert len(schedule.grown) == 1


def test_rounds_are_longer_and_batches_larger_where_there_are_many_workers():
    assert round_for(1) == round_for(4) == ROUND and round_for(5) == 2 * ROUND and round_for(1000) == 1 << 16
    usual = run(Schedule(APIS, 0), FIRST_ROUND + 1, dull)[-1]
    large = run(Schedule(APIS, 0, size=1 << 15), FIRST_ROUND + 1, dull)[-1]
    assert large.mutants == 8 * usual.mutants


def test_done_rounds_are_forgotten():
    schedule = Schedule(APIS, 0)
    run(schedule, FIRST_ROUND + 40 * ROUND, dull)
    assert sum(map(len, schedule._rounds.values())) <= 3 * ROUND and len(schedule._lessons) <= 3 * ROUND


def test_where_shapes_are_dear_some_operators_have_their_turns_with_their_part_and_all_in_the_end():
    schedule = Schedule([], 0, family=64, sweep=True, last=False)
    parts = [[f"lib.{letter}" for letter in letters] for letters in ("abcd", "efgh")]
    schedule.grow(parts[0], last=False)
    schedule.grow([*parts[1], "other.a"], last=True)
    batches = run(schedule, 26, dull)
    planned = [(schedule.apis[b.seed_index], b.swept) for b in batches]
    assert [swept for _, swept in planned] == [False] * 4 + [True] + [False] * 4 + [True, False] + [False, True] * 6 + [False] * 3
    assert planned[10] == ("other.a", False) and sorted(api for api, swept in planned if swept) == sorted(parts[0] + parts[1])
    # The families of other shapes come when all have been looked at, and do not wait for the turns.
    assert [b.families for b in batches if not b.swept] == [OWN_FAMILY] * 9 + [OTHER_FAMILIES] * 9


@pytest.mark.parametrize(
    ("edits", "kind", "order", "dtype", "astray"),
    [
        ((), NONFINITE, 1, "", True),
        ((), GRADIENT, 1, "", True),
        ((), GRADIENT, 2, "", False),  # its first derivative is right
        ((), STATUS, 1, "", False),  # what raises in one mode hides nothing in the other
        ((Edit("values", "x", None),), NONFINITE, 1, "", False),  # a mutant's fault
        ((), GRADIENT, 1, "complex128", False),  # of another type than the seed's own
    ],
)
def test_a_seed_is_astray_where_its_own_first_derivative_is_wrong(edits, kind, order, dtype, astray):
    batch = replace(Schedule(["api"], 0).batch(0), dtype=dtype)
    verdict = Verdict(DISAGREE, "gradient", kind, order)
    seed = parse('x = tensor((2,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
    told = Suspicion("api", seed, edits, Options(), verdict)
    assert Running(batch, Depth(), reports=[told]).astray is astray


def test_an_api_that_has_hung_is_known_to_hang_two_rounds_later():
    def lesson(batch):
        return Lesson([], {}, ["timeout"] if APIS[batch.seed_index] == "api4" else ["SIGSEGV"], deaths=1)

    batches = run(Schedule(APIS, 0), FIRST_ROUND + 2 * ROUND, lesson)
    assert not any(b.hangs for b in batches[: FIRST_ROUND + ROUND])
    later = batches[FIRST_ROUND + ROUND :]
    assert {APIS[b.seed_index] for b in later if b.hangs} == {"api4"} and all(b.hangs for b in later if APIS[b.seed_index] == "api4")


def test_what_three_batches_of_an_api_have_told_is_familiar_to_its_later_ones():
    told = Counter()

    def lesson(batch):
        api = APIS[batch.seed_index]
        keys = ["key"] if api == "api4" and told[api] < 3 else []
        told[api] += 1
        return Lesson([], {}, keys)

    batches = run(Schedule(APIS, 0), FIRST_ROUND + 3 * ROUND, lesson)
    assert not any(b.familiar for b in batches[: FIRST_ROUND + ROUND])
    later = batches[FIRST_ROUND + ROUND :]
    assert {APIS[b.seed_index] for b in later if b.familiar == ("key",)} == {"api4"} and not any(
        b.familiar for b in later if APIS[b.seed_index] != "api4"
    )


def test_what_two_batches_have_told_is_not_familiar_yet():
    told = Counter()

    def lesson(batch):
        told[APIS[batch.seed_index]] += 1
        return Lesson([], {}, ["key"] if told[APIS[batch.seed_index]] <= 2 else [])

    assert not any(b.familiar for b in run(Schedule(APIS, 0), FIRST_ROUND + 3 * ROUND, lesson))
