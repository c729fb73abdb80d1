"""The recount: a majority of finite-difference checks decides, and says how many there were."""

import numpy as np
import pytest

from gradfuzz.numdiff.ladder import FIRST_STEP, Estimate
from gradfuzz.numdiff.vote import PHASES, recount


def ladder(value, error):
    return Estimate(FIRST_STEP, value, error)


def sine(t):
    return np.array([np.sin(1.0 + t)])


@pytest.mark.parametrize("error", [1e-6, 1e-2, 3.0])
def test_most_checks_contradict_a_wrong_derivative(error):
    truth = float(np.cos(1.0))
    vote = recount(sine, truth + error, ladder(truth, 1e-12))
    assert vote.majority and vote.for_ad == 0
    assert vote.against >= vote.checks / 3 and vote.reruns == len(PHASES)
    assert vote.against + vote.for_ad + vote.undecided == vote.checks


def test_a_right_derivative_beside_a_wrong_estimate_is_not_outvoted():
    truth = float(np.cos(1.0))
    vote = recount(sine, truth, ladder(truth + 1e-3, 1e-12))
    assert not vote.majority and vote.for_ad > 0


def test_noise_takes_no_side():
    rng = np.random.default_rng(1)
    vote = recount(lambda t: rng.standard_normal(1), 1.0, ladder(2.0, 1.0))
    assert not vote.majority and vote.undecided > 0.5 * vote.checks


def test_not_a_number_is_outvoted_by_a_derivative_that_settles():
    vote = recount(sine, float("nan"), ladder(float(np.cos(1.0)), 1e-10))
    assert vote.majority and vote.for_ad == 0
    assert f"{vote.against} of {vote.checks}" in str(vote)
