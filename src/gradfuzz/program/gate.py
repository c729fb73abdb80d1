"""The gate: what a Program may be made of, whoever wrote it and in whatever form it came.

Every Program passes here before anything of it is run or written into a script: text once it is read, JSON of seeds, recordings and
stores where it comes in, and each statement once more where it is turned into calls. The gate looks at data alone and needs no library;
what a name turns out to be in the library is judged where it is looked up (targets/base/kinds.py).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.limits import MAX_DEPTH, MAX_STRING, MAX_WHOLE
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor
from gradfuzz.program.text import BINARY, COMPARE, UNARY
from gradfuzz.program.values import KINDS

# Letters of other alphabets look like these and are others: a name is what it looks like.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OWN = frozenset(("tensor", "float", "complex", "slice")) | frozenset(KINDS)


def check(program: Program, language: Language) -> Program:
    """The Program itself; ProgramError, in one line, if anything in it is outside the language."""
    if not program.statements:
        raise ProgramError("the Program is empty; write at least one call")
    program.check()
    known: set[str] = set()
    for statement in program.statements:
        check_statement(statement, language, known)
        known.update(statement.names)
    return program


def check_statement(statement: Let, language: Language, known: Iterable[str] | None = None) -> None:
    """One statement; `known`: the variables that exist before it, where they are known."""
    for name in statement.names:
        reason = variable_refusal(name, language)
        if reason:
            raise ProgramError(reason)
    if not isinstance(statement.value, Tensor):
        _Expressions(language, known).check(statement.value, 0)
    elif len(statement.names) != 1:
        raise ProgramError("a tensor is assigned to one name")


def check_expression(node: Expr, language: Language) -> None:
    """An expression by itself."""
    _Expressions(language, None).check(node, 0)


def check_api(name: str, language: Language) -> str:
    """A name that something is filed under: of an API, of a method as `Tensor.add`, of an operator. ProgramError for anything else."""
    plain = isinstance(name, str) and len(name) <= MAX_STRING and (name in _FILED or all(map(is_plain, name.split("."))))
    if not plain:
        raise ProgramError(f"{shown(name)} is not the name of an API; names look like {language.namespaces[0]}.sin")
    return name


def check_word(text: object, what: str) -> str:
    """A line of printable text, as it may stand in tables and scripts."""
    if not isinstance(text, str) or len(text) > MAX_STRING or not text.isprintable():
        raise ProgramError(f"{what} {shown(text)} is not one line of printable text")
    return text


def variable_refusal(name: object, language: Language) -> str | None:
    """Why a Program may not assign to a name; None if it may."""
    if not isinstance(name, str) or not is_plain(name):
        return f"{shown(name)} is not a name; names are made of the letters a to z, digits and underscores"
    if name in _OWN or name in language.roots():
        return f"{name} has a meaning of its own here; choose another name"
    if name.startswith("__"):
        return f"{name}: names with two leading underscores are refused"
    return None


def is_plain(name: str) -> bool:
    """Whether this is a name that Python would take and that nobody can mistake for another."""
    return len(name) <= MAX_STRING and _PLAIN.match(name) is not None and not keyword.iskeyword(name)


def shown(data: object) -> str:
    """What was found instead, short and in plain letters."""
    text = ascii(data) if isinstance(data, (str, int, float, bool, type(None))) else f"a {type(data).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


_OPERATORS = {**dict.fromkeys(BINARY, 2), **dict.fromkeys(COMPARE, 2), **dict.fromkeys(UNARY, 1)}
_FILED = frozenset(_OPERATORS) | {"none", "()"}


class _Expressions:
    """Looks at one expression, node by node."""

    def __init__(self, language: Language, known: Iterable[str] | None) -> None:
        self.language, self.known = language, known

    def check(self, node: Expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ProgramError(f"expressions nest deeper than {MAX_DEPTH}")
        kind = type(node)
        if kind in _LITERALS:
            _check_literal(node)
        elif kind is Ref:
            if self.known is not None and node.name not in self.known:
                raise ProgramError(f"{shown(node.name)} is not assigned yet")
        elif kind is Call:
            self._call(node, depth)
        elif kind is Name:
            self._path(node.path)
        elif kind is Attr:
            reason = self.language.attribute_refusal(node.name) if isinstance(node.name, str) else f"{shown(node.name)} is not a name"
            if reason:
                raise ProgramError(reason)
            self._value(node.base)
            self.check(node.base, depth + 1)
        elif kind is Item:
            self.check(node.base, depth + 1)
            self.check(node.index, depth + 1)
        elif kind is Slice:
            for part in (node.start, node.stop, node.step):
                self.check(part, depth + 1)
        elif kind is tuple or kind is list:
            for part in node:
                self.check(part, depth + 1)
        else:
            raise ProgramError(f"{shown(node)} is not part of the language")

    def _call(self, call: Call, depth: int) -> None:
        func = call.func
        if func in _OPERATORS:
            if len(call.args) != _OPERATORS[func] or call.kwargs:
                raise ProgramError(f"{func} takes {_OPERATORS[func]} operands and nothing by name")
        elif func == "()" or func[:1] == ".":
            if not call.args:
                raise ProgramError(f"{shown(func)} needs something to be called on")
            reason = self.language.method_refusal(func[1:]) if func != "()" else None
            if reason or (func != "()" and not is_plain(func[1:])):
                raise ProgramError(reason or f"{shown(func)} is not a method")
            if func == "()" and not isinstance(call.args[0], Ref):
                raise ProgramError("only functions of the target's API, methods and modules can be called")
            self._value(call.args[0])
        else:
            self._path(func)
        for argument in call.args:
            self.check(argument, depth + 1)
        for key, value in call.kwargs:
            if not isinstance(key, str) or not is_plain(key) or key.startswith("__"):
                raise ProgramError(f"{shown(key)} is not the name of an argument")
            self.check(value, depth + 1)
        if len({key for key, _ in call.kwargs}) != len(call.kwargs):
            raise ProgramError("an argument is given by the same name twice")

    def _value(self, node: Expr) -> None:
        """What a dot or a bracket follows: after the name of an API, in text, they would be part of the name."""
        if type(node) is Name:
            raise ProgramError(f"{shown(node.path)} is a name of the API: its parts and calls are written as such")

    def _path(self, path: object) -> None:
        if not isinstance(path, str) or "." not in path or not all(map(is_plain, path.split("."))):
            raise ProgramError(f"{shown(path)} is not the name of an API of {self.language.target}")
        reason = self.language.refusal(path)
        if reason:
            raise ProgramError(reason)


_LITERALS = frozenset((type(None), bool, int, float, complex, str, type(Ellipsis)))


def _check_literal(value: Expr) -> None:
    if type(value) is int and not -MAX_WHOLE <= value <= MAX_WHOLE:
        raise ProgramError(f"a whole number of {value.bit_length()} bits is larger than the language allows")
    if type(value) is str and (len(value) > MAX_STRING or not value.isprintable()):
        raise ProgramError(f"the string {shown(value)} is too long or holds characters that cannot be printed")
