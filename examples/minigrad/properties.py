"""What to draw for each op, so that its gradient is defined there: the whole test plan of the library as one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minigrad as mg
from gradfuzz.testing import Adapter, check_gradients
from gradfuzz.testing import strategies as gf
from minigrad.engine import HEALTHY, Engine


@dataclass(frozen=True)
class Property:
    """An op and the inputs at which its gradient must be right."""

    op: Callable[..., Any]
    inputs: st.SearchStrategy[tuple[Any, ...]]


def adapter(engine: Engine = HEALTHY) -> Adapter:
    """How gradfuzz makes minigrad's tensors; the rest (.data, .grad, .backward(seed)) is what it expects by default."""
    return Adapter(lambda array: mg.Tensor(array, engine=engine), name="minigrad")


def check(name: str, inputs: tuple[Any, ...], engine: Engine = HEALTHY) -> None:
    """One draw of one property. Hypothesis does the shrinking."""
    check_gradients(PROPERTIES[name].op, *inputs, library=adapter(engine), shrink=False)


def square(x):
    """A tensor used twice."""
    return mg.mul(x, x)


def mixture(a, b, c):
    """Three tensors, one of them used twice."""
    return mg.add(mg.mul(a, b), mg.mul(a, c))


def one(values=gf.arrays):
    return st.tuples(values())


def two(first=gf.arrays, second=gf.arrays):
    """Two arrays that broadcast, either one the smaller."""
    swapped = st.tuples(gf.broadcastable_pair(), st.booleans()).map(lambda drawn: drawn[0][::-1] if drawn[1] else drawn[0])
    return swapped.flatmap(lambda shapes: st.tuples(first(shapes[0]), second(shapes[1])))


def three():
    """Three arrays that broadcast together, none of them of the result's shape by need."""
    return gf.broadcastable_shapes(3).flatmap(lambda shapes: st.tuples(*map(gf.arrays, shapes)))


def with_axis(values=gf.arrays):
    """An array, an axis or None, and whether the axis is kept."""
    drawn = values(gf.shapes(min_dims=1))
    return drawn.flatmap(lambda a: st.tuples(st.just(a), st.one_of(st.none(), st.integers(0, a.ndim - 1)), st.booleans()))


@st.composite
def matrices(draw):
    n, k, m = (draw(st.integers(1, 4)) for _ in range(3))
    batch = draw(gf.broadcastable_pair(max_dims=1, max_side=3)) if draw(st.booleans()) else ((), ())
    return draw(gf.arrays((*batch[0], n, k))), draw(gf.arrays((*batch[1], k, m)))


@st.composite
def reshaped(draw):
    """An array and another shape with as many elements."""
    sides = draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    first, second = (draw(st.integers(0, len(sides))) for _ in range(2))
    old = (*sides[:first], int(np.prod(sides[first:]))) if sides[first:] else tuple(sides)
    new = (int(np.prod(sides[:second])), *sides[second:]) if sides[:second] else tuple(sides)
    return draw(gf.arrays(old)), new


@st.composite
def permuted(draw):
    array = draw(gf.arrays(gf.shapes(min_dims=1)))
    return array, tuple(draw(st.permutations(range(array.ndim))))


@st.composite
def indexed(draw):
    """An array and an index of its first axis, perhaps with repetitions."""
    array = draw(gf.arrays(gf.shapes(min_dims=1)))
    rows = draw(st.lists(st.integers(0, len(array) - 1), min_size=1, max_size=4))
    return array, np.array(rows)


@st.composite
def joined(draw):
    shape = draw(gf.shapes(min_dims=1))
    axis = draw(st.integers(0, len(shape) - 1))
    sides = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return [draw(gf.arrays((*shape[:axis], side, *shape[axis + 1 :]))) for side in sides], axis


@st.composite
def labelled(draw):
    rows, classes = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows))
    return draw(gf.arrays((rows, classes))), np.array(labels)


def rows():
    return one(lambda: gf.arrays(gf.shapes(min_dims=1)))


PROPERTIES = {
    "add": Property(mg.add, two()),
    "sub": Property(mg.sub, two()),
    "mul": Property(mg.mul, two()),
    "div": Property(mg.div, two(gf.arrays, gf.positive)),
    "matmul": Property(mg.matmul, matrices()),
    "neg": Property(mg.neg, one()),
    "power": Property(mg.power, st.tuples(gf.positive(), st.sampled_from([-1, 0.5, 2, 3]))),
    "absolute": Property(mg.absolute, one(gf.away_from)),
    "exp": Property(mg.exp, one()),
    "log": Property(mg.log, one(gf.positive)),
    "sqrt": Property(mg.sqrt, one(gf.positive)),
    "tanh": Property(mg.tanh, one()),
    "sigmoid": Property(mg.sigmoid, one()),
    "relu": Property(mg.relu, one(gf.away_from)),
    "sum": Property(mg.sum, with_axis()),
    "mean": Property(mg.mean, with_axis()),
    "max": Property(mg.max, with_axis(lambda shape: gf.distinct(gf.shapes(min_dims=1, max_dims=2)))),
    "reshape": Property(mg.reshape, reshaped()),
    "transpose": Property(mg.transpose, permuted()),
    "getitem": Property(mg.getitem, indexed()),
    "concat": Property(mg.concat, joined()),
    "softmax": Property(mg.softmax, rows()),
    "log_softmax": Property(mg.log_softmax, rows()),
    "cross_entropy": Property(mg.cross_entropy, labelled()),
    "square": Property(square, one()),
    "mixture": Property(mixture, three()),
}
