"""Programs as callables: each expression becomes a small closure over the target's functions, built once."""

from __future__ import annotations

import contextlib
import importlib
import operator
from types import ModuleType
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.program import gate
from gradfuzz.program.language import Language
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Ref, Slice
from gradfuzz.targets.base.kinds import Kinds

Env = dict[str, Any]
Thunk = Callable[[Env], Any]
Steps = list[tuple[tuple[str, ...], Thunk]]  # what a Program computes, in order: the names it gives, and the closure

# Closures that are kept for the mutants to come; a seed's mutants share most of theirs.
MOST_STATEMENTS = 10_000

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert,
}  # fmt: skip


def resolve(path: str, language: Language, kinds: Kinds | None = None) -> Any:
    """The object behind an API name, of a kind that the target lists. ProgramError for any other."""
    reason = language.refusal(path)
    if reason:
        raise ProgramError(reason)
    kinds = kinds or Kinds(language)
    best = max((s for s in language.namespaces if path.startswith(s.rstrip("*").rstrip(".") + ".")), key=len, default="")
    root = path.split(".")[0]
    module, rest = importlib.import_module(language.modules.get(root, root)), path.split(".")[1:]
    if best and best != root:
        with contextlib.suppress(ImportError):
            module, rest = importlib.import_module(best), path[len(best) + 1 :].split(".")
    found: Any = module
    for segment in rest:
        if not isinstance(found, ModuleType):
            kinds.check_member(path, found, segment)
        try:
            found = getattr(found, segment)
        except (AttributeError, RuntimeError):
            raise ProgramError(f"{path} does not exist in this version of {language.target}") from None
    kinds.check_named(path, found)
    return found


def run_steps(steps: Steps, env: Env) -> Any:
    """Compute the steps, one after the other; what they give joins the environment. Returns what the last one gives."""
    value: Any = None
    for names, thunk in steps:
        value = thunk(env)
        if len(names) == 1:
            env[names[0]] = value
        elif names:
            env.update(zip(names, value))
    return value


class Compiler:
    """Turns expressions into closures. `is_module_class` says what makes modules.

    Nothing of a Program runs but through here, and nothing becomes a closure but what has passed the gate: the statement as data, each
    name by what it stands for, and at run time each receiver of a method by its type, which costs a look into a set.
    """

    def __init__(self, language: Language, is_module_class: Callable[[Any], bool] = lambda _: False) -> None:
        self.language = language
        self.is_module_class = is_module_class
        self.kinds = Kinds(language)
        self._resolved: dict[str, Any] = {}
        self._statements: dict[int, tuple[Let, Thunk, bool]] = {}
        self.traits: dict[tuple[int, ...], tuple[bool, bool]] = {}  # what a target learnt about a sequence of closures

    def statement(self, statement: Let) -> tuple[Let, Thunk, bool]:
        """(the statement, its closure, whether it constructs a module), remembered: most mutants share their calls."""
        found = self._statements.get(id(statement))
        if found is None or found[0] is not statement:
            if len(self._statements) > MOST_STATEMENTS:
                self._statements.clear()
                self.traits.clear()
            gate.check_statement(statement, self.language)
            found = (statement, self.closure(statement.value), self.is_constructor(statement.value))
            self._statements[id(statement)] = found
        return found

    def forget(self) -> None:
        """Closures, and what was learnt about them, are of use within one batch alone."""
        self._statements.clear()
        self.traits.clear()

    def resolve(self, path: str) -> Any:
        if path not in self._resolved:
            self._resolved[path] = resolve(path, self.language, self.kinds)
        return self._resolved[path]

    def is_constructor(self, value: Expr) -> bool:
        """Whether an expression makes a module, perhaps with `.eval()` and the like behind it."""
        while isinstance(value, Call) and value.func[0] == "." and value.args and isinstance(value.args[0], Call):
            value = value.args[0]
        if not isinstance(value, Call) or "." not in value.func or value.func[0] == ".":
            return False
        return self.is_module_class(self.resolve(value.func))

    def thunk(self, node: Expr) -> Thunk:
        """The closure of one expression."""
        gate.check_expression(node, self.language)
        return self.closure(node)

    def closure(self, node: Expr) -> Thunk:
        """The closure of an expression that has passed the gate. A target may put something around it."""
        if isinstance(node, Ref):
            name = node.name
            return lambda env: env[name]
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Item):
            base, index = self.closure(node.base), self.closure(node.index)
            return lambda env: base(env)[index(env)]
        if isinstance(node, Attr):
            return self._attribute(self.closure(node.base), node.name)
        if self.is_constant(node):
            value = self.constant(node)
            return lambda env: value
        if isinstance(node, (tuple, list)):
            kind, parts = type(node), [self.closure(part) for part in node]
            return lambda env: kind([part(env) for part in parts])
        if isinstance(node, Slice):
            bounds = [self.closure(part) for part in (node.start, node.stop, node.step)]
            return lambda env: slice(*[part(env) for part in bounds])
        raise ProgramError(f"cannot run {node!r}")

    def is_constant(self, node: Expr) -> bool:
        if isinstance(node, (Ref, Call, Item, Attr)):
            return False
        if isinstance(node, (tuple, list)):
            return all(self.is_constant(part) for part in node)
        if isinstance(node, Slice):
            return all(self.is_constant(part) for part in (node.start, node.stop, node.step))
        return True

    def constant(self, node: Expr) -> Any:
        if isinstance(node, Name):
            return self.resolve(node.path)
        if isinstance(node, (tuple, list)):
            return type(node)([self.constant(part) for part in node])
        if isinstance(node, Slice):
            return slice(*(self.constant(part) for part in (node.start, node.stop, node.step)))
        return node

    def _called(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """How a Program's `m(x)` runs, for an m that an API returned."""
        self.kinds.check_called(value)
        return value(*args, **kwargs)

    def _method(self, name: str) -> Callable[..., Any]:
        """How a Program's `x.name(…)` runs. Types that were let through are remembered: most receivers are tensors."""
        known: set[type] = set()

        def run(receiver: Any, *rest: Any, **named: Any) -> Any:
            if type(receiver) not in known:
                self.kinds.check_method(receiver, name)
                known.add(type(receiver))
            return getattr(receiver, name)(*rest, **named)

        return run

    def _attribute(self, base: Thunk, name: str) -> Thunk:
        known: set[type] = set()

        def run(env: Env) -> Any:
            receiver = base(env)
            if type(receiver) not in known:
                self.kinds.check_attribute(receiver, name)
                known.add(type(receiver))
            return getattr(receiver, name)

        return run

    def _call(self, call: Call) -> Thunk:
        """A call whose constants are laid out once; a run only fills in what varies."""
        args, kwargs = call.args, call.kwargs
        if call.func in OPERATORS:
            func = OPERATORS[call.func]
        elif call.func == "()":
            func = self._called
        elif call.func[0] == ".":
            func = self._method(call.func[1:])
        else:
            func = self.resolve(call.func)
            if not callable(func):
                raise ProgramError(f"{call.func} is not a function")
        template = [self.constant(a) if self.is_constant(a) else None for a in args]
        varying = [(i, self.closure(a)) for i, a in enumerate(args) if not self.is_constant(a)]
        named = {k: self.constant(v) if self.is_constant(v) else None for k, v in kwargs}
        named_varying = [(k, self.closure(v)) for k, v in kwargs if not self.is_constant(v)]

        def run(env: Env) -> Any:
            actual = template[:]
            for i, value in varying:
                actual[i] = value(env)
            if not named:
                return func(*actual)
            if not named_varying:
                return func(*actual, **named)
            actual_named = dict(named)
            for key, value in named_varying:
                actual_named[key] = value(env)
            return func(*actual, **actual_named)

        return run
