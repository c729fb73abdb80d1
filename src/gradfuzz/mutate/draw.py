"""Drawing edits: which change to make to a seed, by seeded chance."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from gradfuzz.mutate.edit import Edit, Menu, Sort, no_menu
from gradfuzz.mutate.edits import SORTS, apply, counted_as
from gradfuzz.program.model import Program

# An edit that its API is known to refuse is drawn again, so often at most.
REDRAWS = 3

# What the members of a family have in common, and what is each one's own.
SHARED = [sort for sort in SORTS if sort.shared]
(VALUES,) = [sort for sort in SORTS if sort.name == "values"]
(LAYOUTS,) = [sort for sort in SORTS if sort.name == "layout"]

Weights = Mapping[str, float]  # by what edits are counted as: how often it should be kept when drawn; 1 where nothing is known


def draw_edits(program: Program, rng: random.Random, menu: Menu = no_menu, weights: Weights | None = None) -> list[Edit]:
    """One to three edits that fit the Program."""
    edits: list[Edit] = []
    for _ in range(1 + (rng.random() < 0.35) + (rng.random() < 0.12)):
        edit = draw_edit(program, rng, menu, weights or {})
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    return edits


def draw_relative(
    program: Program, family: int, shared: random.Random, own: random.Random, menu: Menu = no_menu, weights: Weights | None = None,
    layouts: bool = False,
) -> list[Edit]:  # fmt: skip
    """Edits of one member of a family: what changes shapes, types and arguments comes from `shared`, the numbers from `own`.

    Family 0 keeps the seed's own shapes, and so do some others. Memory layouts are left out where a compiler chooses its own; where it
    compiles for those that it is given (`layouts`), they are shared.
    """
    sorts = [*SHARED, LAYOUTS] if layouts else SHARED
    edits: list[Edit] = []
    (count,) = shared.choices((0, 1, 2), (0.25, 0.6, 0.15)) if family else (0,)
    for _ in range(count):
        edit = _kept(program, shared, sorts, menu, weights)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    for _ in range(1 + (own.random() < 0.35)):
        edit = VALUES.draw(program, own, menu)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    return edits


def draw_edit(program: Program, rng: random.Random, menu: Menu = no_menu, weights: Weights | None = None) -> Edit | None:
    """One edit; None where the kind drawn has nothing to change."""
    return _kept(program, rng, SORTS, menu, weights)


def _kept(program: Program, rng: random.Random, sorts: Sequence[Sort], menu: Menu, weights: Weights | None) -> Edit | None:
    edit = None
    for _ in range(REDRAWS):
        (sort,) = rng.choices(sorts, [s.weight for s in sorts])
        edit = sort.draw(program, rng, menu)
        if edit is None or not weights or rng.random() < weights.get(counted_as(edit), 1.0):
            break
    return edit
