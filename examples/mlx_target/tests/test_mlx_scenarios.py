"""MLX through the seam: every scenario gives the same number, and what MLX cannot do is said to be so."""

import numpy as np
import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import parse
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.scenario import REVERSE, nestings

PROGRAMS = {
    "doubles": 'x = tensor((3,), "float64", normal(seed=1))\ny = mlx.core.tanh(x) * x',
    "singles inside": 'x = tensor((3,), "float64", normal(seed=1))\ny = mlx.core.exp(x) * x',
    "several": 'x = tensor((2, 3), "float64", normal(seed=1))\nw = tensor((3, 2), "float64", normal(seed=2))\ny = [x @ w, w * w]',
    "indices": 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((2,), "int32", listed([3, 0]))\ny = mlx.core.square(x[i]) * x[1]',
    "update": 'x = tensor((4, 3), "float64", normal(seed=1))\na = tensor((3,), "float64", normal(seed=2))\ny = x.at[1].add(a) * x',
    "strides": 'x = tensor((4, 3), "float64", normal(seed=1), layout="transposed")\n'
    'z = tensor((3,), "float64", normal(seed=2), layout="strided")\n'
    "y = mlx.core.cumsum(x * z, 1) * x",
    "module": 'x = tensor((4, 3), "float64", normal(seed=1))\ny = mlx.nn.log_softmax(x) * x',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_nestings_up_to_order_three_agree(target, name):
    program = parse(PROGRAMS[name], target.language)
    trial = Trial(target, program)
    for order in (1, 2, 3):
        outcomes = [trial.outcome(scenario) for scenario in nestings(order)]
        numbers = [trial.number(outcome) for outcome in outcomes if not isinstance(outcome, Refusal)]
        assert all(outcome.kind == "unsupported" for outcome in outcomes if isinstance(outcome, Refusal)), outcomes
        assert len(numbers) >= 2**order / 2
        assert np.allclose(numbers, numbers[0], rtol=max(1e-9, 64 * trial.epsilon))
    seen = examine(target, program, Options(order=2, ways=None))
    # Second differences of numbers that have single precision settle nothing.
    assert seen.outcome == "agree" or (trial.epsilon > DOUBLE_UNIT and seen.outcome == "inconclusive")


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_and_batched_give_what_the_plain_way_gives(target, name):
    trial = Trial(target, parse(PROGRAMS[name], target.language))
    for scenario in nestings(1):
        plain = trial.number(trial.outcome(scenario))
        for way in ("compiled", "batched"):
            assert trial.number(trial.outcome(scenario.in_way(way))) == pytest.approx(plain, rel=max(1e-9, 64 * trial.epsilon))


def test_the_unit_is_that_of_the_kernels_at_work(target):
    """exp is single precision inside for doubles (ml-explore/mlx#3047), tanh is not, and a detour through float32 shows."""
    units = {}
    for call in ("mlx.core.tanh(x)", "mlx.nn.silu(x)", "x.astype(mlx.core.float32).astype(mlx.core.float64)"):
        trial = Trial(target, parse(f'x = tensor((3,), "float64", normal(seed=1))\ny = {call}', target.language))
        units[call] = trial.epsilon
    assert list(units.values()) == [2.0**-52, 2.0**-23, 2.0**-23]


def test_reverse_mode_of_complex_numbers_is_the_real_projection(target):
    """For f(z) = c z the projection is Re(conj(v) c u): MLX's gradients are adjoints."""
    text = 'x = tensor((2,), "complex64", normal(seed=1))\ny = x * complex(2.0, 3.0)'
    trial = Trial(target, parse(text, target.language))
    wanted = (np.conj(trial.v.arrays[0]) * (2 + 3j) * trial.direction(0).arrays[0]).real.sum()
    for scenario in nestings(1):
        assert trial.number(trial.outcome(scenario)) == pytest.approx(float(wanted), rel=1e-5)


def test_a_rule_that_mlx_does_not_have_is_no_finding(target):
    text = 'x = tensor((3, 3), "float64", normal(seed=1), structure="positive_definite")\ny = mlx.core.linalg.cholesky(x)'
    program = parse(text, target.language)
    refusal = Trial(target, program).outcome(REVERSE)
    assert isinstance(refusal, Refusal) and refusal.kind == "unsupported"
    assert examine(target, program, Options(order=1)).outcome == "unsupported"


OUTSIDE = {
    "take": "mlx.core.take(x, i, 0)",
    "a part": "x[i]",
    "a column": "x[..., i]",
    "an update": "x.at[i].add(1.0)",
    "classes": "mlx.nn.losses.nll_loss(x, i)",
    "a window": "mlx.core.slice(x, i[:1], (0,), (2, 4))",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_outside_of_its_axis_is_invalid_rather_than_tried(target, name):
    """MLX does not check: it would read and write whatever lies there."""
    text = 'x = tensor((3, 4), "float64", normal(seed=1))\ni = tensor((3,), "int32", listed([{}, 0, 1]))\ny = ' + OUTSIDE[name]
    assert examine(target, parse(text.format(7), target.language), Options(order=1)).outcome == "invalid"
    assert examine(target, parse(text.format(1), target.language), Options(order=1, ways=None)).outcome == "agree"


def test_rules_are_the_primitives_that_scenarios_reached(target):
    program = parse('x = tensor((3,), "float64", normal(seed=1))\ny = mlx.core.tanh(x)', target.language)
    seen = examine(target, program, Options(order=2), keep_rules=True)
    assert {"reverse:Tanh", "forward:Tanh", "second:Tanh", "second:Square"} <= set(seen.rules)
    assert Trial(target, program).rule() == "Tanh"
