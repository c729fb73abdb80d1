"""How deep a mutant goes is read off data."""

from collections import Counter

from gradfuzz.targets.base.scenario import REVERSE, nestings
from gradfuzz.worker.depth import Depth

NOTHING = Counter()


def orders(depth, count, shown=NOTHING):
    return [depth.options(number, shown).order for number in range(count)]


def test_the_highest_order_whose_turn_it_is_counts():
    assert orders(Depth(((2, 2), (4, 3))), 6) == [3, 1, 2, 1, 3, 1]
    assert orders(Depth(), 3) == [1, 1, 1]


def test_what_was_shown_often_enough_is_not_looked_for_again():
    depth = Depth(((1, 3),), enough=((2, 2), (3, 1)))
    assert orders(depth, 1, Counter({3: 1})) == [2]
    assert orders(depth, 1, Counter({3: 1, 2: 2})) == [1]
    assert orders(depth, 1, Counter({2: 1})) == [3]


def test_ways_keep_their_turn_and_take_a_fraction():
    depth = Depth(ways=("a", "b"), way_every=2, turn=4)
    assert [depth.options(number, NOTHING).ways for number in range(9)] == [
        ("a",), (), ("a",), (), ("b",), (), ("b",), (), ("a",),
    ]  # fmt: skip


def test_a_compiled_way_takes_the_whole_batch_and_others_may_come_together():
    depth = Depth(ways=("a", "b"), way_every=2, together=True, compiled="c")
    assert [depth.options(number, NOTHING).ways for number in range(3)] == [("a", "b", "c"), ("c",), ("a", "b", "c")]


def test_directions_differ_from_mutant_to_mutant_and_scenarios_are_passed_on():
    depth = Depth(scenarios=("reverse",), salt=100, strict=True)
    options = [depth.options(number, NOTHING) for number in range(3)]
    assert [o.salt for o in options] == [100, 101, 102]
    assert {o.scenarios for o in options} == {frozenset({REVERSE})} and all(o.strict for o in options)


def test_it_travels_as_json():
    import json

    depth = Depth(((2, 2),), ((2, 1),), ("a",), 8, 64, True, "b", 9, "cuda", ("reverse",), 7, True)
    assert Depth.from_json(json.loads(json.dumps(depth.to_json()))) == depth


def test_a_row_of_many_values_is_examined_in_half_of_the_nestings_and_the_next_one_in_the_others():
    depth = Depth(((2, 2), (8, 3)), scenarios=None)
    first, second = (depth.options(number, NOTHING, wide=True).scenarios for number in (2, 4))
    assert first & second == set(nestings(1)) and first | second == {*nestings(1), *nestings(2)}
    for half in (first, second):
        higher = half - set(nestings(1))
        assert {s.modes[0] for s in higher} == {s.modes[1] for s in higher} == {"r", "f"}
    assert depth.whole(depth.options(2, NOTHING, wide=True)).scenarios is None


def test_what_is_tried_alone_goes_deeper_or_is_asked_for_by_name_is_examined_in_all_nestings():
    depth = Depth(((2, 2), (8, 3)), ways=("a",), way_every=3, alone=2)
    assert depth.options(2, NOTHING, alone=True).scenarios is None
    assert depth.options(8, NOTHING, wide=True).scenarios is None  # order three
    assert depth.options(6, NOTHING, wide=True).scenarios is None  # a way is compared with all of them
    named = Depth(((2, 2),), scenarios=("reverse",))
    assert named.options(2, NOTHING, wide=True).scenarios == frozenset({REVERSE})
