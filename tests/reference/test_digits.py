"""Digits lost against exact values: a right number loses nothing, a wrong one all, and what rounding explains is not held against it."""

import math

import numpy as np
import pytest

from gradfuzz.reference.digits import exact, losses, worst
from gradfuzz.reference.picture import png
from gradfuzz.surveys.accuracy import Table, accuracy_points, forms, program_for
from gradfuzz.surveys.tails import is_lost, page, tail_points


def at(text, x):
    return exact("torch", program_for("torch", text, "float64"), x)


def lost(text, x, got, dtype="float64"):
    return losses("torch", program_for("torch", text, dtype), x, got, dtype)


@pytest.mark.parametrize("target", ["torch", "jax", "tensorflow"])
def test_every_function_that_a_target_lists_is_known_to_the_reference(target):
    listed = forms(target)
    assert len(listed) >= 30
    for text in listed.values():
        program = program_for(target, text, "float64")
        assert any(exact(target, program, x) is not None for x in (0.4, 2.2)), text


def test_far_out_it_is_still_exact():
    value, slope, bend, _ = at("torch.special.erfcx(x)", 1e10)
    assert math.isclose(float(value), 1e-10 / math.sqrt(math.pi), rel_tol=1e-12)
    assert math.isclose(float(slope), -float(value) * 1e-10, rel_tol=1e-9) and bend > 0


@pytest.mark.parametrize("x", [1e-3, 1e-40, 1e-100])
def test_what_cancels_at_the_first_precisions_is_not_taken_for_settled(x):
    _, slope, bend, _ = at("torch.sinc(x)", x)
    assert math.isclose(float(bend), -(math.pi**2) / 3, rel_tol=1e-5) and math.isclose(float(slope), -x * math.pi**2 / 3, rel_tol=1e-5)
    assert math.isclose(float(at("torch.special.i1(x)", x)[2]), 3 * x / 8, rel_tol=1e-5)


def test_outside_the_domain_there_is_nothing():
    assert at("torch.log(x)", -1.0) is None and at("torch.digamma(x)", -3.0) is None and at("torch.acosh(x)", 0.5) is None


def test_a_right_number_loses_nothing_and_a_wrong_one_all():
    truth = [float(t) for t in at("torch.digamma(x)", 2.5)[:3]]
    assert all(loss.lost == 0 for loss in lost("torch.digamma(x)", 2.5, {"reverse": truth}))
    off = lost("torch.digamma(x)", 2.5, {"reverse": [None, truth[1] * (1 + 1e-6), float("nan")]})
    by_kind = {loss.kind: loss for loss in off}
    assert 8 < by_kind["first derivative"].lost < 10 and 5.5 < by_kind["first derivative"].right < 6.5
    assert by_kind["second derivative"].lost > 15 and worst(off)[("second derivative", "reverse")].x == 2.5


def test_overflow_and_underflow_of_the_type_are_not_held_against_it():
    (_, _, bend) = lost("torch.reciprocal(x)", 4.642e-34, {"reverse": [2.1e33, -math.inf, math.inf]}, "float32")
    assert bend.lost == 0 and bend.note == "overflow"
    (value,) = lost("torch.erfc(x)", 40.0, {"direct": [0.0]})
    assert value.lost == 0 and value.note == "underflow"


def test_an_ill_conditioned_number_may_be_off_by_what_rounding_its_input_does():
    x = 1e8 + 0.3
    value = float(at("torch.sinc(x)", x)[0])
    assert lost("torch.sinc(x)", x, {"direct": [value * (1 + 1e-9)]})[0].lost == 0


def test_the_picture_is_one():
    found = [loss for x in (-2.5, 0.5, 30.0) for loss in lost("torch.erf(x)", x, {"direct": [math.erf(x)], "reverse": [None, 0.0, 0.0]})]
    assert png("torch.erf(x)", found, "float64").startswith(b"\x89PNG")


def test_points_cover_the_range_of_their_type():
    points = accuracy_points(21, "float32")
    assert np.isfinite(np.float32(points)).all() and max(points) > 9e29 and min(map(abs, points)) < 2e-30
    assert max(tail_points(13)) == 1e300 and min(tail_points(13)) == -1e300 and min(map(abs, tail_points(13))) == 1e-300


def test_the_page_of_tails_counts_and_lists_every_point():
    table = Table("sigmoid", "torch.sigmoid(x)")
    right = [float(t) for t in at("torch.sigmoid(x)", 2.0)[:3]]
    table.losses = lost("torch.sigmoid(x)", 40.0, {"reverse": [None, 0.0, 0.0]}) + lost("torch.sigmoid(x)", 2.0, {"reverse": right})
    assert [is_lost(loss) for loss in table.losses] == [True, True, False, False, False]
    text = page("PyTorch", "0", [table], [40.0, 2.0], "gradfuzz accuracy")
    assert "At **1** of these" in text and "- `torch.sigmoid(x)` (1): 40" in text and "4.24835e-18" in text
