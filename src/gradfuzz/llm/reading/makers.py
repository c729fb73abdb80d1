"""Calls that make tensors from numbers, as recipes: `normal(*size)` says what a call draws and what its arguments are."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.reading.meanings import Code, Known, Meaning, Path, Recipe, known_items
from gradfuzz.program.model import DISCRETE, DTYPES, Values
from gradfuzz.targets.base.dtypes import wide

MOST_LISTED = 4096  # numbers written down one by one
# Single precision is what one gets who says nothing: rounding comes in with edits, so seeds are in double precision.
_HABITS = ("float32", "complex64")

Given = dict[str, Meaning]


class Unread(Exception):
    """A call that looks like a maker and cannot be read as one: it stays a call of the library."""


def arguments_of(spec: str, args: list[Meaning], named: Given, idioms: Idioms) -> tuple[str, Given]:
    """(what is made, its arguments by our names)."""
    kind, _, rest = spec.partition("(")
    places = [place.strip() for place in rest.rstrip(")").split(",") if place.strip()]
    given: Given = {}
    for position, place in enumerate(places):
        if place.startswith("*"):
            spread = args[position:]
            given[place[1:]] = spread[0] if len(spread) == 1 else Known(tuple(_whole(a) for a in spread)) if spread else Known(())
            break
        if position < len(args):
            given[place] = args[position]
    if (
        kind in ("arange", "integers")
        and places[0] in given
        and places[1:2]
        and places[1] not in given
        and not _named(named, places[1], idioms)
    ):
        given[places[1]] = given.pop(places[0])  # range(n), randint(n): the one number is the end
    for place in (*(p.lstrip("*") for p in places), "dtype"):
        found = _named(named, place, idioms)
        if found is not None:
            given[place] = found
    if kind == "integers" and len(args) == 2 and isinstance(known_items(args[1]), Known) and not isinstance(_value(given, "high"), int):
        given["high"], given["size"] = given.get("low", Known(2)), args[1]
        given.pop("low", None)
    return kind, given


def _named(named: Given, place: str, idioms: Idioms) -> Meaning | None:
    return next((named[word] for word in idioms.keywords.get(place, [place]) if word in named), None)


def make(kind: str, given: Given, idioms: Idioms, seed: int, of: Recipe | None = None) -> Recipe | Code:
    """The recipe; Unread where the call's arguments do not say enough. `of`: the tensor whose method makes it."""
    like = given.get("like", of)
    if kind == "data":
        return _data(given, idioms)
    if kind == "cast":
        base = given.get("data")
        if isinstance(base, Code) or (isinstance(base, Recipe) and base.name):
            raise Unread  # of something that is computed with already: the library does it
        return _data(given, idioms)
    if kind in ("positive", "sorted"):
        base = _data(given, idioms)
        if isinstance(base, Recipe):
            return Recipe(base.shape, base.dtype, Values(kind, (base.values,)), base.grad)
        raise Unread
    if kind in ("linspace", "logspace", "arange", "eye"):
        array = _array(kind, given)
        return _of_array(array, _dtype(given, idioms, _default(array, idioms)))
    shape = like.shape if isinstance(like, Recipe) and "size" not in given else _shape(given.get("size", Known(())))
    dtype = _dtype(given, idioms, like.dtype if isinstance(like, Recipe) else "int64" if kind == "integers" else _single(idioms))
    return Recipe(shape, dtype, _drawn(kind, given, seed), of.grad if of is not None else None)


def _drawn(kind: str, given: Given, seed: int) -> Values:
    if kind in ("zeros", "ones"):
        return Values("full", (0.0 if kind == "zeros" else 1.0,))
    if kind == "full":
        return Values("full", (_number(given, "value", 0.0),))
    if kind == "integers":
        low, high = _number(given, "low", 0), _number(given, "high", 2)
        if type(low) is not int or type(high) is not int or low >= high:
            raise Unread
        return Values("integers", (low, high), seed)
    if kind == "uniform":
        return Values("uniform", (float(_number(given, "low", 0.0)), float(_number(given, "high", 1.0))), seed)
    if kind == "normal":
        return Values("normal", (float(_number(given, "loc", 0.0)), float(_number(given, "scale", 1.0))), seed)
    raise Unread


def _data(given: Given, idioms: Idioms) -> Recipe | Code:
    """What an array is made of: numbers that stand there, another array, or something computed, which is looked through."""
    data = known_items(given.get("data", Known(None)))
    if isinstance(data, Code):
        return data
    if isinstance(data, Recipe):
        dtype = _dtype(given, idioms, data.dtype)
        return data if dtype == data.dtype else Recipe(data.shape, dtype, data.values, data.grad)
    if not isinstance(data, Known) or data.value is None or isinstance(data.value, (str, slice)):
        raise Unread
    array = numbers(data.value)
    return _of_array(array, _dtype(given, idioms, _default(array, idioms)), given.get("size"))


def numbers(value: Any) -> Any:
    """Nested lists as an array; ProgramError if rows differ in length or there are too many numbers."""
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        raise ProgramError("the rows of a tensor differ in length") from None
    if array.dtype.kind not in "biufc" or array.size > MOST_LISTED:
        raise ProgramError(f"a tensor is written as numbers, {MOST_LISTED} at most; draw larger ones from a distribution")
    return array


def _of_array(array: Any, dtype: str, size: Meaning | None = None) -> Recipe:
    shape = tuple(int(n) for n in array.shape) if size is None else _shape(size)
    flat = [complex(x) if array.dtype.kind == "c" else float(x) if array.dtype.kind == "f" else int(x) for x in array.ravel()]
    if not flat:
        return Recipe(shape, dtype, Values("full", (0.0,)))
    if len(set(map(repr, flat))) == 1:
        return Recipe(shape, dtype, Values("full", (flat[0],)))
    return Recipe(shape, dtype, Values("listed", (tuple(flat),)))


def _array(kind: str, given: Given) -> Any:
    if kind == "eye":
        rows = _count(given, "n", 1)
        return np.eye(rows, _count(given, "m", rows))
    if kind == "arange":
        start, stop, step = _number(given, "start", 0), _number(given, "stop", 0), _number(given, "step", 1)
        if step == 0 or not 0 <= (stop - start) / step <= MOST_LISTED:
            raise ProgramError(f"a range of more than {MOST_LISTED} numbers is too long")
        return np.arange(start, stop, step)
    ends = float(_number(given, "start", 0.0)), float(_number(given, "stop", 1.0))
    space = np.linspace if kind == "linspace" else np.logspace
    return np.array([float(f"{x:.12g}") for x in space(*ends, _count(given, "num", 50))])


def _default(array: Any, idioms: Idioms) -> str:
    return {"b": "bool", "i": "int64", "u": "int64", "c": "complex128"}.get(array.dtype.kind, _single(idioms))


def _single(idioms: Idioms) -> str:
    """The type of a tensor whose text does not say."""
    return "float64" if idioms.wide else "float32"


def _count(given: Given, key: str, otherwise: int) -> int:
    count = _number(given, key, otherwise)
    if type(count) is not int or not 0 <= count <= MOST_LISTED:
        raise ProgramError(f"{count!r} is no number of elements up to {MOST_LISTED}")
    return count


def _value(given: Given, key: str) -> Any:
    found = known_items(given[key]) if key in given else None
    return found.value if isinstance(found, Known) else None


def _number(given: Given, key: str, otherwise: float) -> Any:
    if key not in given:
        return otherwise
    value = _value(given, key)
    if type(value) not in (bool, int, float, complex):
        raise Unread
    return value


def _whole(meaning: Meaning) -> int:
    found = known_items(meaning)
    if not isinstance(found, Known) or type(found.value) is not int:
        raise Unread
    return found.value


def _shape(meaning: Meaning) -> tuple[int, ...]:
    found = known_items(meaning)
    value = found.value if isinstance(found, Known) else None
    if value is None and isinstance(found, Known):
        return ()
    sizes = (value,) if type(value) is int else value
    if not isinstance(sizes, (tuple, list)) or not all(type(n) is int for n in sizes):
        raise Unread
    if any(n < 0 for n in sizes):
        raise ProgramError(f"shape {str(tuple(sizes))[:60]} has a negative size")
    return tuple(sizes)


def reshaped(shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """What `reshape` makes of a shape, with one -1 worked out; None where it does not fit."""
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    if sizes.count(-1) == 1:
        rest = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
        sizes = tuple(count // rest if n == -1 else n for n in sizes) if rest else sizes
    return sizes if all(n >= 0 for n in sizes) and int(np.prod(sizes, dtype=np.int64)) == count else None


def dtype_of(meaning: Meaning | None, idioms: Idioms) -> str | None:
    """The element type that a name or a word stands for."""
    word = meaning.name.rpartition(".")[2] if isinstance(meaning, Path) else meaning.value if isinstance(meaning, Known) else None
    if not isinstance(word, str):
        return None
    word = idioms.dtypes.get(word, word)
    return word if word in DTYPES else None


def _dtype(given: Given, idioms: Idioms, otherwise: str) -> str:
    if "dtype" not in given or (isinstance(given["dtype"], Known) and given["dtype"].value is None):
        return otherwise
    found = dtype_of(given["dtype"], idioms)
    if found is None:
        raise Unread
    return settled(found, idioms)


def settled(dtype: str, idioms: Idioms) -> str:
    """The type that an input gets: single precision is mostly written out of habit."""
    return wide(dtype) if idioms.wide and dtype in _HABITS else dtype


def is_whole(recipe: Recipe) -> bool:
    return recipe.dtype in DISCRETE
