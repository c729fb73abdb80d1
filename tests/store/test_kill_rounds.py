"""A few rounds of what tests/store/kill_rounds.py does a hundred times."""

import random

from tests.store.kill_rounds import one_round, outcome, undisturbed


def test_a_campaign_that_is_killed_ends_as_one_that_is_not(tmp_path):
    wanted, seconds = undisturbed(tmp_path / "reference", 20)
    for number in range(3):
        one_round(tmp_path / str(number), 20, seconds, random.Random(number))
        assert outcome(tmp_path / str(number)) == wanted
