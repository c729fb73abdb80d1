"""The smallest example as a person would give it: a tensor for each argument, two or three numbers, inside the documented domain.

Shrinking stops at what is smallest. What is tried here is larger, and taken if it shows the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from gradfuzz.findings.inside.controls import separated
from gradfuzz.findings.inside.documented import says
from gradfuzz.findings.inside.neighbours import shares_of_one
from gradfuzz.findings.inside.shrink import Predicate, tried
from gradfuzz.program.model import DISCRETE, Call, Let, Program, Tensor, Values
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import Target

# So many numbers in place of one.
FEW = (3, 2)
COUNTING = Values("arange", (1.0, 1.0))
MOST_SIZES = 2  # arguments of a call that say shapes
# A matrix is half empty where the docstring has this word.
TRIANGULAR = "triangular"


def presentable(target: Target, api: str, program: Program, shows: Predicate) -> Program:
    """The example with each of these changes that still shows the bug."""

    def holds(candidate: Program) -> bool:
        return tried(candidate, shows)

    apart = separated(program)
    if apart is not None and holds(apart):
        program = _alone(apart, holds)
    program = next(filter(holds, _plain_integers(program)), program)
    program = next(filter(holds, _larger(program)), program)
    if says(target, api, TRIANGULAR):
        program = next(filter(holds, _triangular(program)), program)
    return next(filter(holds, _within_one(program, shares_of_one(target, program))), program)


def _alone(program: Program, shows: Predicate) -> Program:
    """With one of the inputs differentiated, if that is enough."""
    moving = [name for name, recipe in program.inputs.items() if recipe.differentiable]
    fewer = ({name: replace(program.inputs[name], grad=False) for name in moving if name != kept} for kept in moving)
    return next((p for p in map(program.with_inputs, fewer) if shows(p)), program)


def _plain_integers(program: Program) -> Iterator[Program]:
    """What stands in the place of numbers as the integers that people have, not as truth values or narrow ones."""
    odd = {name: r for name, r in program.inputs.items() if r.discrete and r.grad and r.dtype != "int64"}
    if odd:
        yield program.with_inputs({name: replace(recipe, dtype="int64") for name, recipe in odd.items()})


def _larger(program: Program) -> Iterator[Program]:
    """Nothing but single numbers becomes vectors; dimensions of one become longer."""
    inputs = program.inputs
    if not inputs or any(recipe.elements > 1 or recipe.structure is not None for recipe in inputs.values()):
        return
    for size in FEW:
        grown = program.with_inputs({name: in_shape(recipe, (*recipe.shape[:-1], size)) for name, recipe in inputs.items()})
        yield grown
        yield from _with_sizes(grown, size)
    yield program.with_inputs({name: in_shape(recipe, (FEW[-1],) * len(recipe.shape)) for name, recipe in inputs.items()})


def _with_sizes(program: Program, size: int) -> Iterator[Program]:
    """Arguments that say a shape or its strides, and said nothing of a single number."""
    for position, statement in enumerate(program.statements):
        call = statement.value
        places = [n for n, value in enumerate(call.args) if value == ()] if isinstance(call, Call) else []
        for sizes in product(((size - 1,), (1,)), repeat=len(places)) if 0 < len(places) <= MOST_SIZES else ():
            args = list(call.args)
            for place, given in zip(places, sizes):
                args[place] = given
            changed = Let(statement.names, replace(call, args=tuple(args)))
            larger = Program((*program.statements[:position], changed, *program.statements[position + 1 :]))
            for short in (n for n, r in larger.inputs.items() if r.shape == (size,)):
                cut = replace(larger.inputs[short], shape=(size - 1,), values=COUNTING)
                yield larger.with_inputs({short: cut})


def in_shape(recipe: Tensor, shape: tuple[int, ...]) -> Tensor:
    """In a larger shape; indices count, floating numbers count on from theirs."""
    first, size = materialise(recipe).ravel()[0], math.prod(shape)
    if recipe.dtype == "bool":
        return replace(recipe, shape=shape, values=Values("full", (bool(first),)))
    if recipe.dtype in DISCRETE:
        return replace(recipe, shape=shape, values=Values("listed", (tuple(range(size)),)))
    return replace(recipe, shape=shape, values=Values("listed", (tuple((first + np.arange(size)).tolist()),)))


def _within_one(program: Program, shares: Collection[str]) -> Iterator[Program]:
    """Probabilities between zero and one: elsewhere there is no such distribution, and nobody would look at what it shows."""
    outer = {
        name: recipe for name, recipe in program.inputs.items()
        if name in shares and recipe.dtype not in DISCRETE and ((n := materialise(recipe).real) <= 0).any() | (n >= 1).any()
    }  # fmt: skip
    if outer:
        spread = {name: (np.arange(1, r.elements + 1) / (r.elements + 1)).tolist() for name, r in outer.items()}
        yield program.with_inputs({name: replace(r, values=Values("listed", (tuple(spread[name]),))) for name, r in outer.items()})


def _triangular(program: Program) -> Iterator[Program]:
    """Square matrices with nothing above the diagonal, or nothing below it."""
    for name, recipe in program.inputs.items():
        if recipe.dtype in DISCRETE or recipe.structure is not None or len(recipe.shape) < 2 or recipe.shape[-1] != recipe.shape[-2]:
            continue
        array = materialise(recipe)
        for half in (np.tril, np.triu):
            numbers = half(array)
            if not (numbers == array).all():
                yield program.with_inputs({name: replace(recipe, values=Values("listed", (tuple(numbers.ravel().tolist()),)))})
