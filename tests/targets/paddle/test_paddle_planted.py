"""Planted bugs in real Paddle functions: each is caught and named, and its healthy twin is not."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

pytest.importorskip("paddle", reason="not in this interpreter; tests/targets/test_elsewhere.py runs these in its own")

TEXT = 'x = tensor((2, 3), "float64", {values})\ny = planted_paddle.{name}(x)\n'


def seen(target, name, values="uniform(0.5, 2.0, seed=1)", **options):
    program = parse(TEXT.format(name=name, values=values), target.language)
    return examine(target, program, Options(**{"order": 2, "ways": (), **options}))


@pytest.mark.parametrize("name, order, least", [("wrong_reverse", 1, {"reverse"}), ("wrong_second", 2, {"reverse-over-reverse"})])
def test_a_planted_bug_is_caught_and_named(paddle_target, name, order, least):
    findings = seen(paddle_target, name).findings
    assert findings and {f.kind for f in findings} == {"gradient"} and {f.order for f in findings} == {order}
    assert least <= {scenario for f in findings for scenario in f.names}


def test_a_derivative_that_is_not_a_number_is_caught(paddle_target):
    findings = seen(paddle_target, "nan_at_zero", "planted(normal(seed=1), 0.0, 2)", order=1).findings
    assert {f.kind for f in findings} == {"nonfinite"}
    assert not seen(paddle_target, "nan_at_zero", order=1).findings


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_healthy_twin_is_not(paddle_target, order):
    looked = seen(paddle_target, "healthy", order=order)
    assert looked.outcome == "agree" and max(v.order for v in looked.verdicts) == order


def test_code_that_behaves_differently_in_a_static_graph_shows_in_the_static_way(paddle_target):
    looked = seen(paddle_target, "wrong_when_static", order=1, ways=("static",))
    assert looked.findings and all(s.startswith("static") for f in looked.findings for s in f.names)
    healthy = seen(paddle_target, "healthy_when_static", order=1, ways=("static",))
    assert healthy.outcome == "agree" and any(v.oracle == "way" for v in healthy.verdicts)


def test_lower_precision_is_judged_against_double(paddle_target):
    text = 'x = tensor((2, 3), "float32", uniform(0.5, 2.0, seed=1))\ny = planted_paddle.{}(x)\n'
    good = examine(paddle_target, parse(text.format("healthy"), paddle_target.language), Options(ways=()))
    bad = examine(paddle_target, parse(text.format("wrong_in_single"), paddle_target.language), Options(ways=()))
    assert good.outcome == "agree" and {f.kind for f in bad.findings} == {"precision"}


def test_what_draws_no_random_numbers_is_not_called_random(paddle_target):
    """The generator's state as text holds an address, which says nothing about draws."""
    program = parse(TEXT.format(name="healthy", values="uniform(0.5, 2.0, seed=1)"), paddle_target.language)
    points = [examine(paddle_target, program, Options(order=1, ways=())).trial.point for _ in range(8)]
    assert not any(point.random for point in points)
    kept: list[object] = [paddle_target.compiler]  # what is alive elsewhere moves the address
    states = {str(points[0].tape.drawn()) for _ in range(8) if kept.append(bytearray(5000)) is None}
    assert len(states) == 1
