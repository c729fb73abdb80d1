"""Functions under names that other libraries have too: one with a planted bug in its derivative, healthy ones, and a false friend."""

import torch


class WrongTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y * y) * (1 + 1e-6)


def tanh(x):
    """Right in value, wrong by a millionth in reverse mode."""
    return WrongTanh.apply(x)


def softplus(x):
    return torch.nn.functional.softplus(x)


def sinh(x):
    """Another function by the same name."""
    return torch.cosh(x)
