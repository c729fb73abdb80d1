"""Arithmetic on numbers that stand in the text, within bounds: a tower of powers is refused, not computed."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any, Callable

from gradfuzz.llm.reading.meanings import refuse
from gradfuzz.program.model import Values

LARGEST = 2**62
MOST_ITEMS = 4096  # of a list that is repeated or joined
MOST_BITS = 64  # of a power's exponent

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
NUMBERS = (bool, int, float, complex)
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "tau": math.tau}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(math, name)
    for name in (
        "sqrt",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "ceil",
        "fabs",
    )
}
BUILTINS: dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "complex": complex, "bool": bool, "abs": abs, "len": len, "max": max, "min": min, "sum": sum,
    "round": round, "tuple": tuple, "list": list, "slice": slice, "range": lambda *a: list(range(*a)),
}  # fmt: skip


def binary(node: ast.BinOp, left: Any, right: Any) -> Any:
    """The value of `left op right`."""
    operation = _BINARY.get(type(node.op))
    if operation is None:
        refuse(node, f"{type(node.op).__name__} of plain numbers is not part of the language")
    if isinstance(node.op, ast.Pow) and not (type(right) in NUMBERS and abs(right) <= MOST_BITS and type(left) in NUMBERS):
        refuse(node, f"a power of more than {MOST_BITS} is not worked out; write the number itself")
    sequences = [side for side in (left, right) if isinstance(side, (tuple, list))]
    if sequences:
        longer = isinstance(node.op, ast.Add) and len(sequences) == 2
        count = len(left) + len(right) if longer else len(sequences[0]) * next((s for s in (left, right) if type(s) is int), MOST_ITEMS + 1)
        if count > MOST_ITEMS or not isinstance(node.op, (ast.Add, ast.Mult)):
            refuse(node, f"a list of more than {MOST_ITEMS} items is too long")
    elif type(left) not in NUMBERS or type(right) not in NUMBERS:
        refuse(node, "only numbers and lists are computed with outside the library")
    return checked(node, _called(node, operation, left, right))


def compare(node: ast.Compare, left: Any, right: Any) -> bool:
    operation = _COMPARE.get(type(node.ops[0]))
    if operation is None or len(node.ops) != 1:
        refuse(node, "this comparison is not part of the language")
    return bool(_called(node, operation, left, right))


def call(node: ast.AST, function: Callable[..., Any], arguments: list[Any]) -> Any:
    """A plain function of known values."""
    if function is BUILTINS["range"] and not all(type(a) is int and abs(a) <= MOST_ITEMS for a in arguments):
        refuse(node, f"a range of more than {MOST_ITEMS} is too long")
    return checked(node, _called(node, function, *arguments))


def _called(node: ast.AST, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (ArithmeticError, ValueError, TypeError, IndexError, AttributeError) as error:
        refuse(node, f"this cannot be worked out: {str(error)[:80]}")


def checked(node: ast.AST, value: Any) -> Any:
    if type(value) is int and abs(value) > LARGEST:
        refuse(node, f"a whole number of {value.bit_length()} bits is too large")
    return value


def affine(values: Values, factor: float, offset: float) -> Values | None:
    """The distribution of factor·x + offset; None where there is none of that name."""
    args = values.args
    if not all(type(a) in (int, float) or isinstance(a, tuple) for a in args):
        return None
    if values.kind == "normal":
        loc, scale = _pair(args)
        return Values("normal", (loc * factor + offset, abs(scale * factor)), values.seed)
    if values.kind == "uniform":
        low, high = _pair(args)
        return Values("uniform", tuple(sorted((low * factor + offset, high * factor + offset))), values.seed)
    if values.kind == "full":
        return Values("full", (args[0] * factor + offset,))
    if values.kind == "listed":
        return Values("listed", (tuple(a * factor + offset for a in args[0]),))
    return None


def _pair(args: tuple[Any, ...]) -> tuple[float, float]:
    """Of a distribution with two arguments, which are 0 and 1 where they are not given."""
    given = [*args, *(0.0, 1.0)[len(args) :]]
    return given[0], given[1]
