"""Which inputs are differentiated, which are one and the same tensor, and which are plain numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, floating, on_input
from gradfuzz.mutate.sorts.arguments import instead, outer_calls
from gradfuzz.program.codec import values_to_json
from gradfuzz.program.model import Expr, Let, Program, Ref, Tensor, rebuild

# A plain number in the place of a tensor: an ordinary one, one at the end of domains, and a truth value, which libraries take for a number
# of a type of its own.
PLAIN = (2.0, 0.0, True)
MOST_PLAIN = 2  # operators that take numbers take two operands


def _draw_grad(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    inputs = floating(program)
    if len(inputs) < 2:
        return None
    name, recipe = rng.choice(inputs)
    return Edit("grad", name, not recipe.grad)


def _grad_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each input constant while the others are differentiated, a number of Python's in its place, and one tensor in the place of two: any
    two of these would leave a function of two inputs with nothing to differentiate. A number is another operator to a library, with
    formulas and a promotion of types of its own."""
    inputs = floating(program)
    if len(inputs) > 1:
        # What comes last is a parameter more often than the first: it is held first.
        constant = [(name, Edit("grad", name, not recipe.grad)) for name, recipe in reversed(inputs)]
        plain = [(f"{name} {x}", Edit("plain", path, [name, x])) for path, name in _operands(program)[:MOST_PLAIN] for x in PLAIN]
        same = [(f"{a} is {b}", Edit("same_tensor", a, b)) for a, b in _pairs(program)]
        yield Factor("constant or same", tuple(constant + plain + same))


def _operands(program: Program) -> list[tuple[list[int], str]]:
    """(path, name) of every floating input that is an argument of a call by position, while another one is there to be differentiated."""
    inputs = dict(floating(program))
    if sum(recipe.grad for recipe in inputs.values()) < MOST_PLAIN:
        return []
    places = [(position, child, node) for position, call in outer_calls(program) for child, node in enumerate(call.args)]
    return [([position, child], node.name) for position, child, node in places if isinstance(node, Ref) and node.name in inputs]


def _draw_plain(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    places = _operands(program)
    if not places:
        return None
    path, name = rng.choice(places)
    return Edit("plain", path, [name, rng.choice((*PLAIN, 1.0, -0.5, 3.0))])


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


def _plain(program: Program, where: list[Any], value: list[Any]) -> Program | None:
    """A number in the place of an input, which goes where nobody else uses it."""
    return instead(program, where, *value)


SORTS = [
    Sort("grad", 5, _draw_grad, {"grad": on_input(lambda r, v: replace(r, grad=v))}, factors=_grad_factors),
    Sort("same", 2, _draw_same, {"same_tensor": _same_tensor}, factors=_same_factors),
    Sort("plain", 1, _draw_plain, {"plain": _plain}, counted=lambda value: str(value[0]), shortens=True),
]
