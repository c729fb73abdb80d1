"""Functions of PyTorch, healthy and wrong, as people write them."""

from __future__ import annotations

import torch


class WrongSine(torch.autograd.Function):
    """Its backward is off by a tenth, above 1 only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x) * (1 + 0.1 * (x > 1))


class WrongTangent(torch.autograd.Function):
    """Forward mode has the sign wrong; reverse mode is right."""

    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return -t * torch.cos(x)


def weighted_sine(x, w):
    return WrongSine.apply(x) * w


def healthy_sine(x, w):
    return torch.sin(x) * w


class WrongSecond(torch.autograd.Function):
    """The first derivative of x³ is right, the second lacks a factor of two."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * WrongSquare.apply(x) * 3


class WrongSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def cubed(x):
    return WrongSecond.apply(x)


class Layer(torch.nn.Module):
    """A module whose weight gets a wrong gradient."""

    def __init__(self, apply):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 1.5, dtype=torch.float64))
        self.apply_to_weight = apply

    def forward(self, x):
        return x * self.apply_to_weight(self.weight)
