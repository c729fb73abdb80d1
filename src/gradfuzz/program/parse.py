"""Text to Program, through `ast` alone: nothing of the text is ever executed."""

from __future__ import annotations

import ast
import contextlib
import warnings
from typing import Any, Callable, NoReturn

from gradfuzz.errors import ProgramError
from gradfuzz.program import gate
from gradfuzz.program.language import Language
from gradfuzz.program.limits import MAX_DEPTH, MAX_STATEMENTS, MAX_TEXT
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor, Values
from gradfuzz.program.values import KINDS, check_values

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}


def parse(text: str, language: Language) -> Program:
    """The Program that the text describes; ProgramError with line, column and reason for anything else."""
    if len(text) > MAX_TEXT:
        raise ProgramError(f"the text has {len(text)} characters; the limit is {MAX_TEXT}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about strange escapes and the like: they are refused or harmless
            tree = ast.parse(text)
    except SyntaxError as error:
        raise ProgramError(f"not Python: {error.msg}", error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError(f"not Python: {error}", 1, 1) from None
    if not tree.body:
        raise ProgramError("the Program is empty; write at least one call", 1, 1)
    if len(tree.body) > MAX_STATEMENTS:
        raise ProgramError(f"the Program has {len(tree.body)} statements; the limit is {MAX_STATEMENTS}", 1, 1)
    reader = _Reader(language)
    return Program(tuple(reader.statement(node) for node in tree.body)).check()


def _refuse(node: ast.AST, reason: str) -> NoReturn:
    raise ProgramError(reason, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)


class _Reader:
    """Reads statements in order and knows which variables exist so far."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.known: set[str] = set()
        self.depth = 0

    def statement(self, node: ast.stmt) -> Let:
        """A statement that has passed the gate, like any that comes as data."""
        read = self._statement(node)
        try:
            gate.check_statement(read, self.language, self.known)
        except ProgramError as error:
            _refuse(node, error.reason)
        self.known.update(read.names)
        return read

    def _statement(self, node: ast.stmt) -> Let:
        if isinstance(node, ast.Expr):
            return Let((), self.expression(node.value))
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            _refuse(node, f"{_kind(node)} is not part of the language; write `name = call(...)`")
        names = self.names(node.targets[0])
        value: Tensor | Expr
        if _is_call_of(node.value, "tensor"):
            if len(names) != 1:
                _refuse(node, "a tensor is assigned to one name")
            value = self.recipe(node.value)
        else:
            value = self.expression(node.value)
        return Let(names, value)

    def names(self, node: ast.expr) -> tuple[str, ...]:
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        names = []
        for part in parts:
            if not isinstance(part, ast.Name):
                _refuse(part, f"assignment to {_kind(part)} is not part of the language; assign to a plain name")
            reason = gate.variable_refusal(part.id, self.language)
            if reason:
                _refuse(part, reason)
            names.append(part.id)
        return tuple(names)

    def recipe(self, node: Any) -> Tensor:
        fields: dict[str, Any] = {}
        for key, argument in zip(("shape", "dtype", "values"), node.args):
            fields[key] = argument
        for keyword in node.keywords:
            if keyword.arg not in ("shape", "dtype", "values", "grad", "layout", "structure"):
                _refuse(keyword.value, f"tensor has no argument {keyword.arg}")
            fields[keyword.arg] = keyword.value
        if len(node.args) > 3 or not {"shape", "dtype", "values"} <= set(fields):
            _refuse(node, 'a tensor is written tensor((3, 4), "float64", normal(seed=1))')
        values = _values(fields.pop("values"))
        plain = {key: _literal(argument) for key, argument in fields.items()}
        shape = plain["shape"]
        if not isinstance(shape, tuple) or not all(type(n) is int for n in shape):
            _refuse(fields["shape"], "a shape is a tuple of whole numbers")
        if type(plain.get("grad", True)) is not bool:
            _refuse(fields["grad"], "grad is True or False")
        try:
            return Tensor(values=values, **plain)
        except ProgramError as error:
            _refuse(node, error.reason)

    def expression(self, node: ast.expr) -> Expr:
        return self.nested(node, lambda: self._expression(node))

    def nested(self, node: ast.expr, read: Callable[[], Expr]) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _refuse(node, f"expressions nest deeper than {MAX_DEPTH}")
        try:
            return read()
        finally:
            self.depth -= 1

    def _expression(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bytes):
                _refuse(node, "bytes are not part of the language")
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.known:
                _refuse(node, f"{node.id} is not assigned yet")
            return Ref(node.id)
        if isinstance(node, ast.Tuple):
            return tuple(self.expression(part) for part in node.elts)
        if isinstance(node, ast.List):
            return [self.expression(part) for part in node.elts]
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            operand = self.expression(node.operand)
            if isinstance(node.op, ast.USub) and type(operand) in (int, float, complex):
                return -operand
            return Call(_UNARY[type(node.op)], (operand,))
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return Call(_BINARY[type(node.op)], (self.expression(node.left), self.expression(node.right)))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            operands = (self.expression(node.left), self.expression(node.comparators[0]))
            return Call(_COMPARE[type(node.ops[0])], operands)
        if isinstance(node, ast.Subscript):
            return Item(self.expression(node.value), self.index(node.slice))
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        _refuse(node, f"{_kind(node)} is not part of the language")

    def index(self, node: Any) -> Expr:
        if isinstance(node, ast.Slice):
            return Slice(*(part and self.expression(part) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return self.nested(node, lambda: tuple(self.index(part) for part in node.elts))
        return self.expression(node)

    def attribute(self, node: ast.Attribute) -> Expr:
        path = _dotted(node)
        if path and path.split(".")[0] not in self.known:
            return Name(self.api(node, path))
        reason = self.language.attribute_refusal(node.attr)
        if reason:
            _refuse(node, reason)
        return Attr(self.expression(node.value), node.attr)

    def api(self, node: ast.AST, path: str) -> str:
        if path.split(".")[0] not in self.language.roots():
            roots = ", ".join(sorted(self.language.roots()))
            _refuse(node, f"{path} is not part of the API of {self.language.target}; names start with {roots}")
        full = self.language.expand(path)
        reason = self.language.refusal(full)
        if reason:
            _refuse(node, reason)
        return full

    def call(self, node: ast.Call) -> Expr:
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                _refuse(argument, "starred arguments are not part of the language")
        if any(keyword.arg is None for keyword in node.keywords):
            _refuse(node, "** arguments are not part of the language")
        func = node.func
        if isinstance(func, ast.Name) and func.id not in self.known:
            if func.id in ("float", "complex"):
                return _literal(node)
            if func.id == "slice":
                if len(node.args) > 3 or node.keywords:
                    _refuse(node, "a slice has a start, a stop and a step")
                return Slice(*(self.expression(a) for a in node.args))
            _refuse(node, f"{func.id} is not a function of the target's API or a variable")
        args = tuple(self.expression(a) for a in node.args)
        kwargs = tuple((str(k.arg), self.expression(k.value)) for k in node.keywords)
        if isinstance(func, ast.Name):
            return Call("()", (Ref(func.id), *args), kwargs)
        if not isinstance(func, ast.Attribute):
            _refuse(node, "only functions of the target's API, methods and modules can be called")
        path = _dotted(func)
        if path and path.split(".")[0] not in self.known:
            return Call(self.api(func, path), args, kwargs)
        reason = self.language.method_refusal(func.attr)
        if reason:
            _refuse(func, reason)
        return Call("." + func.attr, (self.expression(func.value), *args), kwargs)


def _values(node: Any, depth: int = 0) -> Values:
    if depth > MAX_DEPTH:
        _refuse(node, f"distributions nest deeper than {MAX_DEPTH}")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in KINDS:
        _refuse(node, f"values come from a named distribution: {', '.join(KINDS)}")
    args: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name) and argument.func.id in KINDS:
            args.append(_values(argument, depth + 1))
        else:
            literal = _literal(argument)
            args.append(tuple(literal) if isinstance(literal, list) else literal)
    seed = None
    for keyword in node.keywords:
        if keyword.arg != "seed":
            _refuse(keyword.value, f"{node.func.id} has no argument {keyword.arg}; only seed is given by name")
        seed = _literal(keyword.value)
    try:
        return check_values(Values(node.func.id, tuple(args), seed))
    except ProgramError as error:
        _refuse(node, error.reason)


def _literal(node: Any, depth: int = 0) -> Any:
    """A literal: numbers with signs, strings, tuples, lists, float("inf"), complex(1.0, 2.0)."""
    if depth > MAX_DEPTH:
        _refuse(node, f"literals nest deeper than {MAX_DEPTH}")
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(_literal(part, depth + 1) for part in node.elts)
    if isinstance(node, ast.List):
        return [_literal(part, depth + 1) for part in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _literal(node.operand, depth + 1)
        if type(operand) in (int, float, complex):
            return -operand
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        args = [_literal(a, depth + 1) for a in node.args]
        if node.func.id == "float" and args in (["inf"], ["-inf"], ["nan"]):
            return float(args[0])
        if node.func.id == "complex" and len(args) == 2 and all(type(a) in (int, float) for a in args):
            with contextlib.suppress(OverflowError):
                return complex(*args)
    _refuse(node, "a literal is needed here: numbers, strings, tuples, lists, float('inf'), complex(1.0, 2.0)")


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty if the chain does not start at a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _kind(node: ast.AST) -> str:
    return {
        "Import": "import", "ImportFrom": "import", "Lambda": "lambda", "ListComp": "a comprehension",
        "SetComp": "a comprehension", "DictComp": "a comprehension", "GeneratorExp": "a comprehension",
        "FunctionDef": "a function definition", "ClassDef": "a class definition", "For": "a loop", "While": "a loop",
    }.get(type(node).__name__, type(node).__name__)  # fmt: skip
