"""Planted bugs in real TensorFlow functions: each is caught and named, and its healthy twin is not."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE
from tests.targets.broken_ways import sound_ways

TEXT = 'x = tensor((2, 3), "float64", {values})\ny = planted_tensorflow.{name}(x)\n'


def seen(target, name, values="uniform(0.5, 2.0, seed=1)", order=2, thorough=False):
    program = parse(TEXT.format(name=name, values=values), target.language)
    return examine(target, program, Options(order=order, ways=sound_ways(target) if thorough else ()))


def test_a_wrong_gradient_is_caught_and_named(tensorflow_target):
    """In a graph TensorFlow's forward mode differentiates through the function and does not ask its custom gradient."""
    (finding,) = seen(tensorflow_target, "wrong_gradient").findings
    assert (finding.kind, finding.order, finding.names) == ("gradient", 1, ["reverse"])


def test_a_wrong_second_derivative_is_caught_at_order_two(tensorflow_target):
    (finding,) = seen(tensorflow_target, "wrong_second").findings
    assert (finding.kind, finding.order) == ("gradient", 2) and "reverse-over-reverse" in finding.names


def test_a_rule_that_is_wrong_at_one_point_is_caught_there(tensorflow_target):
    (finding,) = seen(tensorflow_target, "wrong_at_zero", "planted(normal(seed=1), 0.0, 2)", order=1).findings
    assert finding.kind == "gradient"
    assert not seen(tensorflow_target, "wrong_at_zero", order=1).findings


def test_a_derivative_that_is_not_a_number_is_caught(tensorflow_target):
    (finding,) = seen(tensorflow_target, "nan_at_zero", "planted(normal(seed=1), 0.0, 2)", order=1).findings
    assert finding.kind == "nonfinite"


def test_a_gradient_that_raises_is_caught_and_the_other_scenarios_go_on(tensorflow_target):
    looked = seen(tensorflow_target, "raises_in_gradient", order=1)
    assert {f.kind for f in looked.findings} == {"status"}


@pytest.mark.parametrize("order", [1, 2])
def test_the_healthy_twin_is_not(tensorflow_target, order):
    looked = seen(tensorflow_target, "healthy", order=order, thorough=True)
    assert max(v.order for v in looked.verdicts) == order
    # TensorFlow raises at the second order of loops and branches, whatever is inside of them.
    others = [
        v for v in looked.verdicts if not (v.kind == "status" and all(s.way in ("looped", "switched") and s.order > 1 for s in v.scenarios))
    ]
    assert others and all(v.outcome == "agree" for v in others)


def test_code_that_behaves_differently_when_traced_shows_in_the_eager_way(tensorflow_target):
    looked = seen(tensorflow_target, "wrong_output", order=1, thorough=True)
    assert looked.findings and all("eager" in s or s.startswith(("assigned", "variables")) for f in looked.findings for s in f.names)


def test_a_function_that_cannot_be_traced_runs_op_by_op(tensorflow_target):
    assert seen(tensorflow_target, "numbers_wanted", order=1).outcome == "agree"


def test_what_is_declared_to_have_no_derivative_is_no_finding(tensorflow_target):
    assert seen(tensorflow_target, "no_derivative").outcome == "unsupported"
    inputs = 'x = tensor((3,), "float64", normal(seed=1))\ny = tensor((3,), "float64", normal(seed=2))\n'
    text = f"{inputs}z = planted_tensorflow.half_declared(x, y)"
    assert examine(tensorflow_target, parse(text, tensorflow_target.language), Options(order=1)).outcome == "agree"


def test_unseeded_random_numbers_are_refused(tensorflow_target):
    assert seen(tensorflow_target, "unseeded").outcome == "invalid"


@pytest.mark.parametrize("call", ["tf.reshape(x, [17])", "tf.nn.softmax(x, axis=5)"])
def test_what_is_refused_directly_is_refused_under_differentiation(tensorflow_target, call):
    program = parse(f'x = tensor((2, 3), "float64", normal(seed=1))\ny = {call}\n', tensorflow_target.language)
    assert examine(tensorflow_target, program, Options(order=1, refused=True)).outcome == "invalid"
    healthy = parse('x = tensor((2, 3), "float64", normal(seed=1))\ny = tf.sin(x)\n', tensorflow_target.language)
    assert {tensorflow_target.bare(healthy, s) for s in (DIRECT, REVERSE, FORWARD)} == {"float64[2, 3]"}
