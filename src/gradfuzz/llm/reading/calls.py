"""Calls: makers of tensors, functions of the text itself, what is looked through, what differentiates, and the library's own."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from gradfuzz.llm.reading import folding, makers
from gradfuzz.llm.reading.expressions import Expressions, Scope
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.reading.meanings import Code, Inline, Known, Meaning, Nothing, Path, Recipe, Seq, known_items, mark_asked, refuse

MOST_CALLS_DEEP = 12  # functions of the text that call each other


class Calls(Expressions):
    """What a call stands for."""

    def __init__(self, idioms: Idioms) -> None:
        super().__init__(idioms)
        self.inlined = 0
        self.printed: list[tuple[ast.expr, Scope]] = []

    def body(self, statements: list[ast.stmt], scope: Scope) -> Meaning | None:
        """Statements, one after the other; what they return, if they do."""
        raise NotImplementedError

    def _call(self, node: ast.Call, scope: Scope) -> Meaning:
        func = node.func
        if isinstance(func, ast.Name) and func.id not in scope:
            if func.id == "tensor":
                return self.recipe(node, scope)
            if func.id == "print":
                return self._print(node, scope)
        if isinstance(func, ast.Attribute):
            return self._member(node, func, scope)
        callee = self.value(func, scope)
        args, named = self.plain_arguments(node, scope)
        return self._called(node, callee, args, named)

    def _print(self, node: ast.Call, scope: Scope) -> Meaning:
        """What is printed has no part in the Program, unless nothing else is computed, or a function of the text is called there."""
        self.suspect.look(node)
        for part in node.args:
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and isinstance(scope.get(part.func.id), Inline):
                meaning = self.value(part, scope)
                if isinstance(meaning, Code):
                    self.draft.named(meaning, "y")
            elif isinstance(part, ast.Call):
                self.printed.append((part, dict(scope)))
        return Nothing()

    def _called(self, node: ast.Call, callee: Meaning, args: list[Meaning], named: dict[str, Meaning]) -> Meaning:
        if isinstance(callee, Path):
            return self._path(node, callee.name, args, named)
        if isinstance(callee, Inline):
            return self.inline(node, callee, args, named)
        if isinstance(callee, Nothing):
            return self._of_nothing("", args)
        if isinstance(callee, Code):
            return self._library(node, self.draft.named(callee, "m").node, args, named)
        refuse(node, "only functions of the library, methods and modules can be called")

    def _member(self, node: ast.Call, func: ast.Attribute, scope: Scope) -> Meaning:
        """`base.name(…)`: a function of the library, or a method of a value."""
        base = self.value(func.value, scope)
        args, named = self.plain_arguments(node, scope)
        if isinstance(base, Path):
            return self._path(node, f"{base.name}.{func.attr}", args, named)
        if isinstance(base, Nothing):
            self.suspect.name(func.attr, func)
            return self._of_nothing(func.attr, args)
        if isinstance(base, Recipe):
            made = self._recipe_method(base, func.attr, args, named)
            if made is not None:
                return made
        if isinstance(base, Code):
            done = self._code_method(node, base, func.attr, args)
            if done is not None:
                return done
        if isinstance(base, (Known, Seq, Inline)):
            refuse(node, f"method {ascii(func.attr)[1:-1][:60]} of a plain value is not part of the language")
        receiver = self.draft.expression(base, node, func.value.id if isinstance(func.value, ast.Name) else "x")
        return self._library(node, ast.Attribute(receiver, func.attr, ast.Load()), args, named)

    def _of_nothing(self, name: str, args: list[Meaning]) -> Meaning:
        """`tape.gradient(loss, x)` and its like: the first thing computed among the arguments is what is differentiated."""
        for argument in args:
            if isinstance(argument, Recipe) and name == "watch":
                argument.grad = True
            if isinstance(argument, Code) and name != "watch":
                self.draft.outputs(argument)
                break
        return Nothing()

    # Names of the library ------------------------------------------------------------------------------------------------

    def _path(self, node: ast.Call, name: str, args: list[Meaning], named: dict[str, Meaning]) -> Meaning:
        idioms = self.idioms
        path = name if name.partition(".")[0] in ("numpy", "math", "builtins") else idioms.language.expand(name)
        if path in idioms.objects:
            return Path(idioms.objects[path])
        if path in idioms.makers:
            made = self._made(node, path, args, named)
            if made is not None:
                return made
        if path in idioms.variables and args:
            made = self._variable(known_items(args[0]))
            if made is not None:
                return made
        if path in idioms.shapes and args and isinstance(args[0], Recipe):
            return Known(args[0].shape)
        if path in idioms.derivatives:
            return self._derivative(node, args, named)
        if path in idioms.mapped and args and isinstance(args[0], Inline):
            return args[0]
        if path in idioms.through and args:
            return args[0]
        if idioms.is_ignored(path):
            return Nothing()
        if path.startswith(("numpy.", "math.", "builtins.")):
            return self._plain(node, path, args)
        return self._library(node, self.draft.expression(Path(path), node), args, named)

    def _made(self, node: ast.Call, path: str, args: list[Meaning], named: dict[str, Meaning]) -> Meaning | None:
        try:
            kind, given = makers.arguments_of(self.idioms.makers[path], args, named, self.idioms)
            made = makers.make(kind, given, self.idioms, self.draft.seed())
        except makers.Unread:
            return None
        mark = named.get("requires_grad")
        if isinstance(made, Recipe) and isinstance(mark, Known):
            made = Recipe(made.shape, made.dtype, made.values, bool(mark.value), made.layout, made.structure)
        if isinstance(made, Recipe):
            made = replace(made, numpy=path.startswith("numpy."), hint="" if made.numpy else made.hint)
        return self._variable(made) if path in self.idioms.variables else made

    def _variable(self, base: Meaning) -> Meaning | None:
        """A tensor that is to be differentiated."""
        if isinstance(base, Known) and type(base.value) in (int, float, list, tuple):
            try:
                base = makers.make("data", {"data": base}, self.idioms, 0)
            except makers.Unread:
                return None
        if isinstance(base, Recipe):
            dtype = "float64" if base.dtype == "int64" else base.dtype
            return Recipe(base.shape, dtype, base.values, True, base.layout, base.structure)
        return base if isinstance(base, Code) else None

    def _derivative(self, node: ast.Call, args: list[Meaning], named: dict[str, Meaning]) -> Meaning:
        """Of a function of the text: the function. Of something computed: that is the output."""
        first = args[0] if args else next(iter(named.values()), Nothing())
        if isinstance(first, (Inline, Path)):
            rest = args[1:]
            if rest and not isinstance(rest[0], Nothing) and self._are_inputs(rest):
                inputs = rest[0].items if isinstance(rest[0], Seq) else rest
                mark_asked(inputs)
                result = self._called(node, first, list(inputs), {})
                self.draft.outputs(result)
                return Nothing()
            return replace(first, derived=True) if isinstance(first, Inline) else first
        if isinstance(first, Code):
            self.draft.outputs(first)
        return Nothing()

    @staticmethod
    def _are_inputs(args: list[Meaning]) -> bool:
        items = args[0].items if isinstance(args[0], Seq) else args
        return any(isinstance(item, (Recipe, Code)) for item in items)

    def _plain(self, node: ast.Call, path: str, args: list[Meaning]) -> Meaning:
        """Functions of math, of NumPy and of Python itself, of numbers that stand in the text."""
        name = path.rpartition(".")[2]
        function = folding.BUILTINS.get(name) if path.startswith("builtins.") else folding.FUNCTIONS.get(name)
        values = [known_items(argument) for argument in args]
        if function is not None and all(isinstance(value, Known) for value in values):
            return Known(folding.call(node, function, [value.value for value in values if isinstance(value, Known)]))
        if name in ("tuple", "list") and len(args) == 1 and isinstance(args[0], Seq):
            return Seq(args[0].items, tuple if name == "tuple" else list)
        if path.startswith("builtins.") and any(isinstance(value, (Nothing, Code)) for value in values) and name in ("float", "int", "len"):
            return Nothing()  # a number taken out of a tensor, to be shown
        self.suspect.name(name, node)
        refuse(node, f"{path} is outside the library; compute with {self.idioms.language.namespaces[0]} instead")

    def _library(self, node: ast.Call, func: ast.expr, args: list[Meaning], named: dict[str, Meaning]) -> Code:
        """A call that the library answers."""
        hints = [part.id if isinstance(part, ast.Name) else "x" for part in node.args] if len(args) == len(node.args) else ["x"] * len(args)
        arguments = [self.draft.expression(value, node, hint) for value, hint in zip(args, hints, strict=True)]
        keywords = [
            ast.keyword(key, self.draft.expression(value, node, key))
            for key, value in named.items()
            if key not in self.idioms.dropped_keywords
        ]
        return Code(ast.Call(func, arguments, keywords))

    # Methods -------------------------------------------------------------------------------------------------------------

    def _recipe_method(self, base: Recipe, name: str, args: list[Meaning], named: dict[str, Meaning]) -> Meaning | None:
        """What a method makes of a tensor that is still a recipe; None where the library has to compute it."""
        does = self.idioms.methods.get(name)
        known: list[Any] = [argument.value if isinstance(argument, Known) else None for argument in map(known_items, args)]
        if name in ("size", "dim") and all(type(k) is int for k in known):
            return Known(len(base.shape) if name == "dim" else base.shape[known[0]] if known else base.shape) if does == "asked" else None
        if does in ("same", "through"):
            return base
        if does == "grad":
            base.grad = known[0] if known and isinstance(known[0], bool) else True
            return base
        if does == "nothing":
            return Nothing()
        if base.name or does is None:
            return None
        if does == "shape":
            sizes = tuple(known[0]) if len(known) == 1 and isinstance(known[0], (tuple, list)) else tuple(known)
            shape = makers.reshaped(base.shape, sizes) if all(type(n) is int for n in sizes) else None
            return None if shape is None else Recipe(shape, base.dtype, base.values, base.grad)
        if does.startswith("cast"):
            chosen = does.partition(":")[2] or next(
                (d for d in (makers.dtype_of(a, self.idioms) for a in (*args, *named.values())) if d), ""
            )
            return Recipe(base.shape, makers.settled(chosen or base.dtype, self.idioms), base.values, base.grad)
        try:
            kind, given = makers.arguments_of(does, args, named, self.idioms)
            return makers.make(kind, given, self.idioms, self.draft.seed(), of=base)
        except makers.Unread:
            return None

    def _code_method(self, node: ast.Call, base: Code, name: str, args: list[Meaning]) -> Meaning | None:
        does = self.idioms.methods.get(name)
        if does == "output":
            self.draft.outputs(base)
            return Nothing()
        moved = does == "cast" and any(isinstance(argument, Nothing) for argument in args)  # to a device
        if does in ("nothing", "grad", "through") or moved:
            return Nothing() if does == "nothing" else base
        if self._is_module(base) and does is not None and (does == "same" or does.startswith(("cast", "module"))):
            if does == "module" and base.line is not None:  # the mode that it is in from the start
                base.line.node = ast.Call(ast.Attribute(base.line.node, name, ast.Load()), [], [])
            return base
        return None

    def _is_module(self, base: Code) -> bool:
        """Whether this was made by a class of the library: those begin with a capital."""
        made = base.line.node if base.line is not None else base.node
        while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call):
            made = made.func.value
        return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr[:1].isupper()

    # Functions of the text -------------------------------------------------------------------------------------------------

    def inline(self, node: ast.Call, function: Inline, args: list[Meaning], named: dict[str, Meaning]) -> Meaning:
        """The body with the arguments in their places."""
        parameters = [*function.arguments.posonlyargs, *function.arguments.args]
        if function.arguments.kwarg is not None or len(args) > len(parameters) + (function.arguments.vararg is not None) * len(args):
            refuse(node, "this call does not fit the function it calls")
        scope = dict(function.scope)
        optional = [*parameters[len(parameters) - len(function.arguments.defaults) :]]
        for parameter, default in zip(optional, function.arguments.defaults, strict=True):
            scope[parameter.arg] = self.value(default, function.scope)
        for keyword, value in zip(function.arguments.kwonlyargs, function.arguments.kw_defaults, strict=True):
            if value is not None:
                scope[keyword.arg] = self.value(value, function.scope)
        allowed = {p.arg for p in (*parameters, *function.arguments.kwonlyargs)}
        given = dict(zip((p.arg for p in parameters), args)) | {k: v for k, v in named.items() if k in allowed}
        for name, meaning in given.items():
            scope[name] = self.draft.named(meaning, name) if isinstance(meaning, Code) else meaning
        if function.arguments.vararg is not None:
            scope[function.arguments.vararg.arg] = Seq(args[len(parameters) :])
        missing = [p.arg for p in parameters if p.arg not in scope]
        if missing:
            refuse(node, f"the function is called without {', '.join(missing)}")
        if function.derived:
            mark_asked(args)
            self.draft.outputs(self.inline(node, replace(function, derived=False), args, named))
            return Nothing()
        self.inlined += 1
        if self.inlined > MOST_CALLS_DEEP:
            refuse(node, f"functions call each other more than {MOST_CALLS_DEEP} deep")
        try:
            return self.body(function.body, scope) or Nothing()
        finally:
            self.inlined -= 1
