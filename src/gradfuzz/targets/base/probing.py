"""Seeds from signatures: what the targets share of making up calls until one works.

What is tried is data (a target's probes.json): texts by the name of a parameter, in which `$name` stands for a tensor.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.program.parse import parse

_PLACE = re.compile(r"\$[a-z_0-9]+")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# An output that does not change at all under a relative shift of its inputs by this does not depend on them smoothly.
SHIFT = 2.0**-10


class Takes(NamedTuple):
    """What a Python function takes, by how it must be given."""

    required: list[str]
    named: list[str]  # required, and by name only: they end in `=`
    starred: list[str]
    optional: list[str]


def takes(function: Any) -> Takes | None:
    """From the signature; None where the function does not say."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    return Takes(
        [p.name for p in parameters if p.default is p.empty and p.kind in _POSITIONAL],
        [f"{p.name}=" for p in parameters if p.default is p.empty and p.kind == p.KEYWORD_ONLY],
        [p.name for p in parameters if p.kind == p.VAR_POSITIONAL],
        [p.name for p in parameters if p.default is not p.empty],
    )


def choices(options: Sequence[Sequence[Any]], most: int) -> list[tuple[Any, ...]]:
    """One of each of the options, at most so many: those with few departures from the first choices come first."""
    lengths = [len(o) for o in options]
    found: list[tuple[Any, ...]] = []
    for departures in range(sum(lengths) - len(lengths) + 1):
        for choice in _with_sum(lengths, departures):
            found.append(tuple(o[i] for o, i in zip(options, choice)))
            if len(found) >= most:
                return found
    return found


def _with_sum(lengths: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Tuples below the lengths with a given sum, in their order."""
    if not lengths:
        if total == 0:
            yield ()
        return
    rest = sum(lengths[1:]) - len(lengths[1:])
    for first in range(max(0, total - rest), min(lengths[0] - 1, total) + 1):
        for others in _with_sum(lengths[1:], total - first):
            yield (first, *others)


def filled(lines: Sequence[str], own: str, profile: str, tensors: Mapping[str, str]) -> str:
    """Program text: each place is a new input, `own` from the profile, others from the table of tensors."""
    inputs: list[str] = []

    def place(match: re.Match[str]) -> str:
        recipe = profile if match.group() == own else tensors[match.group()]
        if not recipe.startswith("tensor("):
            return _PLACE.sub(place, recipe)
        name = f"x{len(inputs)}"
        inputs.append(f"{name} = {recipe.replace('$seed', str(len(inputs) + 1))}")
        return name

    body = [_PLACE.sub(place, line) for line in lines]
    return "\n".join([*inputs, *body]) + "\n"


def parsed(text: str, target: Any) -> Program | None:
    """The Program behind a text; None if it is outside the language."""
    try:
        return parse(text, target.language)
    except ProgramError:
        return None


def nudged(x: Any) -> Any:
    """Each element moved in proportion to itself, by different amounts: many functions do not see a common factor."""
    amounts = np.cos(1.0 + np.arange(x.size)).reshape(x.shape)
    return np.asarray(x * (1 + SHIFT * (amounts * (1 + 1j) if x.dtype.kind == "c" else amounts)), x.dtype)


def moves(outputs: Sequence[Any], moved: Sequence[Any]) -> bool:
    """Whether outputs are finite, and others where the inputs are nudged."""
    ours, theirs = [np.asarray(o) for o in outputs], [np.asarray(o) for o in moved]
    if not all(np.isfinite(o).all() for o in ours) or [o.shape for o in ours] != [o.shape for o in theirs]:
        return False
    return any(bool((a != b).any()) for a, b in zip(ours, theirs))
