"""Planted bugs are caught, each by its kind, and the healthy twin is not."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

TEXT = 'x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_mlx.{}(x)'


def findings(target, name, **options):
    return examine(target, parse(TEXT.format(name), target.language), Options(**{"order": 2, "ways": None, **options})).findings


def test_the_healthy_twin_is_not_reported(target):
    assert not findings(target, "healthy")


@pytest.mark.parametrize(
    ("name", "kind", "scenarios"),
    [
        ("wrong_reverse", "gradient", ["reverse"]),
        ("wrong_second", "gradient", ["reverse-over-reverse", "forward-over-reverse"]),
        ("wrong_batch", "value", ["batched reverse", "batched forward", "batched direct"]),
    ],
)
def test_a_planted_bug_is_caught_in_the_scenarios_that_have_it(target, name, kind, scenarios):
    found = findings(target, name)
    assert found and {v.kind for v in found} == {kind}
    assert [s.name for v in found for s in v.scenarios] == scenarios
