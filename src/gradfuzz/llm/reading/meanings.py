"""What a piece of somebody's Python stands for, as far as it can be told without running it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Union

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Tensor, Values


@dataclass
class Known:
    """A value that stands in the text: a number, a string, None, or a tuple or list of such."""

    value: Any


@dataclass
class Path:
    """A name of the library, of NumPy or of math, in full."""

    name: str


@dataclass
class Recipe:
    """A tensor made from numbers: an input of the Program once something is computed from it."""

    shape: tuple[int, ...]
    dtype: str
    values: Values
    grad: bool | None = None  # None: the text does not say
    layout: str = "contiguous"
    structure: str | None = None
    name: str = ""  # as an input; empty until it is one
    hint: str = ""  # what the text calls it
    numpy: bool = False  # it is an array of NumPy's so far, with which the library does not compute
    asked: bool = False  # the text differentiates by it

    def tensor(self, grad: bool) -> Tensor:
        return Tensor(self.shape, self.dtype, self.values, grad, self.layout, self.structure)


@dataclass
class Code:
    """Something that the library computes."""

    node: ast.expr
    line: Line | None = None  # where it is computed, if it has a line of its own


@dataclass
class Line:
    """One statement of the Program to be."""

    names: tuple[str, ...]
    node: ast.expr


@dataclass
class Seq:
    """A tuple or list of meanings."""

    items: list[Meaning]
    kind: type = tuple


@dataclass
class Inline:
    """A function of the text: a call of it is its body."""

    arguments: ast.arguments
    body: list[ast.stmt]
    scope: dict[str, Meaning] = field(repr=False)
    derived: bool = False  # a derivative of it is what is called


@dataclass
class Nothing:
    """Of no interest to a Program: a random key, a tape, what was printed."""


Meaning = Union[Known, Path, Recipe, Code, Seq, Inline, Nothing]


def refuse(node: ast.AST | None, reason: str) -> NoReturn:
    """ProgramError with the place in the model's own text."""
    raise ProgramError(reason, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)


def known_items(meaning: Meaning) -> Meaning:
    """A Seq of known values as one known value."""
    if isinstance(meaning, Seq):
        items = [known_items(item) for item in meaning.items]
        if all(isinstance(item, Known) for item in items):
            return Known(meaning.kind(item.value for item in items if isinstance(item, Known)))
    return meaning


def mark_asked(inputs: Sequence[Meaning]) -> None:
    """The text differentiates by these."""
    for item in inputs:
        if isinstance(item, Recipe):
            item.asked = True
        elif isinstance(item, Seq):
            mark_asked(item.items)


def literal(value: Any) -> ast.expr:
    """A known value as the language of Programs writes it."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return ast.Call(ast.Name("float"), [ast.Constant(str(value))], [])
    if isinstance(value, complex):
        return ast.Call(ast.Name("complex"), [literal(value.real), literal(value.imag)], [])
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if isinstance(value, tuple):
        return ast.Tuple([literal(part) for part in value], ast.Load())
    if isinstance(value, list):
        return ast.List([literal(part) for part in value], ast.Load())
    if isinstance(value, slice):
        return ast.Slice(*(None if part is None else literal(part) for part in (value.start, value.stop, value.step)))
    return ast.Constant(value)


def dotted(path: str) -> ast.expr:
    """A full name as an expression."""
    first, *rest = path.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for part in rest:
        node = ast.Attribute(node, part, ast.Load())
    return node
