"""The two-oracle policy names each of its four outcomes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import Forgetful, Value, adapter, cube

from gradfuzz.testing import TwoOracleFailure, two_oracles
from gradfuzz.testing.policy import compare

X = np.array([0.5, -1.5])


def failure(op, reference, *inputs, library):
    with pytest.raises(TwoOracleFailure) as caught:
        two_oracles(op, reference, *inputs, library=library)
    return caught.value


def test_right():
    assert two_oracles(cube, lambda x: x**3, X, library=adapter(Value)).outcome == "right"


def test_op_wrong():
    error = failure(cube, lambda x: x**3, X, library=adapter(Forgetful))
    assert error.judgement.outcome == "op wrong"
    lines = str(error).splitlines()
    assert lines[0] == "cube: op wrong. both oracles contradict the op: derive its backward again"
    assert lines[2].split() == ["element", "op", "PyTorch", "numeric"]
    assert lines[3].split()[:3] == ["x[0]", "0.25", "0.75"]
    assert float(lines[3].split()[3]) == pytest.approx(0.75)


def test_check_wrong():
    # At the kink PyTorch and the op take the same side; a central difference takes the middle.
    error = failure(lambda x: torch.relu(x), torch.relu, np.array([0.0]), library="torch")
    assert error.judgement.outcome == "check wrong"
    assert "the point is a kink" in str(error)


def test_convention_differs():
    error = failure(cube, lambda x: -(x**3), X, library=adapter(Value))
    assert error.judgement.outcome == "convention differs"
    assert "compare their definitions" in str(error)
    assert "the values of the op and of PyTorch differ too" in str(error)


def test_a_convention_for_the_gradient_alone():
    class Flipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x**3

        @staticmethod
        def backward(ctx, g):
            return -g

    found = compare(cube, Flipped.apply, X, library=adapter(Value))
    assert found.outcome == "convention differs"
    assert not found.values_differ


def test_the_tolerances_are_those_of_the_policy():
    class Slightly(torch.autograd.Function):
        off = 0.0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2 * (1 + Slightly.off)

    outcomes = {}
    for off in (1e-8, 1e-5, 1e-3):
        Slightly.off = off
        outcomes[off] = compare(lambda x: Slightly.apply(x), lambda x: x**3, np.array([1.5]), library="torch").outcome
    assert outcomes == {1e-8: "right", 1e-5: "convention differs", 1e-3: "op wrong"}


def test_binary_ops_are_judged_in_both_inputs():
    error = failure(lambda a, b: torch.sub(a, b.detach()), torch.sub, X, X + 1, library="torch")
    assert [c.element for c in error.judgement.worst] == ["b[0]", "b[1]"]
