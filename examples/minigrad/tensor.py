"""The tensor: an array, the op it came from, and backward through the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.engine import HEALTHY, Engine


class Tensor:
    """An array that remembers how it was made."""

    def __init__(
        self, data: Any, parents: tuple[Tensor, ...] = (), op: str = "", kept: tuple[Any, ...] = (), engine: Engine = HEALTHY
    ) -> None:
        self.data = np.asarray(data, np.float64)
        self.grad: np.ndarray | None = None
        self.parents, self.op, self.kept, self.engine = parents, op, kept, engine

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def backward(self, seed: Any = None) -> None:
        """Leave in every tensor that this one was made from the gradient of ⟨seed, self⟩."""
        engine = self.engine
        order = self._order()
        for tensor in order:
            tensor.grad = None if tensor.parents else tensor.grad
        self.grad = np.ones(self.shape) if seed is None else np.broadcast_to(np.asarray(seed, np.float64), self.shape)
        for tensor in reversed(order):
            if not tensor.parents or tensor.grad is None:
                continue
            gradients = engine.rules[tensor.op](tensor.grad, *tensor.kept)
            for parent, gradient in zip(tensor.parents, gradients):
                parent.grad = engine.accumulate(parent.grad, engine.unbroadcast(gradient, parent.shape))

    def _order(self) -> list[Tensor]:
        """The graph, inputs first; without recursion, so that long chains do not overflow the stack."""
        order: list[Tensor] = []
        seen: set[int] = set()
        stack = [(self, False)]
        while stack:
            tensor, done = stack.pop()
            if done:
                order.append(tensor)
            elif id(tensor) not in seen:
                seen.add(id(tensor))
                stack.append((tensor, True))
                stack.extend((parent, False) for parent in tensor.parents)
        return order

    def __repr__(self) -> str:
        return f"Tensor({self.data!r})"


def tensor_of(value: Any, engine: Engine) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(value, engine=engine)
