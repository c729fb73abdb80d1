"""Stateful modules as functions: their parameters are inputs, their buffers are fresh copies on every run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch

try:
    from torch.func import functional_call as functional_call
except ImportError:  # before 2.0
    try:
        from torch.nn.utils.stateless import functional_call as functional_call
    except ImportError:  # 1.11
        from torch.nn.utils._stateless import functional_call as functional_call


def is_module_class(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, torch.nn.Module)


class Module:
    """A module with its parameters taken out."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.parameters = {name: p.detach().clone() for name, p in module.named_parameters()}
        self.buffers = {name: b.detach().clone() for name, b in module.named_buffers()}

    def bound(self, parameters: Sequence[torch.Tensor]) -> BoundModule:
        return BoundModule(self, parameters)


class BoundModule:
    """The module with given parameters, as a plain function."""

    def __init__(self, owner: Module, parameters: Sequence[torch.Tensor]) -> None:
        self.owner, self.values = owner, parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(self.owner.parameters, self.values))
        state.update((name, buffer.clone()) for name, buffer in self.owner.buffers.items())
        return functional_call(self.owner.module, state, args, kwargs)


def build_module(made: torch.nn.Module, dtype: torch.dtype, seed: int) -> Module:
    """The module in the Program's precision, its parameters drawn from a fixed seed."""
    torch.default_generator.manual_seed(seed)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        made = made.to(dtype)
        for parameter in made.parameters():
            if parameter.is_floating_point() or parameter.is_complex():
                # Modules whose own start values are constants (norms, PReLU) still get distinct numbers.
                parameter.copy_(torch.randn_like(parameter) * 0.5)
    return Module(made)
