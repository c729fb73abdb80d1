"""What holds of element types whatever the library: their rounding units, their names, the wider ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

Array = Any
DOUBLE_UNIT = 2.0**-52
UNITS = {
    "float64": DOUBLE_UNIT, "complex128": DOUBLE_UNIT, "float32": 2.0**-23, "complex64": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
}  # fmt: skip
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


def wide(dtype: str) -> str:
    """The type in double precision; itself if it is no lower one."""
    return _WIDE.get(dtype, dtype)


@lru_cache(maxsize=64)
def dtype_name(dtype: Any) -> str:
    """float64 and so on. NumPy spells a name out anew each time, which takes as long as a small op."""
    return str(dtype).rpartition(".")[2]


def as_seen(array: Any) -> Array:
    """An array as the oracles see it: NumPy has no bfloat16 (to it that is a void), and all of its numbers are float32's too."""
    found = np.asarray(array)
    return found.astype(np.float32) if found.dtype.kind == "V" else found


def as_double(array: Array) -> Array:
    """Real numbers of a lower precision as doubles, so that sums of them lose nothing more."""
    return array if array.dtype.itemsize >= 8 else array.astype(np.float64)
