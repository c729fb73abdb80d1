"""What a campaign says at its end."""

from gradfuzz.cli.display import endings
from gradfuzz.engine.survey import State
from gradfuzz.oracles.verdict import MISTAKE


def test_mistakes_of_our_own_are_told_with_their_number():
    state = State("mutants")
    assert not any(MISTAKE in line for line in endings(state))
    state.mistakes[f"{MISTAKE}, ZeroDivisionError in slopes"] = 3
    assert any(f"{MISTAKE}, ZeroDivisionError in slopes, at 3 mutants" in line for line in endings(state))
