"""Other sizes, shapes and ranks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradfuzz.mutate.edit import Apply, Edit, Factor, Menu, Sort, on_input
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Program

# Of the sizes of a Program so many are varied systematically.
MOST_SIZES = 3
# Rows that a tall matrix has more than columns: formulas that count one along the other are right by chance for one more.
TALLER = 2
MATRIX = 2  # dimensions
# Of the inputs of a Program so many get a rank that the others do not have: what comes behind them are weights, which have theirs.
MOST_RANKED = 2
MOST_DIMENSIONS = 8
MUTANT_ELEMENTS = min(MAX_ELEMENTS, 2**16)


def _size(program: Program, where: int, value: int) -> Program | None:
    """Every dimension of the size `where` becomes `value`: sizes that are equal are so for a reason."""
    changes = {}
    for name, recipe in program.inputs.items():
        if where in recipe.shape:
            changes[name] = replace(recipe, shape=tuple(value if n == where else n for n in recipe.shape))
    return program.with_inputs(changes)


def _batch(program: Program, where: Any, value: int) -> Program | None:
    """A new leading dimension on every input."""
    return program.with_inputs(
        {n: replace(r, shape=(value, *r.shape)) for n, r in program.inputs.items() if len(r.shape) < MOST_DIMENSIONS}
    )


def _unbatch(program: Program, where: Any, value: Any) -> Program | None:
    return program.with_inputs({n: replace(r, shape=r.shape[1:]) for n, r in program.inputs.items() if r.shape})


def _draw_size(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    sizes = sorted({n for r in program.inputs.values() for n in r.shape})
    if not sizes:
        return None
    old = rng.choice(sizes)
    new = rng.choice([n for n in (0, 0, 1, 1, 2, 3, 4, 6, old + 1, max(0, old - 1)) if n != old])
    return _bounded(program, Edit("size", old, new))


def _draw_shape(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    """One input alone changes: broadcasting partners, a rank more or less, one dimension more or less."""
    inputs = list(program.inputs.items())
    if not inputs:
        return None
    name, recipe = rng.choice(inputs)
    shape = list(recipe.shape)
    roll = rng.random()
    if shape and roll < 0.5:
        shape[rng.randrange(len(shape))] = rng.choice((1, 1, 0, 2, 3, 5))
    elif shape and roll < 0.7:
        del shape[0]
    else:
        shape.insert(0, rng.choice((1, 2)))
    return _bounded(program, Edit("shape", name, shape)) if len(shape) < MOST_DIMENSIONS else None


def _draw_rank(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    return _bounded(program, Edit("batch", None, rng.choice((1, 2, 3, 0)))) if rng.random() < 0.7 else Edit("unbatch")


def _factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """The size classes: a number, nothing, one element, one more, another dimension; a tall matrix and a wide one; each input spread over
    the others, and one that has a dimension more or less than they."""
    inputs = program.inputs
    sizes = sorted({n for r in inputs.values() for n in r.shape})
    levels = [(f"{old} to {new}", Edit("size", old, new)) for old in sizes[:MOST_SIZES] for new in (0, 1, old + 1) if new != old]
    levels += [("batched", Edit("batch", None, 2)), ("unbatched", Edit("unbatch"))]
    levels += [(f"{name} a number", Edit("shape", name, [])) for name, r in inputs.items() if r.shape]
    if len(inputs) > 1:
        levels += [(f"{name} spread", Edit("shape", name, [1] * len(r.shape))) for name, r in inputs.items() if r.elements > 1]
        levels += _of_other_rank(program)
    levels += _oblong(program)
    yield Factor("size", tuple(level for level in levels if _bounded(program, level[1])))


def _of_other_rank(program: Program) -> list[tuple[str, Edit]]:
    """A batch of one input beside a single one of the other, and a vector where there was a matrix: formulas that hold for one rank
    transpose, count or sum along the wrong dimension of another. A batch of as many as there are rows, since a matrix beside it may be
    taken for a batch of vectors."""
    ranked = list(program.inputs.items())[:MOST_RANKED]
    more = [(f"{name} batched", Edit("shape", name, [r.shape[0], *r.shape])) for name, r in ranked if 0 < len(r.shape) < MOST_DIMENSIONS]
    return more + [(f"{name} without its last", Edit("shape", name, list(r.shape[:-1]))) for name, r in ranked if len(r.shape) > 1]


def _oblong(program: Program) -> list[tuple[str, Edit]]:
    """The one matrix of a Program as a tall one and as a wide one; of two neither fits the other any more."""
    matrices = [(name, r.shape) for name, r in program.inputs.items() if len(r.shape) == MATRIX]
    if len(matrices) != 1 or any(r.structure is not None for r in program.inputs.values()):
        return []
    (name, (rows, columns)), side = matrices[0], min(matrices[0][1])
    tall = [("tall", Edit("shape", name, [side + TALLER, side]))] if side and rows < columns + TALLER else []
    wide = [("wide", Edit("shape", name, [side, side + TALLER]))] if side and columns < rows + TALLER else []
    return tall + wide


_APPLY: dict[str, Apply] = {
    "size": _size, "shape": on_input(lambda r, v: replace(r, shape=tuple(v))), "batch": _batch, "unbatch": _unbatch,
}  # fmt: skip


def _bounded(program: Program, edit: Edit) -> Edit | None:
    """The edit, unless its mutant would be too large to be worth its time."""
    changed = _APPLY[edit.kind](program, edit.where, edit.value)
    elements = sum(r.elements for r in (changed or program).inputs.values())
    return edit if elements <= MUTANT_ELEMENTS else None


SORTS = [
    Sort("size", 8, _draw_size, {"size": _APPLY["size"]}, factors=_factors),
    Sort("shape", 3, _draw_shape, {"shape": _APPLY["shape"]}),
    Sort("rank", 2, _draw_rank, {"batch": _APPLY["batch"], "unbatch": _APPLY["unbatch"]}),
]
