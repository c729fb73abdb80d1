"""What a model's Program may ask for, checked before anything runs: memory, dimensions, types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradfuzz.llm.refused import LIMITS, TYPES, Refused
from gradfuzz.program.model import DISCRETE, Call, Expr, Program, Tensor, walk

# Sizes and whole numbers among the arguments stay below: whatever a call makes of one of them is of that size at least.
DIMENSION = 1000
# Megabytes of all tensors together, as they come and as one call may multiply them.
MEMORY = 4096
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex128": 16, "complex64": 8, "int64": 8, "int32": 4, "int16": 2}
_KEEP = "a parameter set keeps what is floating floating, and what is an index or a mask that"


@dataclass(frozen=True)
class Limits:
    """How much a Program may take."""

    memory: int = MEMORY
    dimension: int = DIMENSION

    def check(self, program: Program) -> None:
        """Refused if the Program is over a limit, or has nothing that could be differentiated."""
        inputs = program.inputs
        for name, recipe in inputs.items():
            if any(size >= self.dimension for size in recipe.shape):
                raise Refused(LIMITS, f"{name} has shape {recipe.shape}; every dimension has to be under {self.dimension}")
        held = sum(bytes_of(recipe) for recipe in inputs.values())
        self._fits(held, "the tensors together")
        largest = max((bytes_of(recipe) for recipe in inputs.values()), default=8)
        for call in program.calls():
            self._call(call, max(largest, 8))
        if not any(recipe.differentiable for recipe in inputs.values()):
            raise Refused(TYPES, "no input is a floating tensor to be differentiated; make one of float64 with grad=True")

    def _call(self, call: Call, largest: int) -> None:
        whole = [n for argument in (*call.args, *(v for _, v in call.kwargs)) for n in _whole(argument)]
        for number in whole:
            if abs(number) >= self.dimension:
                raise Refused(
                    LIMITS, f"the whole number {number} in {call.func}: sizes are under {self.dimension}; write a value as {number}.0"
                )
        self._fits(float(np.prod([float(max(1, abs(n))) for n in whole])) * 8, f"what {call.func} makes")
        if call.func.rpartition(".")[2] in _REPEATING:
            self._fits(float(np.prod([float(max(1, abs(n))) for n in whole])) * largest, f"what {call.func} makes")

    def _fits(self, count: float, what: str) -> None:
        if count > self.memory * 2**20:
            raise Refused(LIMITS, f"{what} may take {count / 2**20:.0f} MB; the limit is {self.memory} MB")


# Methods and functions by their last name that make copies as many times as they are told.
_REPEATING = frozenset(("repeat", "expand", "tile", "repeat_interleave"))


def _whole(node: Expr) -> list[int]:
    """Whole numbers of an argument itself, not of the calls inside it."""
    if isinstance(node, Call):
        return []
    return [part for part in walk(node) if type(part) is int]


def bytes_of(recipe: Tensor) -> int:
    return recipe.elements * _BYTES.get(recipe.dtype, 1)


def check_types(before: Program, after: Program) -> None:
    """Refused if a parameter set changes what an input is for."""
    for name, recipe in after.inputs.items():
        was = before.inputs.get(name)
        if was is not None and (was.dtype in DISCRETE) != (recipe.dtype in DISCRETE):
            raise Refused(TYPES, f"{name} was {was.dtype} and became {recipe.dtype}; {_KEEP}")
