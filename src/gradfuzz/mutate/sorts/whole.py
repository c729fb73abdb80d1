"""Other whole numbers or truth values in an input: indices, labels, lengths, masks.

They stay between the least and the greatest that are there: beyond them nobody knows what they index, and libraries do not always look.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, on_input
from gradfuzz.program.codec import values_from_json, values_to_json
from gradfuzz.program.model import DISCRETE, Program, Tensor, Values
from gradfuzz.program.values import materialise

# Beyond the first few inputs of a Program, and for more numbers than a mutant is to list, they stay as they are.
MOST_VARIED = 2
MOST_LISTED = 256
# Where all indices are one, what is read twice gets two gradients, and what is written twice is written over.
EAGER = frozenset({"the least"})


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    choices = [(name, values) for name, recipe in _discrete(program) for values in kinds_of_whole_numbers(recipe).values()]
    if not choices:
        return None
    name, values = rng.choice(choices)
    return Edit("whole", name, values_to_json(values))


def factors(program: Program, menu: Menu) -> Iterator[Factor]:
    for name, recipe in _discrete(program)[:MOST_VARIED]:
        kinds = kinds_of_whole_numbers(recipe)
        levels = tuple((kind, Edit("whole", name, values_to_json(v))) for kind, v in kinds.items())
        yield Factor(f"numbers of {name}", levels, eager=EAGER)


def kinds_of_whole_numbers(recipe: Tensor) -> dict[str, Values]:
    """Each kind once: one alone in all places, what was there the other way round, and anything between."""
    if not 0 < recipe.elements <= MOST_LISTED:
        return {}
    numbers = [int(n) for n in materialise(recipe).ravel()]
    least, greatest = min(numbers), max(numbers)
    if least == greatest:
        return {}
    between = tuple(range(least, min(greatest, least + MOST_LISTED) + 1))
    kinds = {
        "the least": Values("full", (least,)), "the greatest": Values("full", (greatest,)),
        "the other way round": Values("listed", (tuple(reversed(numbers)),)), "drawn anew": Values("choice", (between,), 7),
    }  # fmt: skip
    return {kind: v for kind, v in kinds.items() if v != Values("listed", (tuple(numbers),))}


def _discrete(program: Program) -> list[tuple[str, Tensor]]:
    return [(name, r) for name, r in program.inputs.items() if r.dtype in DISCRETE and r.structure != "constant"]


SORTS = [Sort("whole", 3, draw, {"whole": on_input(lambda r, v: replace(r, values=values_from_json(v)))}, factors=factors)]
