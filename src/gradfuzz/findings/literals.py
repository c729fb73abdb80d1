"""A recipe's numbers as they stand in a short script: nested lists, written out."""

from __future__ import annotations

import math
from typing import Any

from gradfuzz.program import Program
from gradfuzz.program.model import FLOATS, Tensor, Values
from gradfuzz.program.text import number_text
from gradfuzz.program.values import materialise

# More numbers than this nobody reads, and a line of more characters nobody pastes.
MOST_NUMBERS, MOST_CHARACTERS = 64, 240
# So many are written out even where they only count.
FEW = 8
COUNTING = Values("arange", (1.0, 1.0))


def counts(recipe: Tensor) -> int:
    """How far a tensor counts from one, where writing that out would be long; else nothing."""
    plain = recipe.values == COUNTING and recipe.structure is None and recipe.dtype in FLOATS
    return recipe.elements if plain and recipe.elements > FEW else 0


def literal(recipe: Tensor) -> str:
    """The recipe's array as nested lists, or a number."""
    return _nested(materialise(recipe).tolist())


def first_slice(recipe: Tensor) -> str:
    """What an expanded tensor repeats; nothing for any other."""
    return _nested(materialise(recipe)[:1].tolist()) if recipe.layout == "expanded" and recipe.shape else ""


def too_long(program: Program) -> bool:
    """Whether an input has more numbers than can be written out."""
    return any(not r.elements or (not counts(r) and _too_long(r)) for r in program.inputs.values())


def _too_long(recipe: Tensor) -> bool:
    return recipe.elements > MOST_NUMBERS or len(literal(recipe)) > MOST_CHARACTERS


def _nested(numbers: Any) -> str:
    if isinstance(numbers, list):
        return f"[{', '.join(map(_nested, numbers))}]"
    if isinstance(numbers, complex) and all(math.isfinite(part) and part for part in (numbers.real, numbers.imag)):
        return repr(numbers)[1:-1]  # 1+2j; a zero's sign would be lost
    return number_text(numbers) if isinstance(numbers, (float, complex)) else str(numbers)
