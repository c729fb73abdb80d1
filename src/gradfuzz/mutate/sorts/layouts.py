"""Another memory layout of an input. A compiler chooses its own, so that it means nothing to members of a family."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, floating, on_input, pick
from gradfuzz.program.model import LAYOUTS, Program, Tensor

OF_MATRICES = ("symmetric", "positive_definite", "lower", "upper")


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    picked = pick(program, rng)
    if picked is None:
        return None
    options = [layout for layout in ("transposed", "strided", "offset", "expanded", "channels_last", "negated") if _fits(picked[1], layout)]
    if picked[1].dtype.startswith("complex"):
        options += ["conjugated"] * 3
    return Edit("layout", picked[0], rng.choice(options))


def factors(program: Program, menu: Menu) -> Iterator[Factor]:
    for name, recipe in floating(program)[:1]:
        layouts = tuple(layout for layout in LAYOUTS[1:] if _fits(recipe, layout))
        yield Factor("layout", tuple((layout, Edit("layout", name, layout)) for layout in layouts), shared=False)


def _fits(recipe: Tensor, layout: str) -> bool:
    """Rows that share their memory are equal, and a matrix of equal rows is not the one that it was made to be."""
    return layout != "expanded" or recipe.structure not in OF_MATRICES


SORTS = [Sort("layout", 6, draw, {"layout": on_input(lambda r, v: replace(r, layout=v))}, shared=False, counted=str, factors=factors)]
