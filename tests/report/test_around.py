"""The function around a finding's point: drawn where the reference gives what was proven, and nowhere else."""

import math
from dataclasses import replace

import pytest

from gradfuzz.program import parse
from gradfuzz.report.around import POINTS, around
from gradfuzz.targets.homes import language_for
from tests.report.stores import ONE, PROOF

X = 'x = tensor((2,), "float64", listed([0.5, 2.0]))\n'


def finding(text, exact):
    return replace(ONE, program=parse(X + text, language_for("torch")), proof=replace(PROOF, exact=exact))


@pytest.mark.parametrize("text", ["y = torch.tanh(x)\n", "m = torch.nn.Tanh()\ny = m(x)\n"])
def test_functions_and_modules_are_drawn_through_what_was_proven(text):
    slope = 1 - math.tanh(0.5) ** 2
    drawn = around(finding(text, repr(slope)))
    assert drawn["at"] == 0.5 and drawn["width"] == 1.0 and abs(drawn["d"][POINTS // 2] - slope) < 1e-15
    assert all(abs(f - math.tanh(-0.5 + 2 * i / (POINTS - 1))) < 1e-12 for i, f in enumerate(drawn["f"]))


@pytest.mark.parametrize("exact", ["0.7", "nan", "", "many"])
def test_a_curve_that_misses_what_was_proven_is_not_drawn(exact):
    assert around(finding("y = torch.tanh(x)\n", exact)) is None


def test_nothing_is_drawn_without_a_proof():
    assert around(replace(ONE, proof=None)) is None
