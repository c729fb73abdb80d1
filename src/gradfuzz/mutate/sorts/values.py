"""Other numbers in an input."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, floating, on_input, pick
from gradfuzz.mutate.numbers import kinds_of_many, kinds_of_matrices, kinds_of_numbers, other_values
from gradfuzz.program.codec import values_from_json, values_to_json
from gradfuzz.program.model import Program

# Beyond the first few inputs of a Program (weights, biases, statistics) pairs of numbers are left to chance.
MOST_VARIED = 3
# Where formulas fail: at the ends of domains, which an input often reaches only where another is at one, and where squares overflow, which
# takes narrower types than double for most functions.
EAGER = frozenset({"zeros", "ones", "huge"})
# For the reference alone: what is asked about these numbers is told by nothing else.
SINGLE = frozenset({"beside zero", "past overflow"})


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    picked = pick(program, rng)
    if picked is None:
        return None
    name, recipe = picked
    return Edit("values", name, values_to_json(other_values(recipe.values, rng)))


def factors(program: Program, menu: Menu) -> Iterator[Factor]:
    for name, recipe in floating(program)[:MOST_VARIED]:
        many = kinds_of_many(recipe.values, recipe.elements)
        kinds = {**kinds_of_numbers(recipe.values), **many, **kinds_of_matrices(recipe.shape)}
        levels = tuple((kind, Edit("values", name, values_to_json(v))) for kind, v in kinds.items())
        yield Factor(f"numbers of {name}", levels, shared=False, eager=EAGER, single=SINGLE)


SORTS = [Sort("values", 51, draw, {"values": on_input(lambda r, v: replace(r, values=values_from_json(v)))}, shared=False, factors=factors)]
