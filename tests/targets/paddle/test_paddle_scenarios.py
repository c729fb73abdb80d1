"""PaddlePaddle through the seam: every scenario gives the same number, and what Paddle cannot do is said to be so."""

import numpy as np
import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.scenario import REVERSE, Scenario, nestings, pure

pytest.importorskip("paddle", reason="not in this interpreter; tests/targets/test_elsewhere.py runs these in its own")

PROGRAMS = {
    "real": 'x = tensor((3,), "float64", normal(seed=1))\ny = paddle.tanh(x) * x',
    "several": 'x = tensor((2, 3), "float64", normal(seed=1))\nw = tensor((3, 2), "float64", normal(seed=2))\ny = [x @ w, w * w]',
    "indices": 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((2,), "int64", listed([3, 0]))\ny = paddle.gather(x, i) * x[1]',
    "strides": 'x = tensor((4, 3), "float64", normal(seed=1), layout="transposed")\n'
    'z = tensor((3,), "float64", normal(seed=2), layout="strided")\ny = paddle.tanh(x * z) * x',
    "layer": 'x = tensor((2, 3), "float64", normal(seed=1))\nm = paddle.nn.Linear(3, 2)\ny = paddle.tanh(m(x))',
    "complex": 'x = tensor((3,), "complex128", normal(seed=1))\ny = paddle.abs(x * x) + paddle.real(x)',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_nestings_up_to_order_three_agree(paddle_target, name):
    program = parse(PROGRAMS[name], paddle_target.language)
    trial = Trial(paddle_target, program)
    for order in (1, 2, 3):
        outcomes = [trial.outcome(scenario) for scenario in nestings(order)]
        refused = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
        assert all(refusal.kind == "unsupported" for refusal in refused), refused
        numbers = [trial.number(outcome) for outcome in outcomes if not isinstance(outcome, Refusal)]
        # The parts of complex numbers have no second derivative here, and say so.
        assert (order > 1 and name == "complex") or (numbers and np.allclose(numbers, numbers[0], rtol=1e-9))
    assert examine(paddle_target, program, Options(order=2)).outcome == "agree"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_static_graph_gives_what_the_dynamic_one_gives(paddle_target, name):
    trial = Trial(paddle_target, parse(PROGRAMS[name], paddle_target.language))
    plain = trial.number(trial.outcome(REVERSE))
    # Decomposed, 3.3.1 gives wrong gradients of `gather` and of complex numbers: docs/found/paddle-3.3.1.md.
    for way in ("static",) if name in ("indices", "complex") else paddle_target.ways:
        outcome = trial.outcome(REVERSE.in_way(way))
        assert not isinstance(outcome, Refusal), outcome
        assert trial.number(outcome) == pytest.approx(plain, rel=1e-9)


def test_reverse_mode_of_complex_numbers_is_the_real_projection(paddle_target):
    """For f(z) = c z the projection is Re(conj(v) c u), whatever the library's convention for gradients."""
    text = 'x = tensor((2,), "complex128", normal(seed=1))\ny = x * complex(2.0, 3.0)'
    trial = Trial(paddle_target, parse(text, paddle_target.language))
    wanted = (np.conj(trial.v.arrays[0]) * (2 + 3j) * trial.direction(0).arrays[0]).real.sum()
    for scenario in nestings(1):
        assert trial.number(trial.outcome(scenario)) == pytest.approx(float(wanted))


def test_a_rule_that_paddle_does_not_have_is_no_finding(paddle_target):
    text = 'x = tensor((3, 3), "float64", normal(seed=1))\ny = paddle.linalg.det(x)'
    program = parse(text, paddle_target.language)
    refusal = Trial(paddle_target, program).outcome(pure("r", 2))
    assert isinstance(refusal, Refusal) and refusal.kind == "unsupported", refusal
    assert not examine(paddle_target, program, Options(order=2)).findings


def test_what_draws_random_numbers_draws_the_same_again(paddle_target):
    text = 'x = tensor((5, 4), "float64", normal(seed=1))\ny = paddle.nn.functional.dropout(x, 0.5) * x'
    trial = Trial(paddle_target, parse(text, paddle_target.language))
    assert trial.point.random
    assert np.array_equal(trial.outcome(Scenario()).outputs[0], trial.direct[0])
    assert examine(paddle_target, trial.program, Options(order=1)).outcome == "agree"


def test_what_writes_to_its_inputs_leaves_them_as_they_were(paddle_target):
    text = 'x = tensor((3,), "float64", normal(seed=1))\ny = x.add_(x) * 2.0'
    trial = Trial(paddle_target, parse(text, paddle_target.language))
    before = trial.point.inputs[0].copy()
    assert trial.point.mutates and not isinstance(trial.outcome(REVERSE), Refusal)
    assert np.array_equal(trial.point.inputs[0], before)


def test_rules_are_the_nodes_on_the_tape_and_exist(paddle_target):
    program = parse('x = tensor((3,), "float64", normal(seed=1))\ny = paddle.tanh(x)', paddle_target.language)
    reached = set(examine(paddle_target, program, Options(order=2), keep_rules=True).rules)
    assert {"reverse:tanh"} <= reached, reached
    assert reached <= set(paddle_target.rules())
