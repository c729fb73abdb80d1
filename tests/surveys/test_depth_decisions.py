"""One place decides how deep things are looked at."""

from collections import Counter

from gradfuzz.surveys.depth import DEEPEST_EVERY, Depths

PLAIN = Depths(order=None, scenarios=(), seed=0, ways=(), family=1)
COMPILED = Depths(order=None, scenarios=(), seed=0, ways=("a", "b", "c"), family=64)
NOTHING = Counter()


def orders(depth, count=33):
    return [depth.options(number, NOTHING).order for number in range(count)]


def test_third_order_goes_on_in_later_rounds():
    later = orders(PLAIN.batch(number=5000, funcs=(), deep=True))
    assert [number for number, order in enumerate(later) if order == 3] == [0, DEEPEST_EVERY, 2 * DEEPEST_EVERY]
    assert max(orders(PLAIN.batch(number=5000, funcs=()))) == 2


def test_fourth_order_is_reached_where_it_is_asked_for():
    asked = Depths(order=4, scenarios=(), seed=0, ways=(), family=1)
    assert max(orders(asked.batch(0, (), deep=True))) == 4
    assert set(orders(Depths(1, (), 0, (), 1).batch(0, (), deep=True))) == {1}


def test_where_each_order_costs_a_compilation_it_is_less_deep():
    assert max(orders(COMPILED.batch(0, (), deep=True))) == 2
    glance = COMPILED.batch(0, (), glance=True)
    assert orders(glance)[0] == 2 and set(orders(glance)[1:]) == {1}
    assert not any(glance.options(number, NOTHING).ways for number in range(33))


def test_every_way_has_its_turn():
    begun = [COMPILED.batch(number, ("library.sin",)).options(0, NOTHING).ways for number in range(6)]
    assert set(begun) == {("a",), ("b",), ("c",)} and begun[:3] == begun[3:]


def test_an_order_that_was_shown_before_needs_one_finding_less():
    fresh, shown = PLAIN.batch(9, ()), PLAIN.batch(9, (), shown=[2])
    once = Counter({2: 1})
    assert fresh.options(2, once).order == 2 and shown.options(2, once).order == 1


def test_batches_have_directions_of_their_own():
    salts = {PLAIN.batch(number, ()).options(index, NOTHING).salt for number in range(4) for index in range(17)}
    assert len(salts) == 4 * 17
