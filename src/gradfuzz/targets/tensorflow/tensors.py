"""Arrays and TensorFlow's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.targets.base.dtypes import UNITS as UNITS_BY_NAME

Array = Any
BFLOAT16 = tf.bfloat16.as_numpy_dtype
UNITS = {tf.as_dtype(name): unit for name, unit in UNITS_BY_NAME.items()}


def tensors(arrays: Sequence[Array]) -> list[Any]:
    return [tf.constant(a) for a in arrays]


def of_dtype(array: Array, dtype: str) -> Array:
    """The array in a type by name; what overflows it does so silently."""
    with np.errstate(all="ignore"):
        return np.asarray(array, BFLOAT16 if dtype == "bfloat16" else dtype)


def flatten(value: Any) -> list[Any]:
    """Floating tensors inside tuples, lists, dicts, sparse and ragged tensors, in order."""
    return [tf.convert_to_tensor(leaf) for leaf in leaves_of(value) if tf.as_dtype(leaf.dtype) in UNITS]


def leaves_of(value: Any) -> list[Any]:
    """All that has a type inside tuples, lists, dicts, sparse and ragged tensors, in order."""
    return [leaf for leaf in tf.nest.flatten(value, expand_composites=True) if hasattr(leaf, "dtype")]
