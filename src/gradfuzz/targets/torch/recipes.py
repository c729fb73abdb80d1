"""Tensors back to recipes."""

from __future__ import annotations

from typing import Any

import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DTYPES, Tensor
from gradfuzz.targets.base.recipes import values_of


def recipe_of(tensor: torch.Tensor, seed: int, structure: str | None = None, exact: bool = False) -> Tensor:
    """A recipe for tensors like this one. `exact`: for this very one, up to four digits."""
    dtype = str(tensor.dtype).replace("torch.", "")
    if dtype not in DTYPES:
        raise ProgramError(f"dtype {dtype} is outside the language")
    array = _numpy(tensor)
    grad = bool(tensor.requires_grad)
    layout = "contiguous" if tensor.is_contiguous() or tensor.numel() < 2 else "transposed" if tensor.dim() >= 2 else "strided"
    values = values_of(array, seed + 1, exact)
    return Tensor(tuple(tensor.shape), dtype, values, grad, layout, structure)


def _numpy(tensor: torch.Tensor) -> Any:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy()
