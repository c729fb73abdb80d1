"""PyTorch's modules, and how one is called with other parameters than its own."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from gradfuzz.targets.base.modules import Module

try:
    from torch.func import functional_call as functional_call
except ImportError:  # before 2.0
    try:
        from torch.nn.utils.stateless import functional_call as functional_call
    except ImportError:  # 1.11
        from torch.nn.utils._stateless import functional_call as functional_call


def is_module_class(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, torch.nn.Module)


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
    return Module(made, functional_call)
