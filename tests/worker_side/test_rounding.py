"""What rounding inside a function does to its outputs, read off runs at points close by."""

import numpy as np
from numpy_library import NumpyTarget

from gradfuzz.oracles.evidence.rounding import number_scatter, output_scatter
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.value import FREE_UNITS, check_value
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import FORWARD, REVERSE
from gradfuzz.targets.homes import language_for

UNIT = 2.0**-52
TEXT = 'x = tensor((3,), "float64", listed([2.0, 1.3, 0.7]))\ny = torch.sin(x)\n'


def trial(f, slope=np.cos):
    return Trial(NumpyTarget(f, lambda x: [np.diag(slope(x))]), parse(TEXT, language_for("torch")))


def rooted(x):
    """One for every positive number, up to a thousand roundings of a thousandth power."""
    return x / (x**0.001) ** 1000.0


def rooted_elsewhere(x):
    return x / np.nextafter(x**0.001, 2.0) ** 1000.0


def test_a_root_that_amplifies_a_rounding_shows_by_how_much():
    assert 64 * UNIT < output_scatter(trial(rooted)) < 1e-11


def test_a_smooth_function_scatters_by_a_few_units_and_a_jump_is_no_rounding():
    assert output_scatter(trial(np.sin)) < 64 * UNIT
    assert output_scatter(trial(lambda x: np.floor(x) + np.sin(x))) < 64 * UNIT


def test_the_same_of_a_derivative():
    noisy, steady = trial(np.sin, lambda x: np.cos(x) * rooted(x)), trial(np.sin)
    scatter = [number_scatter(t, FORWARD, t.number(t.outcome(FORWARD))) for t in (noisy, steady)]
    assert scatter[0] > 64 * UNIT > scatter[1]


def test_another_kernel_may_round_otherwise_and_may_not_be_wrong():
    """A value is held against what the function's own rounding does to it: a thousand units here, and not a millionth."""
    one = trial(rooted)
    away = np.abs(rooted_elsewhere(one.inputs[0]) - one.direct[0]).max()
    assert away > FREE_UNITS * UNIT  # else there is nothing to see
    found = check_value(one, REVERSE, Outcome([rooted_elsewhere(one.inputs[0])], [0.0], True))
    assert found is None or not found.is_finding
    assert check_value(one, REVERSE, Outcome([one.direct[0] * (1 + 1e-9)], [0.0], True)).is_finding
    assert check_value(trial(np.sin), REVERSE, Outcome([np.sin(one.inputs[0]) + away], [0.0], True)).is_finding


def cancelling(x):
    """What is left of numbers of 1e31 that cancel: nothing here, and four units away; a last place of them at roundings between."""
    units = np.round((x - [2.0, 1.3, 0.7]) / (UNIT * x))
    return np.where(units % 4 == 2, 4e15, 0.0)


def test_what_is_left_of_numbers_that_cancel_may_be_anything():
    one = trial(cancelling)
    assert not one.direct[0].any() and not check_value(one, REVERSE, Outcome([np.full(3, 4e15)], [0.0], True)).is_finding
    # A quotient of it is infinite; a function that jumps gives no infinity for that.
    for f, found in ((cancelling, False), (np.floor, True)):
        assert check_value(trial(f), REVERSE, Outcome([np.full(3, np.inf)], [0.0], True)).is_finding == found
