"""A micrograd-like class of numbers, healthy and with a planted bug, and its adapter: the ten lines of the documentation."""

from __future__ import annotations

import numpy as np

from gradfuzz.testing import Adapter


class Value:
    """A number that remembers how it was made."""

    def __init__(self, data, parents=(), back=None):
        self.data, self.grad, self.parents, self.back = data, 0.0, parents, back

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def collect(self, more):
        self.grad += more

    def backward(self):
        order, seen = [], set()

        def visit(value):
            if value not in seen:
                seen.add(value)
                for parent in value.parents:
                    visit(parent)
                order.append(value)

        visit(self)
        self.grad = 1.0
        for value in reversed(order):
            if value.back is not None:
                for parent, more in zip(value.parents, value.back(value.grad)):
                    parent.collect(more)


class Forgetful(Value):
    """A number that is used twice keeps its last gradient alone."""

    def collect(self, more):
        self.grad = more


def adapter(kind):
    wrap = np.vectorize(kind, otypes=[object])
    return Adapter(
        tensor=wrap,
        array=np.vectorize(lambda value: value.data, otypes=[float]),
        gradient=np.vectorize(lambda value: value.grad, otypes=[float]),
        backward=lambda output, seed: np.sum(output * wrap(seed)).backward(),
        name="tiny",
    )


def cube(x):
    return x * x * x
