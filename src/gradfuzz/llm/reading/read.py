"""Statements: from a model's text to a Program that has passed the gate."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.llm.reading.calls import Calls
from gradfuzz.llm.reading.expressions import Scope
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.reading.meanings import Code, Inline, Known, Meaning, Nothing, Path, Recipe, Seq, known_items, refuse
from gradfuzz.program import Program, gate, parse

MOST_TEXT = 20_000  # characters: no Program worth asking for is longer


def read_program(text: str, idioms: Idioms) -> Program:
    """The Program behind a model's Python; ProgramError with line, column and reason for anything else.

    What is common around the calls themselves is read or left out: imports of the library and of NumPy, the library's and NumPy's ways
    to make tensors, seeds, prints, assertions, short loops, functions that are called, and whatever differentiates by itself.
    """
    if len(text) > MOST_TEXT:
        raise ProgramError(f"the program has {len(text)} characters; the limit is {MOST_TEXT}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise ProgramError(f"not Python: {error.msg}", error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProgramError(f"not Python: {str(error)[:100]}", 1, 1) from None
    reader = _Reader(idioms)
    try:
        reader.body(tree.body, {})
        reader.rest()
        return gate.check(parse(reader.draft.text(), idioms.language), idioms.language)
    except (RecursionError, MemoryError):
        raise ProgramError("the program nests deeper than anybody reads") from None


class _Reader(Calls):
    """Reads statements in order."""

    def rest(self) -> None:
        """What is left out of the Program has to be harmless, too; a text that defines a function and never calls it means that one."""
        if not self.draft.lines and self.printed:
            self.draft.outputs(self.value(*self.printed[-1]))
        if not self.draft.lines and self._uncalled:
            refuse(None, "the function is never called; call it on tensors")
        for node in self.draft.left_out() if self.draft.lines else ():
            self.suspect.look(node)

    def __init__(self, idioms: Idioms) -> None:
        super().__init__(idioms)
        self._uncalled = False

    def body(self, statements: list[ast.stmt], scope: Scope) -> Meaning | None:
        for statement in statements:
            self.draft.step(statement)
            if isinstance(statement, ast.Return):
                return Nothing() if statement.value is None else self.value(statement.value, scope)
            method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                refuse(statement, f"{_KINDS.get(type(statement).__name__, type(statement).__name__)} is not part of the language")
            result: Meaning | None = method(statement, scope)
            if result is not None:
                return result
        return None

    # Imports -------------------------------------------------------------------------------------------------------------

    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self._allowed(node, alias.name)
            name = alias.asname or alias.name.partition(".")[0]
            scope[name] = Path(alias.name if alias.asname else name)

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        self._allowed(node, node.module or "")
        for alias in node.names:
            if alias.name == "*" or node.level:
                refuse(node, "import what you need by its name")
            path = f"{node.module}.{alias.name}"
            constant = self.value(ast.parse(path, mode="eval").body, {}) if node.module in ("math", "numpy") else Path(path)
            scope[alias.asname or alias.name] = constant

    def _allowed(self, node: ast.AST, module: str) -> None:
        if module.partition(".")[0] not in self.idioms.roots:
            refuse(node, f"import of {ascii(module)[1:-1][:60]}: Programs use the library and nothing else")
        for part in module.split("."):
            if part != "library":
                self.suspect.name(part, node)

    # Assignments -----------------------------------------------------------------------------------------------------------

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        meaning = self.value(node.value, scope)
        for target in node.targets:
            self._bind(target, meaning, scope)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._bind(node.target, self.value(node.value, scope), scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        if not isinstance(node.target, ast.Name):
            refuse(node, "only a plain name is changed in place")
        value = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(node.target.id, ast.Load()), node), node.op, node.value), node)
        self._bind(node.target, self.value(value, scope), scope)

    def _bind(self, target: ast.expr, meaning: Meaning, scope: Scope) -> None:
        meaning = known_items(meaning)
        if isinstance(target, ast.Name):
            scope[target.id] = self._kept(target, meaning)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, meaning, scope)
        elif isinstance(target, ast.Attribute):
            self._set(target, meaning, scope)
        else:
            refuse(target, "assignment to an item is not part of the language; compute a new tensor instead")

    def _kept(self, target: ast.Name, meaning: Meaning) -> Meaning:
        if not gate.is_plain(target.id) or target.id.startswith("__"):
            refuse(target, gate.variable_refusal(target.id, self.idioms.language) or f"{target.id} is no name for a variable")
        if isinstance(meaning, Code):
            line = self.draft.emit((target.id,), meaning.node, target)
            return Code(ast.Name(line.names[0], ast.Load()), line)
        if isinstance(meaning, Path):
            self._harmless(meaning, target)
        if isinstance(meaning, Recipe):
            meaning.hint = meaning.hint or target.id
        return meaning

    def _harmless(self, path: Path, node: ast.AST) -> None:
        """A name that is only mentioned: it becomes no part of the Program, and must not be one of those that reach for files or code."""
        full = self.idioms.language.expand(path.name)
        if full not in (*self.idioms.through, *self.idioms.derivatives, *self.idioms.mapped, *self.idioms.makers):
            for part in full.split("."):
                self.suspect.name(part, node)

    def _unpack(self, target: ast.Tuple | ast.List, meaning: Meaning, scope: Scope) -> None:
        if isinstance(meaning, Known) and isinstance(meaning.value, (tuple, list)):
            meaning = Seq([Known(part) for part in meaning.value])
        if isinstance(meaning, Nothing):
            meaning = Seq([meaning] * len(target.elts))
        if isinstance(meaning, Seq):
            if len(meaning.items) != len(target.elts):
                refuse(target, f"{len(meaning.items)} values for {len(target.elts)} names")
            for part, item in zip(target.elts, meaning.items, strict=True):
                self._bind(part, item, scope)
            return
        if not isinstance(meaning, (Code, Recipe)) or not all(isinstance(part, (ast.Name, ast.Tuple, ast.List)) for part in target.elts):
            refuse(target, "this cannot be unpacked")
        names = [part.id if isinstance(part, ast.Name) else "parts" for part in target.elts]
        line = self.draft.emit(tuple("unused" if name == "_" else name for name in names), self.draft.expression(meaning, target), target)
        for part, given in zip(target.elts, line.names, strict=True):
            found = Code(ast.Name(given, ast.Load()))
            if isinstance(part, ast.Name):
                scope[part.id] = found
            else:
                self._bind(part, found, scope)

    def _set(self, target: ast.Attribute, meaning: Meaning, scope: Scope) -> None:
        """`x.requires_grad = True`"""
        base = self.value(target.value, scope)
        if target.attr == "requires_grad" and isinstance(base, Recipe) and isinstance(meaning, Known):
            base.grad = bool(meaning.value)
        elif isinstance(meaning, (Nothing, Known)) and target.attr == "grad":
            return
        else:
            refuse(target, "assignment to an attribute is not part of the language")

    # The others ------------------------------------------------------------------------------------------------------------

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        if isinstance(node.value, ast.Constant):
            return
        meaning = self.value(node.value, scope)
        if isinstance(meaning, Path):
            self._harmless(meaning, node)
        if isinstance(meaning, Code) and not isinstance(meaning.node, ast.Name):
            # A bare call of a function is the output if it is the last; one of a method may change what it is called on.
            bare = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute) and node.value.func.attr.endswith("_")
            self.draft.emit(() if bare else ("y",), meaning.node, node)

    def _do_functiondef(self, node: ast.FunctionDef, scope: Scope) -> None:
        for decorator in node.decorator_list:
            found = self.value(decorator, scope) if not isinstance(decorator, ast.Call) else self.value(decorator.func, scope)
            known = isinstance(found, Path) and self.idioms.language.expand(found.name) in (*self.idioms.through, *self.idioms.derivatives)
            if not known and not isinstance(found, Nothing):
                refuse(node, "a decorator is not part of the language")
        self._uncalled = True
        scope[node.name] = Inline(node.args, node.body, scope)

    def _do_with(self, node: ast.With, scope: Scope) -> Meaning | None:
        for item in node.items:
            if not isinstance(self.value(item.context_expr, scope), Nothing):
                refuse(node, "this `with` is not part of the language")
            if isinstance(item.optional_vars, ast.Name):
                scope[item.optional_vars.id] = Nothing()
        return self.body(node.body, scope)

    def _do_if(self, node: ast.If, scope: Scope) -> Meaning | None:
        test: Any = Known(True) if ast.unparse(node.test).startswith("__name__ == ") else self.value(node.test, scope)
        if isinstance(test, Nothing):
            test = Known(False)
        if not isinstance(test, Known):
            refuse(node, "a choice by a tensor's value is not part of the language")
        self._look(node.orelse if test.value else node.body)
        return self.body(node.body if test.value else node.orelse, scope)

    def _do_for(self, node: ast.For, scope: Scope) -> Meaning | None:
        for item in self.items(node.iter, scope):
            self._bind(node.target, item, scope)
            result = self.body(node.body, scope)
            if result is not None:
                return result
        return self.body(node.orelse, scope)

    def _do_try(self, node: ast.Try, scope: Scope) -> Meaning | None:
        self._look([statement for handler in node.handlers for statement in handler.body])
        return self.body([*node.body, *node.orelse, *node.finalbody], scope)

    def _look(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.suspect.look(statement)

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        self.suspect.look(node)

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        self.suspect.look(node)

    def _do_pass(self, node: ast.Pass, scope: Scope) -> None:
        return None


_KINDS = {
    "ClassDef": "a class of your own", "While": "a loop without an end that stands in the text", "Raise": "raise", "Global": "global",
    "AsyncFunctionDef": "an async function", "Match": "match", "Nonlocal": "nonlocal",
}  # fmt: skip
