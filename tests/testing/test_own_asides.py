"""What is wrong beside derivatives that are right: such a check is not conclusive, and says why; healthy twins are."""

from __future__ import annotations

import pytest
import torch

import gradfuzz
from gradfuzz.testing import InconclusiveWarning
from gradfuzz.testing.meter import EVALUATIONS

X = torch.tensor([0.3, -1.2, 0.8], dtype=torch.float64)


class Shifted(torch.autograd.Function):
    """exp(x - 1), which writes x - 1 to its argument and tells nobody."""

    @staticmethod
    def forward(ctx, x, healthy):
        x = x - 1 if healthy else x.sub_(1)
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].exp(), None


class Growing(torch.autograd.Function):
    """sin, whose second gradient is not the first."""

    @staticmethod
    def forward(ctx, x, healthy):
        ctx.slope, ctx.healthy = x.cos(), healthy
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        found = g * ctx.slope
        ctx.slope = ctx.slope if ctx.healthy else 2 * ctx.slope
        return found, None


class Freed(Growing):
    """Its second backward pass raises."""

    @staticmethod
    def backward(ctx, g):
        if not ctx.healthy and hasattr(ctx, "done"):
            raise RuntimeError("the graph is gone")
        ctx.done = True
        return g * ctx.slope, None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Shifted, "changes its input x behind autograd's back"),
        (Growing, "a second backward pass over the same graph gives another gradient"),
        (Freed, "a second backward pass over the same graph raises: the graph is gone"),
    ],
)
def test_a_rule_with_such_a_fault_is_not_conclusive_and_its_healthy_twin_is(rule, said):
    def faulty(x):
        return rule.apply(x, False)

    def healthy(x):
        return rule.apply(x, True)

    with pytest.warns(InconclusiveWarning, match=said):
        assert not gradfuzz.check_gradients(faulty, X).conclusive
    assert gradfuzz.check_gradients(healthy, X).conclusive


def test_a_function_that_differentiates_inside_is_checked_like_any_other():
    """A force is the gradient of an energy."""

    def force(x, factor):
        x = x.requires_grad_()
        (found,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
        return factor * found

    assert gradfuzz.check_gradients(lambda x: force(x, 2.0), X).conclusive

    def wrong(x):
        return force(x, 2.0).detach() + 0 * x

    with pytest.raises(gradfuzz.GradientMismatch):
        gradfuzz.check_gradients(wrong, X)


def test_both_tries_are_within_one_limit():
    def force(x):
        x = x.requires_grad_()
        (found,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
        return 2 * found.detach() + 0 * x

    with pytest.raises(gradfuzz.GradientMismatch) as caught:
        gradfuzz.check_gradients(force, torch.linspace(0.1, 2, 24, dtype=torch.float64))
    assert caught.value.evaluations <= EVALUATIONS
