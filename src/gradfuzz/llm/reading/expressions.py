"""Expressions: what each stands for, worked out from the text alone."""

from __future__ import annotations

import ast
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.llm.reading import folding, makers
from gradfuzz.llm.reading.draft import Draft
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.reading.meanings import Code, Inline, Known, Meaning, Nothing, Path, Recipe, Seq, known_items, refuse
from gradfuzz.llm.reading.suspect import Suspect
from gradfuzz.program.limits import MAX_DEPTH
from gradfuzz.program.parse import parse

MOST_ROUNDS = 16  # of a loop or a comprehension that is written out

Scope = dict[str, Meaning]


class Expressions:
    """Evaluates expressions in a scope; what the library computes ends up in the draft."""

    def __init__(self, idioms: Idioms) -> None:
        self.idioms, self.draft, self.suspect = idioms, Draft(idioms), Suspect(idioms.language)
        self.depth = 0

    def value(self, node: ast.expr, scope: Scope) -> Meaning:
        self.draft.step(node)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            refuse(node, f"expressions nest deeper than {MAX_DEPTH}")
        try:
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                refuse(node, f"{type(node).__name__} is not part of the language; write plain calls")
            found: Meaning = method(node, scope)
            return found
        finally:
            self.depth -= 1

    def expression(self, node: ast.expr, scope: Scope) -> ast.expr:
        hint = node.id if isinstance(node, ast.Name) else "x"
        return self.draft.expression(self.value(node, scope), node, hint)

    # Atoms -------------------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, scope: Scope) -> Meaning:
        if isinstance(node.value, bytes):
            refuse(node, "bytes are not part of the language")
        return Known(node.value)

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Meaning:
        self.suspect.look(node)
        return Nothing()

    def _name(self, node: ast.Name, scope: Scope) -> Meaning:
        if node.id in scope:
            return scope[node.id]
        if node.id in self.idioms.language.roots() or node.id in ("numpy", "np", "math"):
            return Path("numpy" if node.id == "np" else node.id)
        if node.id in folding.BUILTINS:
            return Path(f"builtins.{node.id}")
        refuse(node, f"{ascii(node.id)[1:-1]} is neither assigned nor a name of the library")

    def _tuple(self, node: ast.Tuple | ast.List, scope: Scope) -> Meaning:
        items: list[Meaning] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                items.extend(self._spread(part, scope))
            else:
                items.append(self.value(part, scope))
        return known_items(Seq(items, list if isinstance(node, ast.List) else tuple))

    _list = _tuple

    def _spread(self, node: ast.Starred, scope: Scope) -> list[Meaning]:
        inner = self.value(node.value, scope)
        if isinstance(inner, Seq):
            return inner.items
        if isinstance(inner, Known) and isinstance(inner.value, (tuple, list)):
            return [Known(part) for part in inner.value]
        refuse(node, "starred arguments are not part of the language; write them out")

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Meaning:
        return Inline(node.args, [ast.copy_location(ast.Return(node.body), node)], scope)

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Meaning:
        test = self.value(node.test, scope)
        if isinstance(test, Nothing):
            test = Known(False)  # whether there is a device and the like
        if not isinstance(test, Known):
            refuse(node, "a choice by a tensor's value is not part of the language")
        return self.value(node.body if test.value else node.orelse, scope)

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Meaning:
        (generator, *more) = node.generators
        if more or generator.ifs or not isinstance(generator.target, ast.Name):
            refuse(node, "a comprehension is not part of the language; write its items out")
        return Seq([self.value(node.elt, {**scope, generator.target.id: item}) for item in self.items(generator.iter, scope)], list)

    _generatorexp = _listcomp

    def items(self, node: ast.expr, scope: Scope) -> list[Meaning]:
        """What a loop goes over, if that stands in the text and is short."""
        found = self.value(node, scope)
        items = found.items if isinstance(found, Seq) else None
        if items is None and isinstance(found, Known) and isinstance(found.value, (tuple, list)):
            items = [Known(part) for part in found.value]
        if items is None or len(items) > MOST_ROUNDS:
            refuse(node, f"a loop is not part of the language; write at most {MOST_ROUNDS} rounds out")
        return items

    # Operators -----------------------------------------------------------------------------------------------------------

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Meaning:
        operand = self.value(node.operand, scope)
        if isinstance(operand, Known) and type(operand.value) in folding.NUMBERS:
            if isinstance(node.op, ast.USub):
                return Known(-operand.value)
            if isinstance(node.op, ast.Not):
                return Known(not operand.value)
        if isinstance(operand, Nothing):
            return operand
        if isinstance(operand, Recipe) and isinstance(node.op, ast.USub):
            folded = self._affine(operand, -1.0, 0.0)
            if folded is not None:
                return folded
        if isinstance(node.op, ast.Not):
            refuse(node, "`not` of a tensor is not part of the language")
        return Code(ast.UnaryOp(node.op, self.draft.expression(operand, node)))

    def _binop(self, node: ast.BinOp, scope: Scope) -> Meaning:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(folding.binary(node, left.value, right.value))
        if isinstance(left, Nothing) or isinstance(right, Nothing):
            return Nothing()
        folded = self._folded(node, left, right)
        if folded is not None:
            return folded
        return Code(ast.BinOp(self.draft.expression(left, node), node.op, self.draft.expression(right, node)))

    def _folded(self, node: ast.BinOp, left: Meaning, right: Meaning) -> Recipe | None:
        """`2 * rand(3) - 1` is a recipe, too: of a tensor that has no name yet, or of an array of NumPy's."""
        if isinstance(left, Known):
            left, right, swapped = right, left, True
        else:
            swapped = False
        if not isinstance(left, Recipe) or not isinstance(right, Known) or type(right.value) not in (int, float):
            return None
        number = float(right.value)
        if isinstance(node.op, ast.Add):
            return self._affine(left, 1.0, number)
        if isinstance(node.op, ast.Sub):
            return self._affine(left, -1.0, number) if swapped else self._affine(left, 1.0, -number)
        if isinstance(node.op, ast.Mult):
            return self._affine(left, number, 0.0)
        if isinstance(node.op, ast.Div) and not swapped and number:
            return self._affine(left, 1.0 / number, 0.0)
        return None

    def _affine(self, recipe: Recipe, factor: float, offset: float) -> Recipe | None:
        if recipe.name or recipe.grad or recipe.structure or makers.is_whole(recipe) or (recipe.hint and not recipe.numpy):
            return None  # the library computes this
        values = folding.affine(recipe.values, factor, offset)
        return None if values is None else Recipe(recipe.shape, recipe.dtype, values, recipe.grad, numpy=recipe.numpy)

    def _compare(self, node: ast.Compare, scope: Scope) -> Meaning:
        operands = [self.value(part, scope) for part in (node.left, *node.comparators)]
        if all(isinstance(o, Known) for o in operands) and len(operands) == 2:
            left, right = (o.value for o in operands if isinstance(o, Known))
            return Known(folding.compare(node, left, right))
        if any(isinstance(o, Nothing) for o in operands):
            return Nothing()
        return Code(ast.Compare(self.draft.expression(operands[0], node), node.ops, [self.draft.expression(o, node) for o in operands[1:]]))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Meaning:
        base = self.value(node.value, scope)
        if isinstance(base, Nothing):
            return base
        if isinstance(base, Path):  # of a type, in an annotation
            return Nothing()
        if isinstance(base, (Known, Seq)):
            index = self._index_value(node.slice, scope)
            items = base.items if isinstance(base, Seq) else base.value
            try:
                found = items[index]
            except (TypeError, IndexError, KeyError):
                refuse(node, "there is no such item")
            if isinstance(base, Known):
                return Known(found)
            return Seq(found, base.kind) if isinstance(found, list) else found
        return Code(ast.Subscript(self.draft.expression(base, node), self._index(node.slice, scope), ast.Load()))

    def _index_value(self, node: ast.expr, scope: Scope) -> Any:
        if isinstance(node, ast.Slice):
            bounds = [None if part is None else self.value(part, scope) for part in (node.lower, node.upper, node.step)]
            return slice(*(part.value if isinstance(part, Known) else None for part in bounds))
        found = self.value(node, scope)
        return found.value if isinstance(found, Known) else None

    def _index(self, node: ast.expr, scope: Scope) -> ast.expr:
        if isinstance(node, ast.Slice):
            return ast.Slice(*(None if part is None else self.expression(part, scope) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(part, scope) for part in node.elts], ast.Load())
        return self.expression(node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Meaning:
        base = self.value(node.value, scope)
        if isinstance(base, Path):
            if node.attr in folding.CONSTANTS:
                return Known(folding.CONSTANTS[node.attr])
            return Path(f"{base.name}.{node.attr}")
        if isinstance(base, Nothing) or node.attr in ("grad", "requires_grad"):
            self.suspect.name(node.attr, node)
            return Nothing()
        if isinstance(base, Recipe):
            if node.attr == "shape":
                return Known(base.shape)
            if node.attr == "ndim":
                return Known(len(base.shape))
            if node.attr == "dtype":
                return Known(base.dtype)
            if node.attr == "data":
                return base
        if isinstance(base, (Known, Seq)):
            refuse(node, f"attribute {ascii(node.attr)[1:-1][:60]} of a plain value is not part of the language")
        return Code(ast.Attribute(self.draft.expression(base, node), node.attr, ast.Load()))

    def recipe(self, node: ast.Call, scope: Scope) -> Recipe:
        """`tensor(shape, dtype, values)`: the language's own form, with the slips that are common."""
        args = [self._recipe_part(part, scope, position) for position, part in enumerate(node.args)]
        keywords = [ast.keyword(k.arg, self._recipe_part(k.value, scope, k.arg)) for k in node.keywords]
        try:
            text = ast.unparse(ast.Assign([ast.Name("x")], ast.Call(ast.Name("tensor"), args, keywords), lineno=1))
            made = parse(text + "\n", self.idioms.language).statements[0].value
        except ProgramError as error:
            refuse(node, error.reason)
        return Recipe(made.shape, made.dtype, made.values, made.grad, made.layout, made.structure)

    def _recipe_part(self, node: ast.expr, scope: Scope, place: object) -> ast.expr:
        if place in (2, "values"):
            return self.distribution(node, scope)
        meaning = self.value(node, scope)
        if place in (1, "dtype"):
            dtype = makers.dtype_of(meaning, self.idioms)
            return ast.Constant(dtype) if dtype else self.draft.expression(meaning, node)
        found = known_items(meaning)
        if place in (0, "shape") and isinstance(found, Known):
            return self.draft.expression(Known((found.value,) if type(found.value) is int else tuple(found.value or ())), node)
        return self.draft.expression(found, node)

    def distribution(self, node: ast.expr, scope: Scope) -> ast.expr:
        """Values: a distribution with its arguments in their order, or plain numbers."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            args = [self.distribution(part, scope) for part in node.args]
            keywords = []
            for keyword in node.keywords:
                part = self.distribution(keyword.value, scope)
                if keyword.arg == "seed":
                    keywords.append(ast.keyword("seed", part))
                else:
                    args.append(part)
            return ast.Call(ast.Name(node.func.id), args, keywords)
        found = known_items(self.value(node, scope))
        return self.draft.expression(found, node)

    def plain_arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Meaning], dict[str, Meaning]]:
        args: list[Meaning] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                args.extend(self._spread(part, scope))
            else:
                args.append(self.value(part, scope))
        if any(k.arg is None for k in node.keywords):
            refuse(node, "** arguments are not part of the language")
        return args, {str(k.arg): self.value(k.value, scope) for k in node.keywords}
