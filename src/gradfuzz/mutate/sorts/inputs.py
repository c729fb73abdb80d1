"""Which inputs are differentiated, and which are one and the same tensor."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, floating, on_input
from gradfuzz.program.codec import values_to_json
from gradfuzz.program.model import Expr, Let, Program, Ref, Tensor, rebuild


def _draw_grad(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    inputs = floating(program)
    if len(inputs) < 2:
        return None
    name, recipe = rng.choice(inputs)
    return Edit("grad", name, not recipe.grad)


def _grad_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each input constant while the others are differentiated, and one tensor in the place of two: both at once would leave a function of
    two inputs with nothing to differentiate."""
    inputs = floating(program)
    if len(inputs) > 1:
        # What comes last is a parameter more often than the first: it is held first.
        constant = [(name, Edit("grad", name, not recipe.grad)) for name, recipe in reversed(inputs)]
        yield Factor("constant or same", tuple(constant + [(f"{a} is {b}", Edit("same_tensor", a, b)) for a, b in _pairs(program)]))


def _draw_same(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    if any(call.func.endswith("_") for call in program.calls()):
        return None  # an in-place call that reads what it overwrites promises nothing
    pairs = _alike(program)
    return Edit("same_tensor", *rng.choice(pairs)) if pairs else None


def _alike(program: Program) -> list[tuple[str, str]]:
    inputs = floating(program)
    return [(a, b) for a, r in inputs for b, s in inputs if a != b and r.shape == s.shape and r.dtype == s.dtype]


def _pairs(program: Program) -> list[tuple[str, str]]:
    """Inputs that may be one."""
    in_place = any(call.func.endswith("_") for call in program.calls())
    return [] if in_place else [(a, b) for a, b in _alike(program) if a < b]


def _same_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Two inputs with equal numbers, which is a matter of numbers alone."""
    equal = [(f"{a} = {b}", Edit("values", b, values_to_json(program.inputs[a].values))) for a, b in _pairs(program)]
    if equal:
        yield Factor("equal", tuple(equal), shared=False)


def _same_tensor(program: Program, where: str, value: str) -> Program | None:
    """Uses of the input `value` become uses of the input `where`: one tensor passed twice."""

    def change(node: Expr) -> Expr:
        return Ref(where) if isinstance(node, Ref) and node.name == value else rebuild(node, change)

    if where not in program.inputs or value not in program.inputs:
        return None
    kept = [s for s in program.statements if not (isinstance(s.value, Tensor) and s.names == (value,))]
    return Program(tuple(s if isinstance(s.value, Tensor) else Let(s.names, change(s.value)) for s in kept))


SORTS = [
    Sort("grad", 5, _draw_grad, {"grad": on_input(lambda r, v: replace(r, grad=v))}, factors=_grad_factors),
    Sort("same", 2, _draw_same, {"same_tensor": _same_tensor}, factors=_same_factors),
]
