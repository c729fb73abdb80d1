"""Random typed graphs: every call is chosen so that it fits the shapes, types and numbers that it is given.

Numbers are followed through the graph by the vocabulary's tables. Before a function that lives on part of the line only, they are
brought there by a safe op, and spread over the whole of it, so that nothing saturates and every derivative says something.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz.chains.blame import needed
from gradfuzz.graphs.vocabulary import Vocabulary
from gradfuzz.program.language import language_for
from gradfuzz.program.model import Call, Expr, Item, Let, Program, Ref, Slice, Tensor, Values, rebuild, walk
from gradfuzz.program.parse import parse
from gradfuzz.program.values import materialise

Array = Any

_DATA = json.loads(Path(__file__).with_name("dialect.json").read_text())["targets"]

SMALLEST, LARGEST = 3, 30
MOST_ELEMENTS = 48
MOST_OUTPUTS = 4
# What is drawn how often. Casts to the lower precision lose digits on purpose, so they are rare.
KINDS = {
    "unary": 40, "binary": 20, "operator": 14, "reduce": 7, "product": 8, "index": 5, "transpose": 3, "flatten": 2, "concat": 4,
    "stack": 2, "where": 4, "mask": 3, "single": 0.5,
}  # fmt: skip
OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply}
TRIES = 12
# Numbers that come within this part of an interval's width of its ends are moved inwards: tables are not exact.
MARGIN = 0.08
# A spread smaller than this part of the size, or than this in all, is next to a constant: stretching it would stretch its rounding too.
NARROW = 0.02
LEAST_WIDTH = 0.02


@dataclass
class Node:
    """One variable: its name, numbers much like its own, and how many calls use it."""

    name: str
    sample: Array
    uses: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sample.shape)


@lru_cache(maxsize=8)
def dialect(target: str) -> dict[str, Expr]:
    """The target's spelling of what is not found by trying, as expressions over a, b, c, d."""
    language = language_for(target)
    inputs = "".join(f'{name} = tensor((), "float64", full(1.0))\n' for name in "abcd")
    found = {}
    for kind, text in _DATA[target].items():
        found[kind] = parse(f"{inputs}y = {text}\n", language).statements[-1].value
    return found


def known_dialects() -> list[str]:
    return sorted(_DATA)


class Builder:
    """Builds one graph. `size` is the number of calls, those of safe ops included."""

    def __init__(self, target: str, words: Vocabulary, seed: str, size: int | None = None) -> None:
        self.words, self.dialect = words, dialect(target)
        self.chance = random.Random(seed)
        self.size = size or round(SMALLEST * (LARGEST / SMALLEST) ** self.chance.random())
        self.statements: list[Let] = []
        self.nodes: list[Node] = []
        self.calls = 0

    def build(self) -> Program:
        self._inputs()
        kinds, weights = list(KINDS), list(KINDS.values())
        tries = 0
        while self.calls < self.size and tries < TRIES * self.size:
            tries += 1
            getattr(self, "_" + self.chance.choices(kinds, weights)[0])()
        return self._closed()

    def _inputs(self) -> None:
        rows, columns, inner = (self.chance.randint(2, 4) for _ in range(3))
        shapes = [(rows, columns), (columns, inner), (columns,), (rows, 1), (), (2, rows, columns), (1, columns)]
        chosen = [shapes[0], *self.chance.sample(shapes, self.chance.randint(0, 3))]
        for number, shape in enumerate(chosen):
            recipe = Tensor(shape, "float64", Values("uniform", (-1.5, 1.5), self.chance.randrange(1 << 16)))
            self._add(Let((f"x{number}",), recipe), materialise(recipe))

    def _closed(self) -> Program:
        """What nobody uses is an output; inputs that nobody uses are left out."""
        ends = [n for n in self.nodes if n.uses == 0 and not n.name.startswith("x")]
        unused = {n.name for n in self.nodes if n.uses == 0 and n.name.startswith("x")}
        kept = [s for s in self.statements if s.names[0] not in unused]
        if len(ends) > 1:
            kept.append(Let(("out",), tuple(Ref(n.name) for n in ends[-MOST_OUTPUTS:])))
            kept = needed(kept)
        return Program(tuple(kept))

    # Nodes -----------------------------------------------------------------------------------------------------------

    def _add(self, statement: Let, sample: Array) -> Node:
        node = Node(statement.names[0], np.asarray(sample, float))
        self.statements.append(statement)
        self.nodes.append(node)
        return node

    def _call(self, value: Expr, sample: Array, *used: Node) -> Node | None:
        """A new variable; None if its numbers leave all bounds."""
        if not np.isfinite(sample).all() or sample.size > MOST_ELEMENTS or not sample.size:
            return None
        for node in used:
            node.uses += 1
        self.calls += sum(1 for part in walk(value) if isinstance(part, (Call, Item)))
        return self._add(Let((f"y{len(self.statements)}",), value), sample)

    def _pick(self, fits: Any = lambda node: True) -> Node | None:
        """One of the nodes; recent ones and those that nobody uses yet are likelier."""
        fitting = [n for n in self.nodes if fits(n)]
        if not fitting:
            return None
        weights = [(3.0 if n.uses == 0 else 1.0) * (1.0 + i / len(fitting)) for i, n in enumerate(fitting)]
        return self.chance.choices(fitting, weights)[0]

    def _named(self, kind: str, sample: Array, *used: Node) -> Node | None:
        names = dict(zip("abcd", (n.name for n in used)))

        def change(node: Expr) -> Expr:
            return Ref(names[node.name]) if isinstance(node, Ref) else rebuild(node, change)

        return self._call(change(self.dialect[kind]), sample, *used)

    # Steering --------------------------------------------------------------------------------------------------------

    def _steered(self, node: Node, low: float, high: float) -> Node | None:
        """The node, or a safe op of it, with numbers spread over the interval."""
        margin = MARGIN * (high - low)
        low, high = low + margin, high - margin
        least, most = float(node.sample.min()), float(node.sample.max())
        width = most - least
        if least >= low and most <= high and (node.sample.size == 1 or width > 0.3 * (high - low)):
            return node
        way = self.chance.random()
        if node.sample.size > 1 and width < max(LEAST_WIDTH, NARROW * max(abs(least), abs(most))):
            way = 1.0  # next to a constant: move it, and do not stretch it
            width = max(1.0, abs(least), abs(most))
        if way < 0.25 and width < 8.0:
            size = max(abs(least), abs(most), 0.3) / 1.2
            inner = Call("*", (Ref(node.name), _short(1 / size)))
            squashed = self._substituted("tanh", inner)
            half, middle = _short((high - low) / 2 / 0.84), _short((low + high) / 2)
            sample = np.tanh(node.sample * _short(1 / size)) * half + middle
            return self._call(_affine(squashed, half, middle), sample, node)
        if way < 0.35 and low > 0 and least * most < 0:
            factor, offset = _short((high - low) / max(-least, most)), _short(low)
            folded = self._substituted("abs", Ref(node.name))
            return self._call(_affine(folded, factor, offset), np.abs(node.sample) * factor + offset, node)
        if way < 0.5 and low > 0:
            factor = _short(float(np.log(high / low)) / (width or 1.0))
            offset = _short(float(np.log(low)) - factor * least)
            exponent = _affine(Ref(node.name), factor, offset)
            return self._call(self._substituted("exp", exponent), np.exp(node.sample * factor + offset), node)
        factor = _short((high - low) / (width or 2 * max(1.0, abs(most))))
        offset = _short((low + high) / 2 - factor * (least + most) / 2)
        return self._call(_affine(Ref(node.name), factor, offset), node.sample * factor + offset, node)

    def _substituted(self, kind: str, operand: Expr) -> Expr:
        def change(node: Expr) -> Expr:
            return operand if isinstance(node, Ref) else rebuild(node, change)

        return change(self.dialect[kind])

    # Calls -----------------------------------------------------------------------------------------------------------

    def _unary(self) -> None:
        word = self.chance.choice(self.words.unary)
        node = self._pick()
        node = self._steered(node, word.low, word.high) if node else None
        if node is not None:
            self._call(Call(word.func, (Ref(node.name),)), word.values(node.sample), node)

    def _pair(self) -> tuple[Node, Node] | None:
        """Two nodes whose shapes can be broadcast together to something small."""
        first = self._pick()
        second = self._pick(lambda n: first is not None and _broadcast(first.shape, n.shape) is not None)
        return (first, second) if first is not None and second is not None else None

    def _binary(self) -> None:
        pair = self._pair()
        if pair is None or not self.words.binary:
            return
        word = self.chance.choice(self.words.binary)
        first, second = self._steered(pair[0], *word.first), self._steered(pair[1], *word.second)
        if first is not None and second is not None:
            self._call(Call(word.func, (Ref(first.name), Ref(second.name))), word.values(first.sample, second.sample), first, second)

    def _operator(self) -> None:
        pair = self._pair()
        if pair is None:
            return
        name = self.chance.choice(list(OPERATORS))
        first, second = pair
        if first is second and name == "-":
            return
        self._call(Call(name, (Ref(first.name), Ref(second.name))), OPERATORS[name](first.sample, second.sample), first, second)

    def _reduce(self) -> None:
        node = self._pick(lambda n: n.shape and n.shape[-1] > 1)
        if node is None or not self.words.reductions:
            return
        word = self.chance.choice(self.words.reductions)
        node = self._steered(node, word.low, word.high)
        if node is None:
            return
        whole = self.chance.random() < 0.3
        shape = () if whole else node.shape[:-1]
        # What comes out is known as a range only: numbers from it stand for it.
        stand_in = np.random.default_rng(self.chance.randrange(1 << 30)).uniform(word.least, word.most, shape)
        self._call(Call(word.func, (Ref(node.name),), () if whole else ((word.axis, -1),)), stand_in, node)

    def _product(self) -> None:
        first = self._pick(lambda n: len(n.shape) >= 2)
        if first is None:
            return
        second = self._pick(lambda n: len(n.shape) == 2 and n.shape[0] == first.shape[-1])
        if second is None:
            return
        if self.words.products and len(first.shape) == 2 and self.chance.random() < 0.5:
            func = self.chance.choice(self.words.products)
        else:
            func = "@"
        self._call(Call(func, (Ref(first.name), Ref(second.name))), first.sample @ second.sample, first, second)

    def _index(self) -> None:
        node = self._pick(lambda n: n.shape and n.shape[0] > 1)
        if node is None:
            return
        index = self.chance.choice([0, -1, Slice(1, None, None), Slice(None, -1, None), Slice(None, None, 2), (..., 0), (..., None)])
        self._call(Item(Ref(node.name), index), np.asarray(node.sample[_python(index)]), node)

    def _transpose(self) -> None:
        node = self._pick(lambda n: len(n.shape) >= 2)
        if node is not None:
            self._named("transpose", node.sample.swapaxes(-1, -2), node)

    def _flatten(self) -> None:
        node = self._pick(lambda n: len(n.shape) >= 2)
        if node is not None:
            self._named("flatten", node.sample.reshape(-1), node)

    def _concat(self) -> None:
        first = self._pick(lambda n: n.shape)
        second = self._pick(lambda n: first is not None and len(n.shape) == len(first.shape) and n.shape[1:] == first.shape[1:])
        if first is not None and second is not None:
            self._named("concat", np.concatenate([first.sample, second.sample]), first, second)

    def _stack(self) -> None:
        first = self._pick(lambda n: len(n.shape) < 3)
        second = self._pick(lambda n: first is not None and n.shape == first.shape)
        if first is not None and second is not None:
            self._named("stack", np.stack([first.sample, second.sample]), first, second)

    def _where(self) -> None:
        nodes = self._same_shape(4)
        if nodes:
            a, b, c, d = (n.sample for n in nodes)
            self._named("where", np.where(a < b, c, d), *nodes)

    def _mask(self) -> None:
        nodes = self._same_shape(3)
        if nodes:
            a, b, c = (n.sample for n in nodes)
            self._named("mask", (a < b) * c, *nodes)

    def _same_shape(self, count: int) -> Sequence[Node]:
        """So many nodes of one shape; the first two differ, for they are compared."""
        first = self._pick()
        fitting = [n for n in self.nodes if first is not None and n.shape == first.shape]
        others = [n for n in fitting if n is not first]
        if first is None or not others:
            return ()
        return [first, self.chance.choice(others), *(self.chance.choice(fitting) for _ in range(count - 2))]

    def _single(self) -> None:
        """To the lower precision and back."""
        node = self._pick()
        low = self._named("single", node.sample, node) if node is not None else None
        if low is not None:
            self._named("double", low.sample, low)
            self.nodes.remove(low)


def _affine(operand: Expr, factor: float, offset: float) -> Expr:
    return Call("+", (Call("*", (operand, factor)), offset))


def _short(number: float) -> float:
    """Four digits are enough for a safe op, and are easier to read."""
    return float(f"{number:.4g}")


def _python(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_python(i) for i in index)
    return slice(index.start, index.stop, index.step) if isinstance(index, Slice) else index


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return shape if int(np.prod(shape)) <= MOST_ELEMENTS else None
