"""The same calls at what people compute with: ordinary numbers, one floating type, nothing empty.

Shrinking goes towards zero and towards nothing at all, so the smallest example says little about where a bug shows. Its neighbours do.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from gradfuzz.findings.inside.controls import parameter_names, separated
from gradfuzz.findings.inside.shrink import LARGEST, SMALLEST
from gradfuzz.program.model import COMPLEXES, DISCRETE, Program, Tensor, Values
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.homes import homes

# Numbers that most functions are defined at: of both signs, within the unit interval, above it.
RANGES = ((-2.0, 2.0), (0.1, 0.9), (1.1, 2.9))
# Where there are fewer numbers than these, more of them are drawn in turn: one number alone misses half of the branches of a range.
ENOUGH = 4
# A probability or a quantile is one of these wherever the others are.
SHARE = (0.1, 0.9)
# What stands for such a number where functions are tried out by the names of their parameters (probes.json).
UNIT = "$unit"
# A dimension without elements becomes as long as this: the least that has neighbours of its own.
FILLED = 2
LARGEST_LABEL = 16
NARROW = ("int16", "int8", "uint8")  # beside floating numbers these are numbers, too; indices and masks are wider or truth values


def is_ordinary(program: Program) -> bool:
    """Whether a Program is what people compute with already: one floating type, ordinary numbers, nothing empty."""
    floating = {name: r for name, r in program.inputs.items() if r.dtype not in DISCRETE}
    numbers = [np.abs(materialise(r)) for r in floating.values()]
    sizes = all(bool(((n >= SMALLEST) & (n <= LARGEST)).all()) for n in numbers)
    return sizes and len({r.dtype for r in floating.values()}) <= 1 and all(r.elements for r in program.inputs.values())


def neighbours(program: Program, shares: Container[str] = ()) -> Iterator[Program]:
    """Ordinary versions of a Program, a handful; indices, masks, structure and arguments stay what they are, and `shares` shares of one.
    What stands in two places of a call are two tensors: equal arguments are a point.
    """
    while (apart := separated(program)) is not None:
        program = apart
    floating = {recipe.dtype for recipe in program.inputs.values()} - {*DISCRETE}
    dtype = "complex128" if floating and floating <= {*COMPLEXES} else "float64"
    names = list(program.inputs)
    numbers = max((math.prod(_filled(recipe.shape)) for recipe in program.inputs.values() if recipe.differentiable), default=ENOUGH)
    draws = math.ceil(ENOUGH / numbers)
    for draw, (turn, (low, high)) in product(range(draws), enumerate(RANGES)):
        # In the second range the inputs have each other's places: of two, now the one is larger and now the other.
        seeds = dict(zip(names[::-1] if turn == 1 else names, range(draw * len(names), (draw + 1) * len(names))))
        ranges = {name: SHARE if name in shares else (low, high) for name in names}
        changes = {name: _ordinary(recipe, *ranges[name], seeds[name], dtype) for name, recipe in program.inputs.items()}
        yield program.with_inputs(changes)


def shares_of_one(target: Target, program: Program) -> frozenset[str]:
    """Inputs that are probabilities or quantiles by the names of their parameters, as the target's probes.json has them."""
    known = homes()[target.name].data("probes").get("parameters", {}) if target.name in homes() else {}
    return frozenset(name for name, parameter in parameter_names(target, program).items() if list(known.get(parameter, ()))[:1] == [UNIT])


def _ordinary(recipe: Tensor, low: float, high: float, seed: int, dtype: str) -> Tensor:
    shape = _filled(recipe.shape)
    if recipe.dtype in DISCRETE and recipe.dtype not in NARROW:
        return replace(recipe, shape=shape)
    if _is_labels(recipe):
        return replace(recipe, shape=shape, dtype=dtype)
    return replace(recipe, shape=shape, dtype=dtype, values=Values("uniform", (low, high), seed))


def _filled(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n or FILLED for n in shape)


def _is_labels(recipe: Tensor) -> bool:
    """Whether floating numbers that nobody differentiates are labels, classes or signs: whole and small, none of them zero."""
    if recipe.differentiable or recipe.dtype in DISCRETE or not recipe.elements:
        return False
    numbers = np.abs(materialise(recipe))
    return bool(((numbers == np.round(numbers)) & (numbers >= 1) & (numbers <= LARGEST_LABEL)).all())
