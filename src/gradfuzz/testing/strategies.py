"""Hypothesis strategies for shapes, arrays and tensors: small by default, extreme when asked, shrinking to the smallest.

Every array strategy takes `shape`: a shape, a strategy of shapes, or nothing for any small shape. Arrays are float64, since
a gradient can be checked well in no other precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradfuzz.testing.library import pick

Array = Any
Shape = tuple[int, ...]
Strategy = st.SearchStrategy[Any]

# Numbers that softmax, exp and their like must survive.
EXTREME = (0.0, 1.0, -1.0, 1e3, -1e3, 1e4, -1e4, 1e6, -1e6)
# Values smaller than this lose all their digits against their neighbours; zero itself is drawn.
TINIEST = 1e-3


def shapes(min_dims: int = 0, max_dims: int = 3, min_side: int = 1, max_side: int = 4) -> Strategy:
    """Shapes such as (), (3,), (2, 4), (1, 3, 2)."""
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side)


def broadcastable_pair(max_dims: int = 3, max_side: int = 4) -> Strategy:
    """(base, partner): two shapes of which the second broadcasts to the first.

    Most draws are the forms that go wrong most often: a column (n, 1), a row (1, m) or (m,), or a number against (n, m).
    """
    sides = st.integers(2, max_side) if max_side >= 2 else st.just(1)

    @st.composite
    def any_pair(draw: Any) -> tuple[Shape, Shape]:
        base = draw(shapes(min_dims=1, max_dims=max_dims, max_side=max_side))
        partner = tuple(side if not draw(st.booleans()) else 1 for side in base)
        dropped = draw(st.integers(0, len(base) - 1))
        return base, partner[dropped:]

    usual_suspects = [st.tuples(sides, sides).map(form) for form in (_column, _row, _flat_row, _number)]
    return any_pair() if max_dims < 2 else st.one_of(any_pair(), *usual_suspects)


def _column(sides: Shape) -> tuple[Shape, Shape]:
    return sides, (sides[0], 1)


def _row(sides: Shape) -> tuple[Shape, Shape]:
    return sides, (1, sides[1])


def _flat_row(sides: Shape) -> tuple[Shape, Shape]:
    return sides, (sides[1],)


def _number(sides: Shape) -> tuple[Shape, Shape]:
    return sides, ()


def broadcastable_shapes(n: int, max_dims: int = 3, max_side: int = 4) -> Strategy:
    """n shapes that broadcast together; none of them need have the shape of the result."""
    found = hnp.mutually_broadcastable_shapes(num_shapes=n, min_dims=0, max_dims=max_dims, min_side=1, max_side=max_side)
    return found.map(lambda broadcastable: broadcastable.input_shapes)


def arrays(shape: Any = None, low: float = -2.0, high: float = 2.0, elements: Strategy | None = None) -> Strategy:
    """float64 arrays with numbers between `low` and `high`, or from a strategy of your own."""
    chosen = _floats(low, high) if elements is None else elements
    # No filling: an array of one number repeated hides what is wrong with its axes.
    return hnp.arrays(np.float64, _shape(shape), elements=chosen, fill=st.nothing())


def positive(shape: Any = None, low: float = 0.125, high: float = 4.0) -> Strategy:
    """Numbers safely above zero: for log, sqrt, division."""
    return arrays(shape, low, high)


def unit_interval(shape: Any = None, margin: float = 0.0625) -> Strategy:
    """Numbers strictly inside (0, 1): probabilities, arguments of logit."""
    return arrays(shape, margin, 1 - margin)


def away_from(kinks: Sequence[float] = (0.0,), margin: float = 0.0625, shape: Any = None, low: float = -2.0, high: float = 2.0) -> Strategy:
    """Numbers that keep a distance from the points where a function bends: relu and abs at 0, clamp at its ends."""
    elements = _floats(low, high).filter(lambda x: all(abs(x - kink) >= margin for kink in kinks))
    return arrays(shape, elements=elements)


def distinct(shape: Any = None, gap: float = 0.125) -> Strategy:
    """Numbers that differ from each other by at least `gap`: max, sort and median have no ties there."""
    return hnp.arrays(np.float64, _shape(shape), elements=st.integers(-16, 16).map(lambda k: k * gap), unique=True)


def extreme(shape: Any = None) -> Strategy:
    """Numbers of size 1e3 and more among ordinary ones: where exponentials overflow and differences cancel."""
    return arrays(shape, elements=st.sampled_from(EXTREME))


def symmetric(side: Any = None) -> Strategy:
    """Symmetric matrices; check with structure="symmetric"."""
    return _square(side).map(lambda a: (a + a.swapaxes(-1, -2)) / 2)


def positive_definite(side: Any = None) -> Strategy:
    """Symmetric matrices with eigenvalues of one and more; check with structure="positive_definite"."""
    return _square(side).map(lambda a: a @ a.swapaxes(-1, -2) + np.eye(a.shape[-1]))


def simplex(shape: Any = None) -> Strategy:
    """Positive numbers whose last axis sums to one; check with structure="simplex"."""
    wanted = shapes(min_dims=1) if shape is None else shape
    return positive(wanted).map(lambda a: a / a.sum(axis=-1, keepdims=True))


def tensors(library: Any, values: Strategy | None = None) -> Strategy:
    """Tensors of a library (its name, or an Adapter) with numbers from any of the strategies above."""
    chosen = pick(library, ())
    return (arrays() if values is None else values).map(lambda array: chosen.tensor(np.array(array), str(array.dtype)))


def _floats(low: float, high: float) -> Strategy:
    drawn = st.floats(low, high, allow_nan=False, allow_infinity=False, allow_subnormal=False)
    return drawn.map(lambda x: x if abs(x) >= TINIEST else 0.0) if low <= 0.0 <= high else drawn


def _shape(shape: Any) -> Any:
    return shapes() if shape is None else shape


def _square(side: Any) -> Strategy:
    sides = st.integers(1, 4) if side is None else st.just(side) if isinstance(side, int) else side
    return sides.flatmap(lambda n: arrays((n, n)))
