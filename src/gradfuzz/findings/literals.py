"""A recipe's numbers as they stand in a short script: nested lists, written out."""

from __future__ import annotations

from typing import Any

from gradfuzz.program import Program
from gradfuzz.program.model import Tensor
from gradfuzz.program.text import number_text
from gradfuzz.program.values import materialise

# More numbers than this nobody reads, and a line of more characters nobody pastes.
MOST_NUMBERS, MOST_CHARACTERS = 64, 160


def literal(recipe: Tensor) -> str:
    """The recipe's array as nested lists, or a number."""
    return _nested(materialise(recipe).tolist())


def too_long(program: Program) -> bool:
    """Whether an input has more numbers than can be written out."""
    return any(r.elements > MOST_NUMBERS or not r.elements or len(literal(r)) > MOST_CHARACTERS for r in program.inputs.values())


def _nested(numbers: Any) -> str:
    if isinstance(numbers, list):
        return f"[{', '.join(map(_nested, numbers))}]"
    return number_text(numbers) if isinstance(numbers, (float, complex)) else str(numbers)
