"""A graph on its way: variables with numbers much like their own, and safe ops that bring numbers to where a function lives.

Numbers are followed through the graph by the vocabulary's tables. Before a function that lives on part of the line only, they are
brought there by a safe op, and spread over the whole of it, so that nothing saturates and every derivative says something.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.graphs.dialect import dialect
from gradfuzz.program.model import Call, Expr, Item, Let, Ref, rebuild, walk

Array = Any
MOST_ELEMENTS = 48
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


class Draft:
    """Statements and nodes so far, and what chance there is."""

    def __init__(self, target: str, chance: random.Random) -> None:
        self.dialect, self.chance = dialect(target), chance
        self.statements: list[Let] = []
        self.nodes: list[Node] = []
        self.calls = 0

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


def _affine(operand: Expr, factor: float, offset: float) -> Expr:
    return Call("+", (Call("*", (operand, factor)), offset))


def _short(number: float) -> float:
    """Four digits are enough for a safe op, and are easier to read."""
    return float(f"{number:.4g}")
