"""Arrays and MLX's own: from one to the other, in every type and in the layouts that MLX has."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DTYPES as NAMES
from gradfuzz.targets.base.dtypes import UNITS as UNITS_BY_NAME

Array = Any

DTYPES = {name: getattr(mx, "bool_" if name == "bool" else name) for name in NAMES if name != "complex128"}
UNITS = {DTYPES[name]: unit for name, unit in UNITS_BY_NAME.items() if name in DTYPES}


def to_mlx(array: Array, dtype: str, layout: str = "contiguous") -> Any:
    """An array of MLX's with these numbers. Its type is always named: MLX makes float32 of a double if nobody says otherwise."""
    if dtype not in DTYPES:
        raise ProgramError(f"MLX has no {dtype}; its one complex type is complex64")
    return lay_out(mx.array(np.asarray(array), dtype=DTYPES[dtype]), layout)


def lay_out(array: Any, layout: str) -> Any:
    """The same numbers as a view with strides of its own; layouts that MLX does not have leave the array as it is."""
    if layout == "transposed" and array.ndim > 1:
        return mx.swapaxes(mx.contiguous(mx.swapaxes(array, -1, -2)), -1, -2)
    if layout == "strided" and array.ndim:
        return mx.repeat(array, 2, axis=-1)[..., ::2]
    return array


def to_numpy(array: Any) -> Array:
    """The numbers, computed by now; bfloat16 comes as float32, since NumPy has none."""
    return np.array(array.astype(mx.float32) if array.dtype == mx.bfloat16 else array)


def floating(value: Any) -> list[Any]:
    """The floating arrays of a result, flattened."""
    found: list[Any] = []
    _flatten(value, found)
    return found


def _flatten(value: Any, found: list[Any]) -> None:
    if isinstance(value, mx.array):
        if value.dtype in UNITS:
            found.append(value)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _flatten(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _flatten(part, found)
