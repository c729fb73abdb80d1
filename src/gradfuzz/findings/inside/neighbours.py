"""The same calls at what people compute with: ordinary numbers, one floating type, nothing empty.

Shrinking goes towards zero and towards nothing at all, so the smallest example says little about where a bug shows. Its neighbours do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.findings.inside.shrink import LARGEST, SMALLEST
from gradfuzz.program.model import DISCRETE, Program, Tensor, Values
from gradfuzz.program.values import materialise

# Numbers that most functions are defined at: of both signs, within the unit interval, above it.
RANGES = ((-2.0, 2.0), (0.1, 0.9), (1.1, 2.9))
# A dimension without elements becomes as long as this: the least that has neighbours of its own.
FILLED = 2
NARROW = ("int16", "int8", "uint8")  # beside floating numbers these are numbers, too; indices and masks are wider or truth values


def is_ordinary(program: Program) -> bool:
    """Whether a Program is what people compute with already: one floating type, ordinary numbers, nothing empty."""
    floating = {name: r for name, r in program.inputs.items() if r.dtype not in DISCRETE}
    numbers = [np.abs(materialise(r)) for r in floating.values()]
    sizes = all(bool(((n >= SMALLEST) & (n <= LARGEST)).all()) for n in numbers)
    return sizes and len({r.dtype for r in floating.values()}) <= 1 and all(r.elements for r in program.inputs.values())


def neighbours(program: Program) -> Iterator[Program]:
    """Ordinary versions of a Program, a handful; indices, masks, structure and arguments stay what they are."""
    for low, high in RANGES:
        changes = {name: _ordinary(recipe, low, high, seed) for seed, (name, recipe) in enumerate(program.inputs.items())}
        yield program.with_inputs(changes)


def _ordinary(recipe: Tensor, low: float, high: float, seed: int) -> Tensor:
    shape = tuple(n or FILLED for n in recipe.shape)
    if recipe.dtype in DISCRETE and recipe.dtype not in NARROW:
        return replace(recipe, shape=shape)
    return replace(recipe, shape=shape, dtype="float64", values=Values("uniform", (low, high), seed))
