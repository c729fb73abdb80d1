"""minigrad, tested through the public API alone: two oracles for each op, broadcasting, edges, training; and the planted ten."""

from __future__ import annotations

import warnings

import minigrad as mg
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from minigrad.nn import MLP, accuracy, load, train
from minigrad.planted import planted
from minigrad.properties import PROPERTIES, adapter, check

from gradfuzz.testing import GradientMismatch, InconclusiveWarning, check_gradients, check_leaks, two_oracles
from gradfuzz.testing import strategies as gf

RNG = np.random.default_rng(11)
A, B = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
POSITIVE = np.abs(A) + 0.5
LABELS = np.array([0, 3, 1])

# op, its PyTorch twin, inputs
TWINS = {
    "add": (mg.add, torch.add, (A, B)),
    "sub": (mg.sub, torch.sub, (A, B)),
    "mul": (mg.mul, torch.mul, (A, B)),
    "div": (mg.div, torch.div, (A, POSITIVE)),
    "matmul": (mg.matmul, torch.matmul, (A, B.T)),
    "neg": (mg.neg, torch.neg, (A,)),
    "power": (lambda x: mg.power(x, 3), lambda x: x**3, (A,)),
    "absolute": (mg.absolute, torch.abs, (A,)),
    "exp": (mg.exp, torch.exp, (A,)),
    "log": (mg.log, torch.log, (POSITIVE,)),
    "sqrt": (mg.sqrt, torch.sqrt, (POSITIVE,)),
    "tanh": (mg.tanh, torch.tanh, (A,)),
    "sigmoid": (mg.sigmoid, torch.sigmoid, (A,)),
    "relu": (mg.relu, torch.relu, (A,)),
    "sum": (lambda x: mg.sum(x, axis=0), lambda x: x.sum(0), (A,)),
    "mean": (lambda x: mg.mean(x, axis=1), lambda x: x.mean(1), (A,)),
    "max": (lambda x: mg.max(x, axis=1), lambda x: x.amax(1), (A,)),
    "reshape": (lambda x: mg.reshape(x, (2, 6)), lambda x: x.reshape(2, 6), (A,)),
    "transpose": (mg.transpose, lambda x: x.T, (A,)),
    "getitem": (lambda x: mg.getitem(x, np.array([2, 0, 2])), lambda x: x[[2, 0, 2]], (A,)),
    "concat": (lambda x, y: mg.concat([x, y], axis=1), lambda x, y: torch.cat([x, y], dim=1), (A, B)),
    # Sums of a softmax are constant: weigh its elements, or every gradient would be zero.
    "softmax": (lambda x: mg.mul(mg.softmax(x), B), lambda x: torch.softmax(x, -1) * torch.from_numpy(B), (A,)),
    "log_softmax": (lambda x: mg.mul(mg.log_softmax(x), B), lambda x: torch.log_softmax(x, -1) * torch.from_numpy(B), (A,)),
    "cross_entropy": (mg.cross_entropy, torch.nn.functional.cross_entropy, (A, LABELS)),
    "square": (lambda x: mg.mul(x, x), torch.square, (A,)),
}  # fmt: skip


def test_every_op_has_a_twin_and_a_property():
    ops = set(mg.__all__) - {"Tensor"}
    assert ops <= set(TWINS)
    assert ops <= set(PROPERTIES)


@pytest.mark.parametrize("name", TWINS)
def test_pytorch_and_the_numeric_derivative_agree_with_the_op(name):
    op, reference, inputs = TWINS[name]
    assert two_oracles(op, reference, *inputs, library=adapter()).outcome == "right"


@pytest.mark.parametrize("name", TWINS)
def test_the_full_ladder_agrees_with_the_op(name):
    op, _, inputs = TWINS[name]
    assert check_gradients(op, *inputs, library=adapter()).conclusive


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "mixture"])
def test_broadcasting_pairs(name):
    draws = 0

    @settings(max_examples=100, deadline=None, database=None)
    @given(PROPERTIES[name].inputs)
    def broadcast(inputs):
        nonlocal draws
        draws += 1
        check(name, inputs)

    broadcast()
    assert draws >= 100


# Edges ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, database=None)
@given(gf.extreme((3,)))
@example(np.array([1e3, 1e3, 1e3]))
@example(np.array([1e3, -1e3, 0.0]))
@example(np.array([1e6, 0.0, -1e6]))
def test_softmax_at_extreme_inputs(x):
    weights = np.array([1.0, -2.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconclusiveWarning)
        for op in (mg.softmax, mg.log_softmax):
            check_gradients(lambda x, op=op: mg.mul(op(x), weights), x, library=adapter(), shrink=False)
    assert np.isfinite(mg.softmax(mg.Tensor(x)).data).all()
    assert mg.softmax(mg.Tensor(x)).data.sum() == pytest.approx(1.0)


def test_a_softmax_that_overflows_is_caught_at_extreme_inputs():
    def careless(x):
        exponentials = mg.exp(x)
        return mg.div(exponentials, mg.sum(exponentials))

    assert check_gradients(careless, np.array([1.0, 2.0]), library=adapter()).conclusive
    with np.errstate(over="ignore", invalid="ignore"), pytest.warns(InconclusiveWarning, match="the output itself is not finite"):
        check_gradients(careless, np.array([1e3, 1e3]), library=adapter())


@pytest.mark.parametrize("labels", [[0, 0, 0], [3, 3, 3], [0, 3, 0]])
def test_cross_entropy_at_the_edge_classes(labels):
    op, reference, _ = TWINS["cross_entropy"]
    assert two_oracles(op, reference, A, np.array(labels), library=adapter()).outcome == "right"
    assert two_oracles(op, reference, 100 * A, np.array(labels), library=adapter()).outcome == "right"


@pytest.mark.parametrize("shape", [(12,), (2, 6), (2, 3, 2), (1, 12, 1), (3, 4)])
def test_reshape_that_changes_the_rank(shape):
    weights = RNG.standard_normal(shape)
    assert check_gradients(lambda x: mg.mul(mg.reshape(x, shape), weights), A, library=adapter()).conclusive


# Training ------------------------------------------------------------------------------------------------------------


def test_an_mlp_learns_the_shipped_data():
    points, labels = load()
    held_out = np.arange(len(labels)) % 4 == 0
    model = MLP((2, 16, 16, 2))
    losses = train(model, points[~held_out], labels[~held_out])
    assert losses[-1] < losses[0] / 4
    assert accuracy(model, points[held_out], labels[held_out]) > 0.9


def test_the_mlps_loss_has_the_right_gradient_in_every_parameter():
    points, labels = load()
    model = MLP((2, 5, 2))

    def loss(first, second, bias, last):
        hidden = mg.tanh(mg.add(mg.matmul(mg.Tensor(points[:8]), first), bias))
        return mg.cross_entropy(mg.add(mg.matmul(hidden, second), last), labels[:8])

    first, second = (w.data for w in model.weights)
    assert check_gradients(loss, first, second, *(b.data + 0.1 for b in model.biases), library=adapter()).conclusive


def test_training_does_not_leak():
    points, labels = load()
    model = MLP((2, 4, 2))
    assert not check_leaks(lambda: train(model, points[:8], labels[:8], steps=1), runs=50).leaks


# The planted ten -----------------------------------------------------------------------------------------------------

# Without Hypothesis' explanations, which take hundreds of failing runs more.
SHRINKING = [Phase.generate, Phase.shrink]
# The smallest inputs on which each bug shows: shapes, as Hypothesis shrinks them.
SMALLEST = {
    "sign": [(1,), (1,)],
    "factor": [()],
    "jacobian": [(2,)],
    "square": [(2, 2), (2, 1)],
    "edge class": [(1, 2)],
    "rank": [(4,)],
    "axis": [(2, 2), (2, 1)],
    "column": [(2, 2), (2, 1)],
    "used twice": [()],
    "stale graph": [()],
}


@pytest.mark.parametrize("bug", planted(), ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_within_100_draws_and_shrunk(bug):
    drawn = []

    @seed(1)
    @settings(max_examples=100, phases=SHRINKING, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(PROPERTIES[bug.op].inputs)
    def property_of_op(inputs):
        drawn.append(inputs)
        check(bug.op, inputs, bug.engine)

    with pytest.raises(GradientMismatch) as caught:
        property_of_op()
    assert caught.value.verdict.names == ["reverse"]
    shapes = [x.shape for x in drawn[-1] if isinstance(x, np.ndarray) and x.dtype == np.float64]
    assert sorted(shapes) == sorted(SMALLEST[bug.name])


def test_there_are_ten_of_them():
    assert len({bug.name for bug in planted()}) == 10
