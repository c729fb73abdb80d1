"""One place decides how deep things are looked at."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.surveys.depth import COMPILED_BATCH, DEEPEST_EVERY, DESIGNED_BESIDE_COMPILED, SWEPT_WAYS, TRACE, Depths
from gradfuzz.surveys.profiles import PROFILES, Choice, chosen
from gradfuzz.targets.base.ways import Way
from gradfuzz.worker.depth import Depth

NONE = Choice(PROFILES["default"], ())
CHEAP = tuple(Way(name) for name in "abc")
DEAR = (Way("stage", compiles=100, default=True), Way("whole", compiles=2000, default=False))
PLAIN = Depths(order=None, scenarios=(), seed=0, choice=NONE, family=1)
COMPILED = Depths(order=None, scenarios=(), seed=0, choice=Choice(PROFILES["default"], CHEAP), family=64)
NOTHING = Counter()


def orders(depth, count=33):
    return [depth.options(number, NOTHING).order for number in range(count)]


def test_third_order_goes_on_in_later_rounds():
    later = orders(PLAIN.batch(number=5000, funcs=(), deep=True))
    assert [number for number, order in enumerate(later) if order == 3] == [0, DEEPEST_EVERY, 2 * DEEPEST_EVERY]
    assert max(orders(PLAIN.batch(number=5000, funcs=()))) == 2


def test_fourth_order_is_reached_where_it_is_asked_for():
    asked = Depths(order=4, scenarios=(), seed=0, choice=NONE, family=1)
    assert max(orders(asked.batch(0, (), deep=True))) == 4
    assert set(orders(Depths(1, (), 0, NONE, 1).batch(0, (), deep=True))) == {1}


def test_where_each_order_costs_a_compilation_it_is_less_deep():
    assert max(orders(COMPILED.batch(0, (), deep=True))) == 2
    glance = COMPILED.batch(0, (), glance=True)
    assert orders(glance)[0] == 2 and set(orders(glance)[1:]) == {1}
    assert not any(glance.options(number, NOTHING).ways for number in range(33))


@pytest.mark.parametrize("depths", [PLAIN, COMPILED])
def test_every_value_of_a_design_is_tried_by_itself_at_order_two(depths):
    """Where a compilation serves a family, too: its numbers cost no other."""
    design, glance, other = depths.batch(5, (), design=True), depths.batch(5, (), design=True, glance=True), depths.batch(5, ())
    assert {design.options(number, NOTHING, alone=True).order for number in range(8)} == {2}
    assert {glance.options(number, NOTHING, alone=True).order for number in range(8)} == {2}
    assert {other.options(number, NOTHING, alone=True).order for number in range(8)} == {1, 2}


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


def in_profile(name, ways=(*CHEAP, *DEAR)):
    return Depths(order=None, scenarios=(), seed=0, choice=Choice(PROFILES[name], ways), family=1)


def cost(depths, designed=0.0, batches=4000):
    """What further ways add to the plain examinations of many batches, as the ways' own costs have it; some follow designs."""
    chance = random.Random(0)
    by_name = {way.name: way for way in depths.choice.ways}
    total = 0.0
    for number in range(batches):
        depth = depths.batch(number, ("library.sin",), design=chance.random() < designed)
        met = set()
        for mutant in range(COMPILED_BATCH):
            for name in depth.options(mutant, NOTHING).ways:
                family = mutant // depth.family if depth.family else mutant
                total += by_name[name].cost + (by_name[name].compiles if (name, family) not in met else 0)
                met.add((name, family))
    return total / (batches * COMPILED_BATCH)


def test_the_default_profile_costs_less_than_a_tenth_and_nightly_spends_half():
    assert 0.01 < cost(in_profile("quick", CHEAP)) < 0.05
    assert 0.05 < cost(in_profile("default", (*CHEAP, DEAR[0]))) < 0.10
    assert 0.9 < cost(in_profile("nightly"), DESIGNED_BESIDE_COMPILED) < 1.6


def test_a_compilation_serves_a_family():
    depth = next(d for d in (in_profile("nightly").batch(n, ()) for n in range(500)) if d.compiled)
    assert depth.family > 1
    assert all(depth.compiled in depth.options(number, NOTHING).ways for number in range(COMPILED_BATCH))


def test_every_api_has_its_turn_in_the_compiled_way_that_is_worth_it():
    assert {in_profile("nightly").batch(n, (), swept=True).compiled for n in range(50)} == {"stage"}
    assert not any(in_profile("default").batch(n, (), swept=True).compiled for n in range(50))


def test_some_have_a_turn_in_the_way_that_does_most():
    own = Way("own", compiles=9000.0, default=False, blames="torch.compile")
    nightly = in_profile("nightly", (*CHEAP, *DEAR, own))
    assert nightly.sweeps_dearly and nightly.batch(0, (), swept=True, dear=True).compiled == max(DEAR, key=lambda way: way.compiles).name
    assert not in_profile("nightly", (*CHEAP, nightly.choice.swept)).sweeps_dearly and not in_profile("default").sweeps_dearly


def test_at_night_every_value_of_a_design_is_tried_in_what_a_compiler_computes_with():
    """An option that a decomposition forgets shows there, and no compilation is needed."""
    whole = Way("whole", compiles=2000, default=False, stages=("stage", "b"))
    nightly, default = (in_profile(name, (*CHEAP, DEAR[0], whole)) for name in ("nightly", "default"))
    rows = [nightly.batch(7, (), design=True).options(number, NOTHING, alone=True).ways for number in range(64)]
    assert all("b" in ways and len(set(ways)) == len(ways) for ways in rows)
    assert not all("b" in nightly.batch(7, (), design=True).options(number, NOTHING).ways for number in range(64))
    assert not default.batch(7, (), design=True).alone_in and nightly.batch(7, ()).alone == 1
    assert all("b" in nightly.batch(n, ()).options(0, NOTHING).ways for n in range(8)), "and every seed as it is"


def test_an_operators_turn_takes_its_seed_through_all_cheap_ways():
    """A night has a few batches of an operator, each in one cheap way: of forty ways chance would leave most out."""
    own = Way("own", cost=0.3, blames="torch.autograd.Function")
    depth = in_profile("nightly", (*CHEAP, *DEAR, own)).batch(3, ("library.sin",), swept=True)
    assert depth.options(0, NOTHING).ways == ("a", "b", "c", "stage")
    assert {depth.options(number, NOTHING).ways for number in range(1, 20)} == {("stage",)}


def test_an_operators_turn_takes_its_seed_through_what_makes_a_trace_and_no_more():
    trace = Way("trace", compiles=TRACE, default=False)
    depth = in_profile("nightly", (*CHEAP, *DEAR, trace)).batch(3, ("library.sin",), swept=True)
    assert depth.options(0, NOTHING).ways == ("a", "b", "c", "trace", "stage")
    assert {depth.options(number, NOTHING).ways for number in range(1, 20)} == {("stage",)}
    assert "trace" not in in_profile("default", (*CHEAP, trace)).batch(3, (), swept=True).ways


def test_what_hardly_ever_has_a_turn_is_tried_by_itself():
    """A way that answers for itself, or costs much: a night has few batches of it, and they may not be what it goes wrong with."""
    own, often = Way("own", compiles=900.0, default=False, blames="torch.compile"), Way("often", compiles=1.0, cost=0.1)
    ways = (*CHEAP, *DEAR, own, often)
    nightly = in_profile("nightly", ways)
    assert own in nightly.seldom and often not in nightly.seldom and not in_profile("default", ways).seldom
    depth = nightly.batch(0, ("library.sin",), seldom=nightly.seldom.index(own))
    assert depth.compiled == "own" and depth.options(1, NOTHING).ways == ("own",) and depth.options(1, NOTHING).order == 2


def test_ways_that_cost_the_same_have_a_turn_each():
    ways = tuple(Way(f"w{n}", compiles=130.0, cost=0.6) for n in range(12))
    turns = Counter(in_profile("nightly", ways).batch(n, ()).compiled for n in range(20000))
    assert all(turns[way.name] > 0.7 * sum(turns[w.name] for w in ways) / len(ways) for way in ways), turns


def test_at_night_every_compiled_way_has_its_turn():
    choice = chosen("torch", "nightly")
    depths = Depths(None, (), 0, choice, family=1)
    assert {depths.batch(n, ()).compiled for n in range(60000)} - {""} == {way.name for way in choice.compiled}


def test_a_way_with_more_turns_has_a_larger_share():
    twice = [replace(way, turns=2) if way == DEAR[0] else way for way in DEAR]
    often, usual = (
        sum(in_profile("nightly", (*CHEAP, *ways)).batch(n, ()).compiled == DEAR[0].name for n in range(20000)) for ways in (twice, DEAR)
    )
    assert often > 1.2 * usual > 0


def test_where_shapes_are_dear_a_turn_is_in_one_way_after_the_other_at_order_one():
    depth = Depths(None, (), 0, Choice(PROFILES["nightly"], CHEAP), family=64).batch(3, (), swept=True)
    looked = [depth.options(number, NOTHING) for number in range(SWEPT_WAYS)]
    assert {way for options in looked[:3] for way in options.ways} == set("abc")
    assert all(len(options.ways) == 1 and options.order == 1 for options in looked)


def test_an_operators_turn_traces_every_way_that_does_not_answer_for_itself():
    ways = (*CHEAP, Way("own", blames="torch.compile"))
    nightly, default = (Depths(None, (), 0, Choice(PROFILES[name], ways), family=64) for name in ("nightly", "default"))
    assert nightly.batch(0, (), swept=True).traced == ("a", "b", "c")
    assert not nightly.batch(0, (), glance=True).traced and not default.batch(0, (), swept=True).traced
    assert Depth.from_json(json.loads(json.dumps(nightly.batch(0, (), swept=True).to_json()))).traced == ("a", "b", "c")


def test_full_examines_every_mutant_in_every_way():
    depth = in_profile("full").batch(7, ())
    assert set("abc") <= set(depth.options(3, NOTHING).ways)


def test_profiles_and_ways_are_chosen_by_name():
    assert [w.name for w in chosen("torch", "default", ("aot_eager", "batched")).ways] == ["aot_eager", "batched"]
    assert chosen("torch", "default", ("batched",)).profile.name == "nightly"
    assert not any(w.compiles for w in chosen("torch", "quick").ways) and any(w.name == "inductor" for w in chosen("torch", "nightly").ways)
    assert not any(w.walls == "compiler" for w in chosen("torch").ways)
    with pytest.raises(GradfuzzError, match="no such way"):
        chosen("torch", "default", ("sideways",))
    with pytest.raises(GradfuzzError, match="quick, default, nightly, full"):
        chosen("torch", "yearly")


def test_ways_that_do_what_the_dearest_does_share_its_turns():
    more = Way("more", compiles=500, default=False, stages=("stage", "whole"))
    other = Way("other", compiles=500, default=False, stages=("stage",))
    own = Way("own", compiles=900, default=False, stages=("whole",), blames="torch.compile")
    depths = Depths(None, (), 0, Choice(PROFILES["nightly"], (*DEAR, more, other, own)), family=1)
    assert [depths.batch(n, (), swept=True, dear=True).compiled for n in range(4)] == ["whole", "more", "whole", "more"]
    assert {depths.batch(n, (), swept=True).compiled for n in range(4)} == {"stage"}


def test_a_way_without_turns_is_run_where_it_is_named():
    assert "compiled-inside" not in {way.name for way in chosen("torch", "nightly").ways}
    (named,) = chosen("torch", "nightly", ("compiled-inside",)).ways
    assert named.turns == 1
