"""Program to text: plain Python, one statement a line, the same text for the same Program every time."""

from __future__ import annotations

import json
import math
from typing import Any

from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor, Values

BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def to_text(program: Program) -> str:
    """The Program as Python text, ending in a newline."""
    return "".join(statement_text(statement) + "\n" for statement in program.statements)


def statement_text(statement: Let) -> str:
    value = statement.value
    right = tensor_text(value) if isinstance(value, Tensor) else expr_text(value)
    return f"{', '.join(statement.names)} = {right}" if statement.names else right


def tensor_text(recipe: Tensor) -> str:
    parts = [shape_text(recipe.shape), quoted(recipe.dtype), values_text(recipe.values)]
    if not recipe.grad:
        parts.append("grad=False")
    if recipe.layout != "contiguous":
        parts.append(f"layout={quoted(recipe.layout)}")
    if recipe.structure is not None:
        parts.append(f"structure={quoted(recipe.structure)}")
    return f"tensor({', '.join(parts)})"


def shape_text(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def values_text(values: Values) -> str:
    parts = [values_text(a) if isinstance(a, Values) else expr_text(list(a) if isinstance(a, tuple) else a) for a in values.args]
    if values.seed is not None:
        parts.append(f"seed={values.seed}")
    return f"{values.kind}({', '.join(parts)})"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def number_text(number: float | complex) -> str:
    """A number that reads back as the same bits, signs of zero and infinities included."""
    if isinstance(number, complex):
        return f"complex({number_text(number.real)}, {number_text(number.imag)})"
    if math.isnan(number):
        return 'float("nan")'
    if math.isinf(number):
        return 'float("inf")' if number > 0 else 'float("-inf")'
    return repr(float(number))


def expr_text(node: Expr) -> str:
    """An expression as Python text."""
    if isinstance(node, Ref):
        return node.name
    if isinstance(node, Name):
        return node.path
    if isinstance(node, Call):
        return call_text(node)
    if isinstance(node, Item):
        index = node.index
        if isinstance(index, tuple) and len(index) > 0:
            inner = ", ".join(map(index_text, index)) + ("," if len(index) == 1 else "")
        else:
            inner = index_text(index)
        return f"{atom_text(node.base)}[{inner}]"
    if isinstance(node, Attr):
        return f"{atom_text(node.base)}.{node.name}"
    if isinstance(node, tuple):
        return f"({', '.join(map(expr_text, node))}{',' if len(node) == 1 else ''})"
    if isinstance(node, list):
        return f"[{', '.join(map(expr_text, node))}]"
    if isinstance(node, Slice):
        bounds = ", ".join(map(expr_text, (node.start, node.stop, node.step)))
        return f"slice({bounds})"
    return literal_text(node)


def literal_text(node: Any) -> str:
    if node is Ellipsis:
        return "..."
    if isinstance(node, str):
        return quoted(node)
    if isinstance(node, (float, complex)):
        return number_text(node)
    return repr(node)


def index_text(node: Expr) -> str:
    if isinstance(node, Slice):
        start, stop, step = ("" if part is None else expr_text(part) for part in (node.start, node.stop, node.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return expr_text(node)


def atom_text(node: Expr) -> str:
    """The text of a node that a dot, a bracket or an operator follows."""
    simple = isinstance(node, (Ref, Item, Attr, tuple, list)) or (isinstance(node, Call) and node.func not in OPERATORS)
    simple = simple or isinstance(node, (bool, str)) or node is None
    return expr_text(node) if simple else f"({expr_text(node)})"


def operand_text(node: Expr) -> str:
    """The text of an operator's operand: like an atom, but a plain number needs no brackets."""
    if type(node) in (int, float) and node >= 0:
        return expr_text(node)
    return atom_text(node)


def call_text(call: Call) -> str:
    if call.func in BINARY or call.func in COMPARE:
        left, right = call.args
        return f"{operand_text(left)} {call.func} {operand_text(right)}"
    if call.func in UNARY:
        return f"{UNARY[call.func]}{atom_text(call.args[0])}"
    args = call.args
    if call.func == "()":
        head, args = atom_text(args[0]), args[1:]
    elif call.func[0] == ".":
        head, args = atom_text(args[0]) + call.func, args[1:]
    else:
        head = call.func
    parts = [expr_text(a) for a in args] + [f"{key}={expr_text(value)}" for key, value in call.kwargs]
    return f"{head}({', '.join(parts)})"


OPERATORS = frozenset(BINARY) | frozenset(COMPARE) | frozenset(UNARY)
