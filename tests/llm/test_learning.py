"""What the next prompt is, and what a round was worth."""

from __future__ import annotations

import random
from collections import Counter

from gradfuzz.llm.bandit import Bandit, worth
from gradfuzz.llm.judge import Item, Judgement, judge
from gradfuzz.llm.knowledge import Known
from gradfuzz.llm.prompting import AIMS, domain_of


def test_what_brought_something_is_asked_for_more_often():
    bandit = Bandit([f"api{i}" for i in range(10)], ["edges", "pairs"])
    for _ in range(12):
        bandit.learn("api3", "edges", 1.0)
        for other in range(10):
            if other != 3:
                bandit.learn(f"api{other}", "pairs", 0.0)
    chosen = Counter(bandit.choose(random.Random(n), set()) for n in range(200))
    assert chosen["api3", "edges"] > 150


def test_nothing_is_given_up_for_ever():
    bandit = Bandit(["a", "b"], ["edges"])
    for _ in range(100):
        bandit.learn("a", "edges", 0.0)
    for _ in range(30):
        bandit.learn("b", "edges", 0.0)
    assert {bandit.choose(random.Random(n), set())[0] for n in range(200)} == {"a", "b"}


def test_what_dried_up_falls_behind():
    bandit = Bandit(["a", "b"], ["edges"])
    for _ in range(5):
        bandit.learn("a", "edges", 1.0)
    for _ in range(30):
        bandit.learn("a", "edges", 0.0)
    chosen = Counter(bandit.choose(random.Random(n), set())[0] for n in range(300))
    assert chosen["b"] > 2 * chosen["a"]


def test_no_pair_is_taken_twice_in_a_round_while_others_are_left():
    bandit, taken, chance = Bandit(["a", "b", "c"], ["edges", "pairs"]), set(), random.Random(0)
    for _ in range(6):
        taken.add(bandit.choose(chance, taken))
    assert len(taken) == 6
    assert bandit.choose(chance, taken) in taken


def test_hope_counts_until_there_is_experience():
    bandit = Bandit(["a", "b"], ["edges"], {"b": 8.0})
    assert Counter(bandit.choose(random.Random(n), set())[0] for n in range(200))["b"] > 140


def test_companions_are_others():
    bandit = Bandit(["a", "b", "c", "d"], ["edges"])
    for n in range(20):
        found = bandit.companions(random.Random(n), "a", 2)
        assert len(set(found)) == 2 and "a" not in found
    assert bandit.companions(random.Random(0), "a", 0) == []


def test_a_bug_is_worth_more_than_a_pair():
    assert worth(1, 0, 0) == worth(0, 1, 0) > worth(0, 0, 5) > worth(0, 0, 0) == 0


def test_the_judge_counts_what_is_new_and_what_each_cost():
    before, after = Known(), Known()
    before.rules = {"reverse:A"}
    after.rules = {"reverse:A", "reverse:B"}
    before.pairs["f"], after.pairs["f"], after.pairs["g"] = {"1"}, {"1", "2"}, {"3"}
    before.bugs, after.bugs = {"old": "f"}, {"old": "f", "new": "g"}
    items = [
        Item(0, "program", "edges", "f", True, rules=("reverse:C",)),
        Item(1, "program", "pairs", "g", True, again=True),
        Item(1, "program", "pairs", "g", False, reason="not Python", replaced=True),
        Item(2, "program", "pairs", "h", False, reason="not Python"),
    ]
    found, arms = judge(items, before, after, 600, 0.06)
    assert (found.items, found.valid, found.mended, found.refused) == (3, 2, 1, {"not Python": 2})
    assert (found.rules, found.pairs, found.bugs, found.dry) == (2, 2, 1, False)
    assert {(api, aim): value for api, aim, value in arms} == {("f", "edges"): 1.0, ("g", "pairs"): 1.0, ("h", "pairs"): 0.0}
    line = found.line()
    assert (
        "2 of 3 valid (67 %, 1 of them mended)" in line
        and "2 new rules (300 tokens, $0.03000 each)" in line
        and "1 new bug (600 tokens" in line
    )
    assert Judgement.from_json(found.to_json()) == found
    nothing, _ = judge(items[3:], after, after, 100, None)
    assert nothing.dry and nothing.line() == "0 of 1 valid (0 %); 0 new rules; 0 new pairs; 0 new bugs; 100 tokens"


def test_rules_named_like_the_api_come_first():
    known = Known()
    known.existing = {"reverse:AddBackward0", "reverse:SincBackward0", "forward:SincBackward0", "reverse:MulBackward0"}
    known.rules = {"reverse:AddBackward0"}
    assert known.missing("lib.sinc") == ["forward:SincBackward0", "reverse:SincBackward0", "reverse:MulBackward0"]
    assert known.hopes(["lib.sinc", "lib.add", "lib.cos"]) == {"lib.sinc": 2.0}


def test_the_documented_domain_is_what_the_docstring_says_of_arguments():
    doc = "erfinv(input) -> Tensor\n\nThe inverse of erf. It is defined for inputs in the range (-1, 1). It returns a tensor.\n\n>>> x > 0"
    assert domain_of(doc) == "It is defined for inputs in the range (-1, 1)."
    assert domain_of("sinc(input, *, out=None) -> Tensor") == ""


def test_every_aim_says_something():
    assert len(AIMS) >= 3 and all(len(text) > 50 for text in AIMS.values())
