"""A whole Program over jets: its floating outputs at its very inputs, with their derivatives along the given directions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from flint import acb, arb

from gradfuzz.program.model import Attr, Call, Expr, Item, Program, Ref, Slice, Tensor, walk
from gradfuzz.program.values import materialise
from gradfuzz.reference.arrays import Array, box, elementwise, is_jets, lift
from gradfuzz.reference.jet import Jet
from gradfuzz.reference.moves import MODULE, Asked, Moves, ask
from gradfuzz.reference.semantics import meanings
from gradfuzz.reference.semantics.linalg import Singular
from gradfuzz.reference.spell import OPERATORS, Book, NoMeaning, Reading, _bound

# What semantics raise for arguments that they do not take: the call is another function than the one they know.
OTHER = (NotImplementedError, TypeError, ValueError, LookupError, AttributeError, ZeroDivisionError, AssertionError, RecursionError)


# What puts a module into the one mode or the other, and what a table calls it.
MODES = {".eval": False, ".train": True}
TRAINING = "training"


class Unmoved(Exception):
    """Calls that the library has to be asked about first."""

    def __init__(self, asked: Asked) -> None:
        super().__init__("a move")
        self.asked = asked


@dataclass(frozen=True)
class Made:
    """A module: by what is known of its class, or, if that is nothing, by the call that made it."""

    name: str
    maker: Call
    reading: Reading | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Jitter:
    """Rounds inputs and what each call gives by so many parts, up or down by chance: what arithmetic of a type does at least."""

    unit: float
    seed: int
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def round(self, x: Array) -> Array:
        return elementwise(lambda a: a.map(self._nudged), x)

    def _nudged(self, ball: Any) -> Any:
        if isinstance(ball, acb):
            return acb(self._nudged(ball.real), self._nudged(ball.imag))
        return ball * (1 + arb(self.unit) * self.chance.choice((-1, 1)))


class Evaluation:
    """One run over jets. `moves`: what the library has said about calls that only move things."""

    def __init__(self, book: Book, leaves: Mapping[str, Array], moves: Moves, dtype: str, jitter: Jitter | None = None) -> None:
        self.book, self.leaves, self.moves, self.dtype, self.jitter = book, leaves, moves, dtype, jitter
        self.env: dict[str, Any] = {}

    def run(self, program: Program) -> list[Array]:
        """The floating outputs, flattened. NoMeaning, or Unmoved where the library has to be asked first."""
        value: Any = None
        for statement in program.statements:
            recipe = statement.value
            if isinstance(recipe, Tensor):
                self.env[statement.names[0]] = self._input(statement.names[0], recipe)
                continue
            value = self._statement(statement.names, recipe)
            if len(statement.names) == 1:
                self.env[statement.names[0]] = value
            elif statement.names:
                self.env.update(zip(statement.names, value))
        return [x for x in _flat(value) if is_jets(x)]

    def _input(self, name: str, recipe: Tensor) -> Array:
        if name in self.leaves:
            found = self.leaves[name]
        elif recipe.discrete:
            return materialise(recipe)
        else:
            given = materialise(recipe)
            found = lift(given)
            if np.array_equal(given, np.round(given)):
                return found  # labels and counts are no roundings of anything, and choose between functions
        return found.copy() if self.jitter is None else self.jitter.round(found)

    def _statement(self, names: tuple[str, ...], node: Expr) -> Any:
        made = self._module(names, node)
        return self.value(node) if made is None else made

    def _module(self, names: tuple[str, ...], node: Expr) -> Made | None:
        """`m = library.Module(…)`, perhaps with a method of modules behind it."""
        if not isinstance(node, Call) or len(names) != 1:
            return None
        if node.func in MODES and len(node.args) == 1:
            made = self._module(names, node.args[0])
            return made and replace(made, maker=node, given={**made.given, TRAINING: MODES[node.func]})
        if node.func[0] != "." and "." in node.func:
            reading, _ = self.book.find(node.func)
            if reading is not None and reading.called is not None:
                given = reading.bind(tuple(self.value(a) for a in node.args), {k: self.value(v) for k, v in node.kwargs})
                return Made(names[0], node, reading, {TRAINING: True, **given})
            if reading is None and not any(isinstance(part, Ref) for part in walk(node)) and node.func.rsplit(".", 1)[1][:1].isupper():
                return Made(names[0], node)
        return None

    def value(self, node: Expr) -> Any:
        if isinstance(node, Ref):
            return self.env[node.name]
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Item):
            base, index = self.value(node.base), self.value(node.index)
            return self._item(base, index)
        if isinstance(node, Attr):
            return self._attribute(self.value(node.base), node.name)
        if isinstance(node, (tuple, list)):
            return type(node)([self.value(part) for part in node])
        if isinstance(node, Slice):
            return slice(*(self.value(part) for part in (node.start, node.stop, node.step)))
        return node

    def _item(self, base: Any, index: Any) -> Any:
        if isinstance(base, np.ndarray):
            if isinstance(index, list):
                index = np.asarray(index)
            try:
                return box(base[index])
            except IndexError as error:
                raise NoMeaning(str(error)) from None
        return base[index]

    def _attribute(self, base: Any, name: str) -> Any:
        reading, _ = self.book.find("." + name)
        if reading is None or not isinstance(base, np.ndarray):
            raise NoMeaning(f"the attribute {name}")
        return reading.value(reading.bind((base,), {}))

    def _call(self, call: Call) -> Any:
        args = tuple(self.value(a) for a in call.args)
        kwargs = {k: self.value(v) for k, v in call.kwargs}
        try:
            found = self._meaning(call, args, kwargs)
        except Singular as error:
            raise NoMeaning(str(error)) from None
        except OTHER as error:
            raise NoMeaning(f"{call.func}: {type(error).__name__}: {error}") from None
        return found if self.jitter is None else _each_array(found, self.jitter.round)

    def _meaning(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if call.func in OPERATORS:
            return meanings()[OPERATORS[call.func]](*args)
        if call.func == "()":
            return self._module_call(args, kwargs)
        reading, in_place = self.book.find(call.func)
        if reading is None or reading.called is not None:
            return self._move(Call(call.func, args, tuple(kwargs.items())))
        goal = args[0] if in_place else None
        if self.book.written in kwargs and self.book.written not in reading.signature.parameters:
            goal = kwargs.pop(self.book.written)
        found = reading.value(reading.bind(args, kwargs))
        if isinstance(goal, np.ndarray) and isinstance(found, np.ndarray):
            if found.shape != goal.shape:
                raise NoMeaning("a call that writes to what has another shape")
            goal[...] = found
            return goal
        if goal is not None and not in_place:
            raise NoMeaning("a call that writes to more than an array")
        return found

    def _module_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module = args[0]
        if not isinstance(module, Made):
            raise NoMeaning("a call of something unknown")
        prefix = module.name + "."
        parameters = {name[len(prefix) :]: x for name, x in self.leaves.items() if name.startswith(prefix)}
        if module.reading is None or module.reading.called is None:
            if parameters:
                raise NoMeaning(module.maker.func)
            return self._move(Call("()", (Ref(MODULE), *args[1:]), tuple(kwargs.items())), module.maker)
        given = _bound(module.reading.called, args[1:], kwargs)
        return module.reading.value({**module.given, **given}, parameters)

    def _move(self, call: Call, maker: Call | None = None) -> Any:
        if any(isinstance(part, Made) for part in call.args):
            raise NoMeaning(call.func)
        asked, flat = ask(call, self.dtype, maker)
        move = self.moves.find(asked)
        if move is None:
            raise Unmoved(asked)
        found = move.apply(flat)
        if not found:
            raise NoMeaning(f"{call.func}: no floating output")
        return found[0] if len(found) == 1 else tuple(found)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [x for part in value.values() for x in _flat(part)]
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in _flat(part)]
    return [box(value) if isinstance(value, Jet) else value]


def _each_array(value: Any, function: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_each_array(part, function) for part in value])
    return function(value) if is_jets(value) else value


def numbers_of(arrays: Sequence[Array]) -> list[Any]:
    return [x for a in arrays for x in a.ravel()]
