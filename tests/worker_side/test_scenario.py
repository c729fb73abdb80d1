"""A scenario has one name and one parser of it."""

import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Scenario, nestings, pure

PLAIN = [DIRECT, *(s for order in range(1, 5) for s in nestings(order))]


@pytest.mark.parametrize("device", ["", "cuda", "cuda:1"])
@pytest.mark.parametrize("way", ["", "batched", "jit-compiled"])
@pytest.mark.parametrize("plain", PLAIN, ids=lambda s: s.name)
def test_a_name_says_everything(plain, way, device):
    scenario = Scenario(plain.modes, way, device)
    assert Scenario.named(scenario.name) == scenario
    assert scenario.plain == plain and scenario.order == len(plain.modes)


def test_names_are_those_that_people_use():
    assert [s.name for s in nestings(1)] == ["reverse", "forward"]
    assert Scenario(("r", "f")).name == "forward-over-reverse" and DIRECT.name == "direct"
    assert REVERSE.in_way("batched").name == "batched reverse" and Scenario(("f",), "", "cuda").name == "forward on cuda"


@pytest.mark.parametrize(
    "name", ["", "sideways", "reverse-over", "reverse over forward", "batched", "reverse on ", "a b reverse", "Reverse"]
)
def test_anything_else_is_refused_in_one_line(name):
    with pytest.raises(GradfuzzError, match="no scenario"):
        Scenario.named(name)


def test_all_nestings_of_an_order_are_there_once():
    assert [len(set(nestings(order))) for order in range(4)] == [1, 2, 4, 8]
    assert pure("r", 2) in nestings(2) and pure("f", 1) == FORWARD
