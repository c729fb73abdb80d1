"""Values by themselves: a distribution or numbers, as a model writes them beside a Program."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.llm.reading.expressions import Expressions
from gradfuzz.llm.reading.idioms import Idioms, idioms_for
from gradfuzz.llm.reading.meanings import Known, known_items
from gradfuzz.program.model import Values
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import default_target

MOST_TEXT = 20_000


@lru_cache(maxsize=1)
def _idioms() -> Idioms:
    return idioms_for(default_target())  # of no matter which library: values name none


def distribution(text: str) -> Values:
    """`uniform(-1, 1)`, with arguments by name where the language has them by place. ProgramError for anything else."""
    reader = Expressions(_idioms())
    node = reader.distribution(_expression(text), {})
    made = parse(f'x = tensor((1,), "float64", {ast.unparse(node)})', reader.idioms.language).statements[0].value
    values: Values = made.values
    return values


def plain(text: str) -> Any:
    """Numbers and lists of them, with a little arithmetic."""
    found = known_items(Expressions(_idioms()).value(_expression(text), {}))
    if not isinstance(found, Known):
        raise ProgramError(f"{ascii(text)[1:-1][:60]} is neither a distribution nor numbers")
    return found.value


def _expression(text: str) -> ast.expr:
    if len(text) > MOST_TEXT:
        raise ProgramError(f"a text of {len(text)} characters is too long for values")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ProgramError(f"{ascii(text)[1:-1][:60]} is neither a distribution nor numbers") from None
