"""A Program bound to a library: its inputs as arrays, its calls as closures. Nothing has run yet."""

from __future__ import annotations

from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DISCRETE, Program, Tensor
from gradfuzz.program.values import magnitude, materialise, size_of
from gradfuzz.targets.base.evaluate import Compiler, Steps, Thunk

Array = Any


class Binding:
    """Inputs by what is done to them, in the Program's order.

    `names`, `structures` (what directions keep: `Tensor.kept`) and `scales` speak of the differentiable inputs, whose numbers are in
    `leaves`; `fixed` are floating inputs that stay where they are, `constants` indices, masks and the like. A target turns arrays into its
    own tensors by the three hooks.
    """

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        self.names: list[str] = []
        self.structures: list[str | None] = []
        self.scales: list[float] = []
        self.leaves: list[Any] = []
        self.fixed: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.steps: Steps = []
        self.constructors: list[tuple[str, Thunk]] = []  # of modules, which are made once
        self._replaced = replaced = iter(arrays) if arrays is not None else None
        for statement in program.statements:
            value = statement.value
            if not isinstance(value, Tensor):
                _, thunk, constructs = compiler.statement(statement)
                if constructs and len(statement.names) == 1:
                    self.constructors.append((statement.names[0], thunk))
                else:
                    self.steps.append((statement.names, thunk))
            elif value.differentiable:
                array = materialise(value) if replaced is None else next(replaced)
                scale = magnitude(value) if replaced is None else size_of(array)
                self.add_leaf(statement.names[0], self.leaf(array, value), value.kept, scale)
            elif value.dtype in DISCRETE:
                self.constants[statement.names[0]] = self.constant(materialise(value), value)
            else:
                self.fixed[statement.names[0]] = self.leaf(materialise(value), value)
        if not self.steps:
            raise ProgramError("the Program calls nothing; write at least one call")

    @property
    def made(self) -> list[str]:
        return [name for name, _ in self.constructors]

    def leaf(self, array: Array, recipe: Tensor) -> Any:
        """A floating input as the target keeps it."""
        return array

    def constant(self, array: Array, recipe: Tensor) -> Any:
        """Indices and masks as the target keeps them: part of the function where it is compiled."""
        return self.leaf(array, recipe)

    def add_leaf(self, name: str, leaf: Any, structure: str | None, scale: float) -> None:
        """A further differentiable input: a module's parameter comes after the Program's own."""
        self.names.append(name)
        self.structures.append(structure)
        self.scales.append(scale)
        self.leaves.append(leaf)

    def replacement(self, otherwise: Array) -> Array:
        """The next of the numbers that were given in place of the Program's own; `otherwise` where none were."""
        return otherwise if self._replaced is None else next(self._replaced)
