"""What an array shows of its domain: its range and its structure, without its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.program.model import Values

Array = Any

# A sum of probabilities is one up to its rounding, which may be that of single precision.
CLOSE = 1e-5
# Fewer numbers are in order, or between zero and one, by chance.
FEW = 4
# Ordinary numbers are drawn anew; what is further out keeps its range.
ORDINARY = 10.0
# Bounds are told to so many digits.
DIGITS = 2
LARGEST_WHOLE = 2**31


def values_like(array: Array, seed: int) -> tuple[Values, str | None]:
    """Other numbers of the same kind, and what all of them are."""
    if array.dtype.kind in "biu":
        if array.dtype.kind == "b" or not array.size:
            return Values("integers", (0, 2), seed), None
        least, most = int(array.min()), int(array.max())
        fits = least > -LARGEST_WHOLE and most < LARGEST_WHOLE
        return Values("integers", (least, most + 1) if fits else (0, 2), seed), None
    if array.dtype.kind == "c" or not array.size or not np.isfinite(array).all():
        return Values("normal", (), seed), None
    structure = structure_of(array)
    low, high = float(array.min()), float(array.max())
    if structure in ("unit", "simplex"):
        return Values("uniform", (0.05, 0.95), seed), structure
    if structure == "positive" or (structure == "sorted" and low > 0):
        return Values("uniform", _bounds(low, high), seed), structure
    if structure is None and max(abs(low), abs(high)) > ORDINARY:
        return Values("uniform", _bounds(low, high), seed), None
    return Values("normal", (), seed), structure


def structure_of(array: Array) -> str | None:
    """The first of these that the array has: a structured matrix, probabilities, order, a range."""
    if array.ndim >= 2 and array.shape[-1] == array.shape[-2] > 1:
        found = _matrix(array)
        if found:
            return found
    if array.ndim and array.shape[-1] > 1 and bool((array >= 0).all()) and bool((np.abs(array.sum(axis=-1) - 1) <= CLOSE).all()):
        return "simplex"
    if array.ndim and array.shape[-1] >= FEW and bool((np.diff(array, axis=-1) > 0).all()):
        return "sorted"
    if array.size >= FEW and bool(((array >= 0) & (array <= 1)).all()):
        return "unit"
    return "positive" if bool((array > 0).all()) else None


def _matrix(array: Array) -> str | None:
    if not array.any():
        return None
    if np.array_equal(array, array.swapaxes(-1, -2)):
        return "positive_definite" if bool((np.linalg.eigvalsh(array) > 0).all()) else "symmetric"
    if not np.triu(array, 1).any():
        return "lower"
    return "upper" if not np.tril(array, -1).any() else None


def _bounds(low: float, high: float) -> tuple[float, float]:
    """A range that has something in it."""
    low, high = float(f"{low:.{DIGITS}g}"), float(f"{high:.{DIGITS}g}")
    return (low, high) if low < high else (low / 2, 2 * low) if low > 0 else (low - 1.0, low + 1.0)
