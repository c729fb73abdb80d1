"""Drawing edits: which change to make to a seed, by seeded chance."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Callable

from gradfuzz.mutate.arguments import Menu, draw_argument, draw_dropped, draw_naming, draw_option, no_menu
from gradfuzz.mutate.edits import Edit, apply
from gradfuzz.mutate.numbers import other_values
from gradfuzz.program.codec import values_to_json
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import DISCRETE, Program, Tensor

MAX_EDITS = 3
MUTANT_ELEMENTS = min(MAX_ELEMENTS, 2**16)
# An edit that its API is known to refuse is drawn again, so often at most.
REDRAWS = 3

Weights = Mapping[str, float]  # by an edit's name: how often it should be kept when drawn; 1 where nothing is known


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
    program: Program, family: int, shared: random.Random, own: random.Random, menu: Menu = no_menu, weights: Weights | None = None
) -> list[Edit]:
    """Edits of one member of a family: what changes shapes, types and arguments comes from `shared`, the numbers from `own`.

    Family 0 keeps the seed's own shapes, and so do some others. Memory layouts are left out: a compiler chooses its own.
    """
    edits: list[Edit] = []
    (count,) = shared.choices((0, 1, 2), (0.25, 0.6, 0.15)) if family else (0,)
    for _ in range(count):
        edit = _kept(program, shared, _SHARED_KINDS, _SHARED_WEIGHTS, menu, weights)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    for _ in range(1 + (own.random() < 0.35)):
        edit = _draw_values(program, own)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    return edits


def draw_edit(program: Program, rng: random.Random, menu: Menu = no_menu, weights: Weights | None = None) -> Edit | None:
    """One edit; None where the kind drawn has nothing to change."""
    return _kept(program, rng, _KINDS, _WEIGHTS, menu, weights)


def _kept(program: Program, rng: random.Random, kinds: list[str], chances: list[int], menu: Menu, weights: Weights | None) -> Edit | None:
    edit = None
    for _ in range(REDRAWS):
        (kind,) = rng.choices(kinds, chances)
        edit = _DRAW[kind](program, rng, menu)
        if edit is None or not weights or rng.random() < weights.get(edit.name, 1.0):
            break
    return edit


def _floats(program: Program) -> list[tuple[str, Tensor]]:
    return [(name, r) for name, r in program.inputs.items() if r.dtype not in DISCRETE]


def _pick(program: Program, rng: random.Random) -> tuple[str, Tensor] | None:
    inputs = _floats(program)
    return rng.choice(inputs) if inputs else None


def _draw_values(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    picked = _pick(program, rng)
    if picked is None:
        return None
    name, recipe = picked
    return Edit("values", name, values_to_json(other_values(recipe.values, rng)))


# Types, layouts, shapes ----------------------------------------------------------------------------------------------


def _draw_dtype(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    to = rng.choice(("float32", "float32", "complex128", "complex128", "float16", "bfloat16", "complex64"))
    if rng.random() < 0.7:
        return Edit("dtypes", None, to)
    picked = _pick(program, rng)
    if rng.random() < 0.4:
        to = rng.choice(("int64", "int32", "uint8", "int8", "bool"))
    return Edit("dtype", picked[0], to) if picked else None


def _draw_layout(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    picked = _pick(program, rng)
    if picked is None:
        return None
    options = ["transposed", "strided", "offset", "expanded", "channels_last", "negated"]
    if picked[1].dtype.startswith("complex"):
        options += ["conjugated"] * 3
    return Edit("layout", picked[0], rng.choice(options))


def _draw_size(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    sizes = sorted({n for r in program.inputs.values() for n in r.shape})
    if not sizes:
        return None
    old = rng.choice(sizes)
    new = rng.choice([n for n in (0, 0, 1, 1, 2, 3, 4, 6, old + 1, max(0, old - 1)) if n != old])
    return _bounded(program, Edit("size", old, new))


def _draw_shape(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
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
    return _bounded(program, Edit("shape", name, shape)) if len(shape) < 8 else None


def _draw_rank(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    return _bounded(program, Edit("batch", None, rng.choice((1, 2, 3, 0)))) if rng.random() < 0.7 else Edit("unbatch")


def _bounded(program: Program, edit: Edit) -> Edit | None:
    """The edit, unless its mutant would be too large to be worth its time."""
    elements = sum(r.elements for r in apply(program, edit).inputs.values())
    return edit if elements <= MUTANT_ELEMENTS else None


def _draw_grad(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    inputs = _floats(program)
    if len(inputs) < 2:
        return None
    name, recipe = rng.choice(inputs)
    return Edit("grad", name, not recipe.grad)


def _draw_same(program: Program, rng: random.Random, menu: Menu = no_menu) -> Edit | None:
    if any(call.func.endswith("_") for call in program.calls()):
        return None  # an in-place call that reads what it overwrites promises nothing
    inputs = _floats(program)
    pairs = [(a, b) for a, r in inputs for b, s in inputs if a != b and r.shape == s.shape and r.dtype == s.dtype]
    return Edit("same_tensor", *rng.choice(pairs)) if pairs else None


_DRAW: dict[str, Callable[[Program, random.Random, Menu], Edit | None]] = {
    "values": _draw_values, "dtype": _draw_dtype, "layout": _draw_layout, "size": _draw_size, "shape": _draw_shape,
    "rank": _draw_rank, "grad": _draw_grad, "same": _draw_same, "argument": draw_argument, "dropped": draw_dropped,
    "option": draw_option, "naming": draw_naming,
}  # fmt: skip
_KINDS = list(_DRAW)
_WEIGHTS = [51, 11, 6, 8, 3, 2, 5, 2, 7, 2, 5, 1]
# What the members of a family have in common.
_SHARED_KINDS = [kind for kind in _KINDS if kind not in ("values", "layout")]
_SHARED_WEIGHTS = [weight for kind, weight in zip(_KINDS, _WEIGHTS) if kind in _SHARED_KINDS]
