"""Arrays back to recipes: short where a distribution will do, listed where the numbers themselves matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Values

MAX_LISTED = 400
SHORT_INTEGERS = 64


def values_of(array: Any, seed: int, exact: bool = False) -> Values:
    """Values for arrays like this one. `exact`: for this very one, up to four digits."""
    if array.size == 0:
        return Values("full", (0.0,))
    if array.dtype.kind in "biu":
        return _integers(array, seed)
    if not np.isfinite(array).all() or (exact and array.size <= MAX_LISTED) or _is_special(array):
        return _listed(array)
    if array.dtype.kind == "c":
        return Values(
            "uniform", (_inward(min(array.real.min(), array.imag.min()), 1), _inward(max(array.real.max(), array.imag.max()), -1)), seed
        )
    return Values("uniform", (_inward(float(array.min()), 1), _inward(float(array.max()), -1)), seed)


def _is_special(array: Any) -> bool:
    """Whether these numbers have a pattern that a distribution would lose: whole numbers, zeros, ties, symmetry."""
    if array.size > MAX_LISTED:
        return False
    if (array == 0).any() or (array == np.round(array)).all() or np.unique(array).size < array.size:
        return True
    return bool(array.ndim >= 2 and array.shape[-1] == array.shape[-2] and np.allclose(array, array.conj().swapaxes(-1, -2)))


def _listed(array: Any) -> Values:
    flat = array.ravel()
    if flat.size > MAX_LISTED:
        raise ProgramError(f"a special tensor of {flat.size} elements is too long to list")
    if array.dtype.kind == "c":
        return Values("listed", (tuple(complex(_short(z.real), _short(z.imag)) for z in flat),))
    return Values("listed", (tuple(_short(float(x)) for x in flat),))


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def _integers(array: Any, seed: int) -> Values:
    flat = array.ravel()
    if flat.size <= SHORT_INTEGERS or (array.dtype.kind == "b" and flat.size <= MAX_LISTED):
        return Values("listed", (tuple(int(x) for x in flat),))
    return Values("integers", (int(flat.min()), int(flat.max()) + 1), seed)


def _inward(number: float, sign: int) -> float:
    """Two digits, rounded towards the inside of the range, so that a domain is not left."""
    if number == 0:
        return 0.0
    step = 10.0 ** (np.floor(np.log10(abs(number))) - 1)
    rounded = np.ceil(number / step) * step if sign > 0 else np.floor(number / step) * step
    return float(f"{rounded:.2g}")
