"""Arrays and PyTorch's tensors: from one to the other, in every type and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradfuzz.program.model import Tensor
from gradfuzz.targets.base.dtypes import UNITS as UNITS_BY_NAME
from gradfuzz.targets.base.dtypes import as_double
from gradfuzz.targets.torch.layouts import lay_out

Array = Any
DTYPES = {name: getattr(torch, name) for name in (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)}  # fmt: skip
UNITS = {**{DTYPES[name]: unit for name, unit in UNITS_BY_NAME.items()}, torch.complex32: UNITS_BY_NAME["float16"]}


def make_tensor(array: Array, recipe: Tensor) -> torch.Tensor:
    """The recipe's tensor in its dtype and layout."""
    tensor = torch.from_numpy(np.array(array))
    wanted = DTYPES[recipe.dtype]
    if tensor.dtype != wanted:
        tensor = tensor.to(wanted)
    return tensor if recipe.layout == "contiguous" else lay_out(tensor, recipe.layout)


def to_numpy(tensor: torch.Tensor) -> Array:
    """The tensor's numbers; bfloat16 comes as float32."""
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):
        pass  # on a tape, a conjugated or negated view, a symbolic zero, or a type that NumPy lacks
    tensor = tensor.detach().cpu().clone().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    elif tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    return tensor.numpy(force=True) if tensor._is_zerotensor() else tensor.numpy()


def dot(a: Array, b: Array) -> float:
    """Re⟨a, b⟩ over all elements, accumulated in double precision."""
    total = float(np.vdot(a, b).real if a.dtype.kind == "c" or b.dtype.kind == "c" else np.vdot(as_double(a), b))
    if total == total or a.shape != b.shape or b.all():
        return total
    return dot(a[b != 0], b[b != 0])  # what is not moved says nothing, be it NaN


def floating(value: Any) -> list[torch.Tensor]:
    """The floating tensors of a result, flattened."""
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        return [value]
    return [t for t in _flat(value) if t.is_floating_point() or t.is_complex()]


def whole(value: Any) -> list[torch.Tensor]:
    """Its other tensors: indices, permutations, counts."""
    return [t for t in _flat(value) if not t.is_floating_point() and not t.is_complex()]


def _flat(value: Any) -> list[torch.Tensor]:
    """Tensors inside tuples, lists and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value] if value.layout == torch.strided else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for part in parts for tensor in _flat(part)]
