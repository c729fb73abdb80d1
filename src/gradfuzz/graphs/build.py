"""Random typed graphs: every call is chosen so that it fits the shapes, types and numbers that it is given."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.chains.blame import needed
from gradfuzz.graphs.draft import MOST_ELEMENTS, Draft, Node
from gradfuzz.graphs.vocabulary import Vocabulary
from gradfuzz.program.model import Call, Item, Let, Program, Ref, Slice, Tensor, Values
from gradfuzz.program.values import materialise

Array = Any

SMALLEST, LARGEST = 3, 30
MOST_OUTPUTS = 4
# What is drawn how often. Casts to the lower precision lose digits on purpose, so they are rare.
KINDS = {
    "unary": 40, "binary": 20, "operator": 14, "reduce": 7, "product": 8, "index": 5, "transpose": 3, "flatten": 2, "concat": 4,
    "stack": 2, "where": 4, "mask": 3, "single": 0.5,
}  # fmt: skip
OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply}
TRIES = 12


class Builder(Draft):
    """Builds one graph. `size` is the number of calls, those of safe ops included."""

    def __init__(self, target: str, words: Vocabulary, seed: str, size: int | None = None) -> None:
        super().__init__(target, random.Random(seed))
        self.words = words
        self.size = size or round(SMALLEST * (LARGEST / SMALLEST) ** self.chance.random())

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
