"""Closed forms: they are what they say they are, and a library that loses digits is told where."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from gradfuzz.closed.digits import losses, worst
from gradfuzz.closed.forms import FORMS, exact
from gradfuzz.closed.picture import png
from gradfuzz.surveys.accuracy import accuracy_points, forms, program_for

INSIDE = {"acosh": 2.2, "ndtri": 0.3, "erfinv": -0.4, "atanh": -0.4}


@pytest.mark.parametrize("name", FORMS)
def test_derivatives_are_those_of_the_function(name):
    x = INSIDE.get(name, 0.7)
    truth = exact(name, x)
    assert truth is not None
    with mp.workdps(40):
        for order in (1, 2):
            assert abs(mp.diff(lambda t: FORMS[name](t)[0], mpf(x), order) - truth[order]) < mpf(10) ** -12 * (1 + abs(truth[order]))


@pytest.mark.parametrize("name", ["digamma", "polygamma 1", "polygamma 2", "lgamma"])
def test_below_zero_by_reflection(name):
    with mp.workdps(40):
        slope = mp.diff(lambda t: FORMS[name](t)[0], mpf("-3.3"), 1)
        assert abs(slope - FORMS[name](mpf("-3.3"))[1]) < mpf(10) ** -12 * abs(slope)
    assert exact(name, -3.0) is None


def test_every_form_is_spelled_by_every_target_in_its_language():
    for target in ("torch", "jax", "tensorflow"):
        for name, text in forms(target).items():
            assert name in FORMS and program_for(target, text, "float64").inputs


def test_far_out_it_is_still_exact():
    value, slope, bend = exact("erfcx", 1e10)
    assert math.isclose(float(value), 1e-10 / math.sqrt(math.pi), rel_tol=1e-12)
    assert math.isclose(float(slope), -float(value) * 1e-10, rel_tol=1e-9) and bend > 0


@pytest.mark.parametrize("x", [1e-3, 1e-40, 1e-100])
def test_what_cancels_at_every_precision_tried_is_not_taken_for_settled(x):
    _, slope, bend = exact("sinc", x)
    assert math.isclose(float(bend), -(math.pi**2) / 3, rel_tol=1e-5) and math.isclose(float(slope), -x * math.pi**2 / 3, rel_tol=1e-5)
    assert math.isclose(float(exact("i1", x)[2]), 3 * x / 8, rel_tol=1e-5)


def test_a_right_number_loses_nothing_and_a_wrong_one_all():
    truth = [float(t) for t in exact("digamma", 2.5)]
    assert all(loss.lost == 0 for loss in losses("digamma", 2.5, {"reverse": truth}, "float64"))
    off = losses("digamma", 2.5, {"reverse": [None, truth[1] * (1 + 1e-6), float("nan")]}, "float64")
    lost = {loss.kind: loss.lost for loss in off}
    assert 8 < lost["first derivative"] < 10 and lost["second derivative"] > 15
    assert worst(off)[("second derivative", "reverse")].x == 2.5


def test_overflow_and_underflow_of_the_type_are_not_held_against_it():
    (_, _, bend) = losses("reciprocal", 4.642e-34, {"reverse": [2.1e33, -math.inf, math.inf]}, "float32")
    assert bend.lost == 0 and bend.note == "overflow"
    (value,) = losses("erfc", 40.0, {"direct": [0.0]}, "float64")
    assert value.lost == 0 and value.note == "underflow"


def test_an_ill_conditioned_number_may_be_off_by_what_rounding_its_input_does():
    x = 1e8 + 0.3
    value = float(exact("sinc", x)[0])
    assert losses("sinc", x, {"direct": [value * (1 + 1e-9)]}, "float64")[0].lost == 0


def test_the_picture_is_one():
    found = [
        loss for x in (-2.5, 0.5, 30.0) for loss in losses("erf", x, {"direct": [math.erf(x)], "reverse": [None, 0.0, 0.0]}, "float64")
    ]
    assert png("torch.erf(x)", found, "float64").startswith(b"\x89PNG")


def test_points_cover_the_range_of_their_type():
    points = accuracy_points(21, "float32")
    assert np.isfinite(np.float32(points)).all() and max(points) > 9e29 and min(map(abs, points)) < 2e-30
