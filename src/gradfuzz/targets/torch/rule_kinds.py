"""What a user's own rule may be beside a function of one tensor: given one tensor twice, in place, with outputs that nobody differentiates.

Each is the identity, with SCALE for its derivative, as in own_rule.py: whoever loses a part of what the rule says gives another derivative.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from gradfuzz.targets.torch.own_rule import SCALE


class Shared(torch.autograd.Function):  # type: ignore[misc]
    """Of two tensors, which are one: the parts of its derivative add up."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a + b) / 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * (SCALE - 1), g


class Dirty(torch.autograd.Function):  # type: ignore[misc]
    """In place."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        x.mul_(1)
        return x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * SCALE


class Several(torch.autograd.Function):  # type: ignore[misc]
    """With an output that has no derivative and one that nobody uses; it is told of none of the gradients that there are not."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> Any:
        size, unused = x.detach().abs(), x * 2
        ctx.mark_non_differentiable(size)
        ctx.set_materialize_grads(False)
        return size, x.clone(), unused

    @staticmethod
    def backward(ctx: Any, none: Any, g: Any, unused: Any) -> Any:
        return None if g is None else g * SCALE


class Told(torch.autograd.Function):  # type: ignore[misc]
    """With numbers beside, of which it keeps one, and its own output, which its derivative needs."""

    @staticmethod
    def forward(ctx: Any, nothing: None, x: torch.Tensor, factor: float, ones: torch.Tensor) -> torch.Tensor:
        output = x * ones
        ctx.factor, ctx.counted = factor, output.numel()
        ctx.save_for_backward(output, ones)
        return output

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        output, ones = ctx.saved_tensors
        assert ctx.needs_input_grad[1] and not ctx.needs_input_grad[3]
        assert output.numel() == ctx.counted
        return None, g * ctx.factor * ones.expand_as(output), None, None


class Kind:
    """A rule as own_rule.py applies it."""

    def __init__(self, apply: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.apply = apply


def _told(x: torch.Tensor) -> torch.Tensor:
    return Told.apply(None, x, SCALE, torch.ones_like(x))


KINDS = {
    "shared": Kind(lambda x: Shared.apply(x, x)),
    "dirty": Kind(lambda x: Dirty.apply(x.clone())),
    "several": Kind(lambda x: Several.apply(x)[1]),
    "told": Kind(_told),
}
