"""How a library's calls are read: its own signature on the left, what that means on the right. The table is data in the target's folder.

    "library.add(input, other, alpha=1)": "add(input, multiply(other, alpha))"
    "library.nn.Linear(in_features, out_features, bias=True)(input)": "linear(input, self.weight, self.bias)"
    "library.absolute": "library.abs"

The right side calls canonical functions (`semantics/`) with the left side's parameters, numbers and words; `self` has the parameters of a
module; a name alone is an alias. `names.json` tells which functions methods stand for and what the mark of a call in place is.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.reference.semantics import meanings
from gradfuzz.targets.homes import Home

# Python's own operators mean the same everywhere.
OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "remainder", "**": "power", "@": "matmul",
    "neg": "negative", "pos": "same", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal",
    "!=": "not_equal",
}  # fmt: skip


class NoMeaning(GradfuzzError):
    """A call that the reference cannot read."""


@dataclass(frozen=True)
class Reading:
    """One row of the table: the parameters of the call (for a module: of making it, and of calling it), and what it means."""

    signature: inspect.Signature
    body: ast.expr
    called: inspect.Signature | None = None

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return _bound(self.signature, args, kwargs)

    def value(self, names: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Any:
        """What the call gives. `parameters`: of the module that is called."""
        return _evaluate(self.body, names, parameters or {})


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise NoMeaning(f"other arguments than known ({error})") from None
    bound.apply_defaults()
    return dict(bound.arguments)


@dataclass(frozen=True)
class Book:
    """All that is known of how one library spells things."""

    readings: Mapping[str, Reading]
    aliases: Mapping[str, str]
    methods: tuple[str, ...]  # where the functions are that methods stand for
    in_place: str  # what a call's name ends with if it writes to its first argument
    written: str = ""  # the argument that a call writes its result to, where it is given

    def find(self, func: str) -> tuple[Reading | None, bool]:
        """(what a function or method means, whether it writes to its first argument); None where nobody says."""
        found = self._named(func)
        if found is not None:
            return found, False
        if self.in_place and func.endswith(self.in_place) and not func.endswith("__"):
            return self._named(func[: -len(self.in_place)]), True
        return None, False

    def _named(self, func: str) -> Reading | None:
        for prefix in self.methods:  # a method that is called as a function of its class
            if prefix.endswith(".Tensor") and func.startswith(prefix + "."):
                func = func[len(prefix) :]
        names = [func, *(space + func for space in self.methods)] if func[0] == "." else [func]
        for name in names:
            while name in self.aliases:
                name = self.aliases[name]
            if name in self.readings:
                return self.readings[name]
        return None


@lru_cache(maxsize=8)
def book_of(home: Home) -> Book:
    """The target's table, from every file of its `semantics` folder."""
    readings: dict[str, Reading] = {}
    aliases: dict[str, str] = {}
    for left, right in home.tables("semantics").items():
        if left == "about":
            continue
        if "(" not in left:
            aliases[left] = right
            continue
        name, *signatures = [part.strip() for part in left.replace(")(", ")\0(").partition("(")[::2]]
        first, _, second = ("(" + signatures[0]).partition("\0")
        readings[name] = Reading(_signature(first), _body(right), _signature(second) if second else None)
    names = home.data("semantics/names")
    return Book(readings, aliases, tuple(names.get("methods", ())), str(names.get("in_place", "")), str(names.get("written", "")))


def _signature(text: str) -> inspect.Signature:
    function = ast.parse(f"def f{text}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    defaults: list[Any] = [inspect.Parameter.empty] * (len(given.args) - len(given.defaults))
    defaults += [ast.literal_eval(d) for d in given.defaults]
    kind = inspect.Parameter
    found = [kind(a.arg, kind.POSITIONAL_OR_KEYWORD, default=d) for a, d in zip(given.args, defaults)]
    if given.vararg:
        found.append(kind(given.vararg.arg, kind.VAR_POSITIONAL))
    for a, d in zip(given.kwonlyargs, given.kw_defaults):
        found.append(kind(a.arg, kind.KEYWORD_ONLY, default=kind.empty if d is None else ast.literal_eval(d)))
    if given.kwarg:
        found.append(kind(given.kwarg.arg, kind.VAR_KEYWORD))
    return inspect.Signature(found)


def _body(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _evaluate(node: ast.expr, names: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    def of(part: ast.expr) -> Any:
        return _evaluate(part, names, parameters)

    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return float("inf") if node.id == "inf" else names[node.id]
    if isinstance(node, ast.Attribute):
        return parameters.get(node.attr)
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        args: list[Any] = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                args.extend(of(a.value))
            else:
                args.append(of(a))
        return meanings()[node.func.id](*args, **{str(k.arg): of(k.value) for k in node.keywords})
    if isinstance(node, ast.IfExp):
        return of(node.body) if of(node.test) else of(node.orelse)
    if isinstance(node, ast.Compare):
        left, right = of(node.left), of(node.comparators[0])
        return _COMPARED[type(node.ops[0])](left, right)
    if isinstance(node, ast.BoolOp):
        parts = (bool(of(part)) for part in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.UnaryOp):
        return not of(node.operand) if isinstance(node.op, ast.Not) else -of(node.operand)
    if isinstance(node, ast.Tuple):
        return tuple(of(part) for part in node.elts)
    if isinstance(node, ast.Subscript):
        return of(node.value)[of(node.slice)]
    raise GradfuzzError(f"the table of meanings says {ast.unparse(node)!r}, which is no call")


def _is(a: Any, b: Any) -> bool:
    return a is b if b is None else bool(isinstance(a, type(b)) and a == b)


_COMPARED: dict[type, Any] = {
    ast.Is: _is, ast.IsNot: lambda a, b: not _is(a, b), ast.Eq: lambda a, b: _is(a, b) or a == b, ast.NotEq: lambda a, b: a != b,
    ast.In: lambda a, b: a in b,
}  # fmt: skip
