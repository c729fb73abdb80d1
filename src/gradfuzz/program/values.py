"""Numbers for recipes: named, seeded distributions and the wrappers that edits put around them.

Every draw comes from `numpy.random.default_rng(seed)`, so that a reproducer can make the same numbers with NumPy alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import COMPLEXES, EXPANDED, RANGES, Tensor, Values

Array = Any  # numpy.ndarray; its type parameters differ between the NumPy versions that targets bring

# How far inside its range a number is brought that was at the edge or beyond.
SMALL = 1e-3

NUMPY_DTYPES = {"bfloat16": "float32"}  # NumPy has no bfloat16: the target casts


def _rng(values: Values) -> Any:
    return np.random.default_rng(0 if values.seed is None else values.seed)


def _normal(v: Values, n: int) -> Array:
    loc, scale = (v.args + (0.0, 1.0)[len(v.args) :])[:2]
    return loc + scale * _rng(v).standard_normal(n)


def _uniform(v: Values, n: int) -> Array:
    low, high = (v.args + (0.0, 1.0)[len(v.args) :])[:2]
    return low + (high - low) * _rng(v).random(n)


def _integers(v: Values, n: int) -> Array:
    low, high = v.args
    return _rng(v).integers(low, high, n).astype(np.float64)


def _choice(v: Values, n: int) -> Array:
    options = np.array(v.args[0])
    return options[_rng(v).integers(0, len(options), n)]


def _full(v: Values, n: int) -> Array:
    return np.full(n, v.args[0])


def _arange(v: Values, n: int) -> Array:
    start, step = (v.args + (0.0, 1.0)[len(v.args) :])[:2]
    return start + step * np.arange(n)


def _listed(v: Values, n: int) -> Array:
    numbers = np.array(v.args[0])
    if numbers.size == n:
        return numbers
    if numbers.size == 0:
        return np.zeros(n)
    return np.resize(numbers, n)


def _onehot(v: Values, n: int) -> Array:
    out = np.zeros(n)
    if n:
        out[int(_rng(v).integers(0, n))] = 1.0
    return out


def _scaled(v: Values, n: int) -> Array:
    return draw(v.args[0], n) * v.args[1]


def _planted(v: Values, n: int) -> Array:
    base, value, every = v.args
    out = draw(base, n)
    out = out.astype(np.result_type(out, np.array(value)), copy=True)
    out[:: max(1, int(every))] = value
    return out


def _rounded(v: Values, n: int) -> Array:
    base, step = v.args
    drawn = draw(base, n)
    return np.round(drawn / step) * step


def _sorted(v: Values, n: int) -> Array:
    return np.sort(draw(v.args[0], n))


def _close(v: Values, n: int) -> Array:
    base, gap = v.args
    drawn = draw(base, n)
    return drawn[:1].repeat(n) + gap * np.arange(n) if n else drawn


def _positive(v: Values, n: int) -> Array:
    return np.abs(draw(v.args[0], n))


# kind -> (how to draw n numbers, number of leading arguments allowed, takes a seed)
KINDS: dict[str, tuple[Callable[[Values, int], Array], tuple[int, int], bool]] = {
    "normal": (_normal, (0, 2), True),
    "uniform": (_uniform, (0, 2), True),
    "integers": (_integers, (2, 2), True),
    "choice": (_choice, (1, 1), True),
    "onehot": (_onehot, (0, 0), True),
    "full": (_full, (1, 1), False),
    "arange": (_arange, (0, 2), False),
    "listed": (_listed, (1, 1), False),
    "scaled": (_scaled, (2, 2), False),
    "planted": (_planted, (3, 3), False),
    "rounded": (_rounded, (2, 2), False),
    "sorted": (_sorted, (1, 1), False),
    "close": (_close, (2, 2), False),
    "positive": (_positive, (1, 1), False),
}
WRAPPERS = ("scaled", "planted", "rounded", "sorted", "close", "positive")


def check_values(values: Values) -> Values:
    """Raise ProgramError unless the kind exists and has the arguments it needs."""
    if values.kind not in KINDS:
        raise ProgramError(f"unknown distribution {ascii(values.kind)[:60]}; use one of {', '.join(KINDS)}")
    _, (least, most), seeded = KINDS[values.kind]
    if not least <= len(values.args) <= most:
        raise ProgramError(f"{values.kind} takes {least} to {most} arguments, not {len(values.args)}")
    if values.seed is not None and not seeded:
        raise ProgramError(f"{values.kind} takes no seed")
    if values.seed is not None and (type(values.seed) is not int or not 0 <= values.seed < 2**63):
        raise ProgramError("a seed is a whole number from 0 to 2**63 - 1")
    for position, argument in enumerate(values.args):
        wants_values = values.kind in WRAPPERS and position == 0
        wants_list = values.kind in ("choice", "listed")
        if wants_values != isinstance(argument, Values) or wants_list != isinstance(argument, tuple):
            raise ProgramError(f"argument {position + 1} of {values.kind} is of the wrong kind")
        if wants_values:
            check_values(argument)
        else:
            _check_numbers(argument if wants_list else (argument,))
    if values.kind == "choice" and not values.args[0]:
        raise ProgramError("choice needs at least one number to choose from")
    if values.kind == "integers" and not (type(values.args[0]) is type(values.args[1]) is int and values.args[0] < values.args[1]):
        raise ProgramError("integers takes two whole numbers, the lower one first")
    if values.kind == "planted" and (isinstance(values.args[2], complex) or not 1 <= values.args[2] <= MAX_ELEMENTS):
        raise ProgramError("planted says at every how many numbers: a whole number from 1 on")
    return values


def _check_numbers(numbers: tuple[Any, ...]) -> None:
    """Numbers, the whole ones among them such as fit into 64 bits: others NumPy keeps as objects."""
    for number in numbers:
        if type(number) not in (bool, int, float, complex) or (type(number) is int and not -(2**63) <= number < 2**63):
            raise ProgramError("distributions take numbers, whole ones of 64 bits at most")


def draw(values: Values, count: int) -> Array:
    """`count` numbers, float64 or complex128."""
    return KINDS[values.kind][0](values, count)


@lru_cache(maxsize=4096)
def materialise(recipe: Tensor) -> Array:
    """The recipe's numbers as a read-only C-ordered NumPy array. bfloat16 comes as float32."""
    count = recipe.elements
    if recipe.dtype in COMPLEXES:
        numbers = draw(recipe.values, 2 * count)
        if np.iscomplexobj(numbers):
            numbers = numbers[:count]
        else:
            numbers = _paired(numbers[:count], numbers[count:])
    else:
        numbers = draw(recipe.values, count)
        if np.iscomplexobj(numbers):
            numbers = numbers.real
    array = impose(np.asarray(numbers).reshape(recipe.shape), recipe.structure)
    if recipe.expanded:
        array = np.broadcast_to(array[:1], recipe.shape)
    with np.errstate(all="ignore"):
        array = np.ascontiguousarray(array, dtype=NUMPY_DTYPES.get(recipe.dtype, recipe.dtype)).reshape(recipe.shape)
    array.setflags(write=False)
    return array


def _paired(real: Array, imaginary: Array) -> Array:
    """Complex numbers of two parts, as they are: i times infinity is NaN + infinity i to NumPy."""
    numbers = np.empty(len(real), dtype=complex)
    numbers.real, numbers.imag = real, imaginary
    return numbers


@lru_cache(maxsize=4096)
def magnitude(recipe: Tensor) -> float:
    """The size of the recipe's largest number; see size_of."""
    return size_of(materialise(recipe))


def size_of(array: Array) -> float:
    """The largest absolute value, or 1 where there is none to go by: steps are taken in proportion to it."""
    largest = float(np.abs(array).max()) if array.size else 0.0
    return largest if 0 < largest < 1e300 else 1.0


def impose(array: Array, structure: str | None) -> Array:
    """The nearest natural array that has the structure."""
    if structure in RANGES:
        return _in_range(array, structure)
    if structure is None or (structure != "simplex" and (array.ndim < 2 or array.shape[-1] != array.shape[-2])):
        return array
    if structure == "symmetric":
        return (array + array.conj().swapaxes(-1, -2)) / 2
    if structure == "positive_definite":
        # Already positive definite (a recorded sample): leave it; else make it so.
        symmetric = (array + array.conj().swapaxes(-1, -2)) / 2
        if symmetric.size and np.array_equal(symmetric, array) and np.linalg.eigvalsh(symmetric).min() > 0:
            return array
        return array @ array.conj().swapaxes(-1, -2) / max(1, array.shape[-1]) + np.eye(array.shape[-1])
    if structure == "lower":
        return np.tril(array)
    if structure == "upper":
        return np.triu(array)
    weights = np.abs(array) + (array == 0) * 1e-3
    return weights / weights.sum(axis=-1, keepdims=True) if array.ndim else weights


def _in_range(array: Array, structure: str) -> Array:
    """Numbers that lie where they should stay; others are brought there."""
    if array.dtype.kind == "c" or not array.size or structure in ("real", "constant"):
        return array
    if structure == "sorted":
        return np.sort(array, axis=-1) if array.ndim else array
    if structure == "positive":
        return np.where(array > 0, array, np.abs(array) + (array == 0) * SMALL)
    with np.errstate(all="ignore"):
        inside = np.abs(array) % 1.0
    return np.where((array > 0) & (array < 1), array, np.clip(np.where(np.isfinite(inside), inside, 0.5), SMALL, 1 - SMALL))


def keeping(array: Array, structure: str | None) -> Array:
    """The nearest natural array that has all the structures that are named one after the other (`Tensor.kept`)."""
    for name in (structure or "").split():
        array = _one_slice(array) if name == EXPANDED else impose(array, name)
    return array


def project(direction: Array, structure: str | None) -> Array:
    """The part of a direction that stays inside the structure, or inside several that are named one after the other."""
    for name in () if structure is None or direction.ndim == 0 else structure.split():
        direction = _projected(direction, name)
    return direction


def _projected(direction: Array, structure: str) -> Array:
    if structure in RANGES:
        return direction
    if structure == EXPANDED:
        return _one_slice(direction)
    if structure == "simplex":
        return direction - direction.mean(axis=-1, keepdims=True)
    if direction.ndim < 2 or direction.shape[-1] != direction.shape[-2]:
        return direction
    if structure in ("symmetric", "positive_definite"):
        return np.asarray((direction + direction.conj().swapaxes(-1, -2)) / 2)
    return np.tril(direction) if structure == "lower" else np.triu(direction)


def _one_slice(direction: Array) -> Array:
    """Every slice the same: of each number that they share the first one that moves."""
    if not direction.size:
        return direction
    first = np.take_along_axis(direction, (direction != 0).argmax(axis=0)[None], axis=0)
    return np.array(np.broadcast_to(first, direction.shape))
