"""Calls made up from a signature, for derivatives that nobody called: tensors of a few shapes, and numbers where a name asks for one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import numpy as np

from gradfuzz.targets.base.attempts import COMMON
from gradfuzz.targets.base.probing import choices

SHAPES = ((3, 4), (4,), (3, 3), (2, 3, 4), (1, 2, 4, 4), ())
# So many calls are tried with each shape, those first that depart least from what names suggest.
MOST_CALLS = 12
# Stands for a tensor among the arguments.
TENSOR = object()
# What else an argument may be whose name says nothing.
UNNAMED = (TENSOR, 0.5, 2)
BY_TYPE = {"int": (1, 2), "float": (0.5,), "bool": (False, True)}
NO_TENSOR = "no tensor"  # the type of what is anything else: such an argument is a number by its name, or one of these
NUMBERED = (1, 0.5, True, None)
# Tables of base/probes.json that any tensor will do for.
_TENSORS = ("$tensor", "$matrix", "$vector", "$batch", "$scalar")

Draw = Callable[[tuple[int, ...], np.random.Generator], Any]
# Ordinary numbers; and those at which logarithms and roots are defined.
NUMBERS: tuple[Draw, ...] = (
    lambda shape, rng: np.asarray(rng.standard_normal(shape)),
    lambda shape, rng: np.asarray(rng.uniform(0.1, 0.9, shape)),
)


def calls(parameters: Sequence[inspect.Parameter], tensor: Callable[[Any], Any]) -> Iterator[tuple[Any, ...]]:
    """Arguments to try, one tuple after the other; `tensor` makes one of numbers. Each has a tensor."""
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not needed:
        return
    combinations = [c for c in choices([options(p) for p in needed], MOST_CALLS) if TENSOR in c]
    for draw in NUMBERS:
        for shape in SHAPES:
            for chosen in combinations:
                rng = np.random.default_rng(len(chosen))
                yield tuple(tensor(draw(shape, rng)) if value is TENSOR else value for value in chosen)


def options(parameter: inspect.Parameter) -> list[Any]:
    """What an argument may be, by its type, else by its name."""
    kind = _kind(parameter)
    if kind in BY_TYPE:
        return list(BY_TYPE[kind])
    found = list(dict.fromkeys(v for text in COMMON["parameters"].get(parameter.name, ()) for v in _read(text)))
    found += [value for value in (NUMBERED if kind == NO_TENSOR else UNNAMED) if value not in found]
    return [value for value in found if value is not TENSOR] if kind == NO_TENSOR else found


def no_tensor(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as one that takes no tensor."""
    return parameter if _kind(parameter) in BY_TYPE else parameter.replace(annotation=NO_TENSOR)


def _kind(parameter: inspect.Parameter) -> str:
    return str(getattr(parameter.annotation, "__name__", parameter.annotation))


def _read(text: str) -> list[Any]:
    if text.startswith("$"):
        return [TENSOR] if text in _TENSORS else []
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return []
    return [] if isinstance(value, list) else [value]


def finite(result: Any) -> bool:
    """Whether all numbers of a result are finite, as far as they can be read."""
    try:
        return all(bool(np.isfinite(np.asarray(leaf.detach() if hasattr(leaf, "detach") else leaf)).all()) for leaf in leaves(result))
    except (TypeError, ValueError, RuntimeError):
        return True


def has_tensor(result: Any) -> bool:
    """Whether there is a tensor among a function's results."""
    return next(leaves(result), None) is not None


def leaves(result: Any) -> Iterator[Any]:
    """What among a function's results looks like a tensor."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    elif isinstance(result, dict):
        yield from leaves(list(result.values()))
    elif hasattr(result, "shape") and hasattr(result, "dtype"):
        yield result
