"""Other numbers in an input."""

from __future__ import annotations

import random
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Menu, Sort, on_input, pick
from gradfuzz.mutate.numbers import other_values
from gradfuzz.program.codec import values_from_json, values_to_json
from gradfuzz.program.model import Program


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    picked = pick(program, rng)
    if picked is None:
        return None
    name, recipe = picked
    return Edit("values", name, values_to_json(other_values(recipe.values, rng)))


SORTS = [Sort("values", 51, draw, {"values": on_input(lambda r, v: replace(r, values=values_from_json(v)))}, shared=False)]
