"""Another memory layout of an input. A compiler chooses its own, so that it means nothing to members of a family."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, floating, on_input, pick
from gradfuzz.program.model import LAYOUTS, Program


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    picked = pick(program, rng)
    if picked is None:
        return None
    options = ["transposed", "strided", "offset", "expanded", "channels_last", "negated"]
    if picked[1].dtype.startswith("complex"):
        options += ["conjugated"] * 3
    return Edit("layout", picked[0], rng.choice(options))


def factors(program: Program, menu: Menu) -> Iterator[Factor]:
    for name, _ in floating(program)[:1]:
        yield Factor("layout", tuple((layout, Edit("layout", name, layout)) for layout in LAYOUTS[1:]), shared=False)


SORTS = [Sort("layout", 6, draw, {"layout": on_input(lambda r, v: replace(r, layout=v))}, shared=False, counted=str, factors=factors)]
