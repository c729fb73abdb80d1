"""Two functions that are right alone and wrong one after the other: the test of blame."""

import torch
from planted_torch import Healthy, WrongBackward


class Halved(torch.autograd.Function):
    """x/2, in both modes."""

    @staticmethod
    def forward(x):
        return x * 0.5

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 0.5

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 0.5


def halved(x):
    return Halved.apply(x)


def confused(x):
    """x³; on the tape right behind `halved` it takes a wrong rule."""
    behind = x.grad_fn is not None and "Halved" in type(x.grad_fn).__name__
    return (WrongBackward if behind else Healthy).apply(x)
