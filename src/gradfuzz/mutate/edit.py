"""An edit: a small named change, as data; and a sort of edits: how it is drawn, how it is made, and what there is to try one by one.

A file in `sorts/` is a sort or several: whatever stands there under the name SORTS is found by looking.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Callable

from gradfuzz.program.model import DISCRETE, Call, Let, Program, Tensor
from gradfuzz.targets.base.protocol import Overload

# What a Program's call takes; see Target.parameters.
Menu = Callable[[str], list[Overload]]


def no_menu(func: str) -> list[Overload]:
    return []


@dataclass(frozen=True)
class Edit:
    """`kind` says what is changed, `where` which input or argument, `value` to what."""

    kind: str
    where: Any = None
    value: Any = None

    def to_json(self) -> list[Any]:
        return [self.kind, self.where, self.value]

    @staticmethod
    def from_json(data: list[Any]) -> Edit:
        kind, where, value = data
        return Edit(kind, where, value)


# The Program with an edit made at `where` to `value`, deterministically; None where it does not fit.
Apply = Callable[[Program, Any, Any], "Program | None"]


@dataclass(frozen=True)
class Factor:
    """One thing about a Program that can be varied, and the edit of each level that it can be at beside the seed's own."""

    name: str
    levels: tuple[tuple[str, Edit], ...]
    shared: bool = True  # another level costs a compilation where one does
    eager: frozenset[str] = frozenset()  # levels that meet those of other factors before all else, with nothing beside them
    single: frozenset[str] = frozenset()  # levels that meet none: beside them others would show nothing, or they beside others


def _no_factors(program: Program, menu: Menu) -> Iterable[Factor]:
    return ()


@dataclass(frozen=True)
class Sort:
    """One sort of edits. `draw` makes one that fits, or None; `kinds` says for each kind that it draws how the edit is made.

    `factors` says what there is to vary systematically, whatever chance would bring.
    """

    name: str
    weight: float  # how often it is drawn, against the others
    draw: Callable[[Program, random.Random, Menu], Edit | None]
    kinds: Mapping[str, Apply]
    shared: bool = True  # members of a family have it in common; else it is each one's own, or nothing to a compiler
    counted: Callable[[Any], str] | None = None  # by what of its value it is counted when a campaign learns what an API refuses
    factors: Callable[[Program, Menu], Iterable[Factor]] = _no_factors
    shortens: bool = False  # it takes a statement away: made before edits that say which statement they are of, it would mislead them


def on_input(change: Callable[[Tensor, Any], Tensor]) -> Apply:
    """An edit of the input `where`."""

    def run(program: Program, where: Any, value: Any) -> Program | None:
        recipe = program.inputs.get(where)
        return None if recipe is None else program.with_inputs({where: change(recipe, value)})

    return run


def on_call(change: Callable[[Call, Any], Call | None]) -> Apply:
    """An edit of the outermost call of the statement `where[0]`."""

    def run(program: Program, where: list[Any], value: Any) -> Program | None:
        statement = where[0]
        let = program.statements[statement] if statement < len(program.statements) else None
        if let is None or not isinstance(let.value, Call):
            return None
        changed = change(let.value, value)
        return None if changed is None else with_statement(program, statement, Let(let.names, changed))

    return run


def with_statement(program: Program, position: int, let: Let) -> Program:
    """The Program with another statement in a place."""
    return Program((*program.statements[:position], let, *program.statements[position + 1 :]))


def floating(program: Program) -> list[tuple[str, Tensor]]:
    """The floating inputs that edits may change."""
    return [(name, r) for name, r in program.inputs.items() if r.dtype not in DISCRETE and r.structure != "constant"]


def pick(program: Program, rng: random.Random) -> tuple[str, Tensor] | None:
    """One of the floating inputs."""
    inputs = floating(program)
    return rng.choice(inputs) if inputs else None
