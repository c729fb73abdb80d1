"""Products and contractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.reference.arrays import Array, elementwise, lift, total, zeros
from gradfuzz.reference.jet import Jet
from gradfuzz.reference.semantics.registry import meaning


def dot_of(a: Any, b: Any) -> Jet:
    return total([x * y for x, y in zip(a, b)])


def matrix_product(a: Array, b: Array) -> Array:
    found = np.empty((a.shape[0], b.shape[1]), object)
    columns = [list(b[:, j]) for j in range(b.shape[1])]
    for i in range(a.shape[0]):
        row = list(a[i])
        for j, column in enumerate(columns):
            found[i, j] = dot_of(row, column)
    return found


@meaning
def matmul(a: Any, b: Any) -> Array:
    a, b = lift(a), lift(b)
    if a.ndim == 0 or b.ndim == 0:
        raise TypeError("matmul of a number")
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = np.broadcast_to(left, batch + left.shape[-2:]), np.broadcast_to(right, batch + right.shape[-2:])
    found = np.empty((*batch, left.shape[-2], right.shape[-1]), object)
    for place in np.ndindex(*batch):
        found[place] = matrix_product(left[place], right[place])
    if a.ndim == 1:
        found = found[..., 0, :]
    return found[..., 0] if b.ndim == 1 else found


@meaning
def transposed(x: Any) -> Array:
    return np.swapaxes(lift(x), -1, -2)


@meaning
def adjoint(x: Any) -> Array:
    return elementwise(lambda a: a.conj, transposed(x))


@meaning
def dot(a: Any, b: Any) -> Array:
    """NumPy's: of the last axis of one and the last but one of the other."""
    a, b = lift(a), lift(b)
    if a.ndim == 0 or b.ndim == 0:
        return elementwise(lambda x, y: x * y, a, b)
    if b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@meaning
def vdot(a: Any, b: Any) -> Array:
    return lift(dot_of([x.conj for x in lift(a).ravel()], list(lift(b).ravel())))


@meaning
def vecdot(a: Any, b: Any, axis: int = -1) -> Array:
    return einsum_along(elementwise(lambda x, y: x.conj * y, a, b), int(axis))


def einsum_along(x: Array, axis: int) -> Array:
    from gradfuzz.reference.semantics.reduction import sum_

    return sum_(x, axis)


@meaning
def inner(a: Any, b: Any) -> Array:
    a, b = lift(a), lift(b)
    if a.ndim == 0 or b.ndim == 0:
        return elementwise(lambda x, y: x * y, a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@meaning
def outer(a: Any, b: Any) -> Array:
    return elementwise(lambda x, y: x * y, lift(a).reshape(-1, 1), lift(b).reshape(1, -1))


@meaning
def kron(a: Any, b: Any) -> Array:
    a, b = lift(a), lift(b)
    rank = max(a.ndim, b.ndim)
    a, b = a.reshape((1,) * (rank - a.ndim) + a.shape), b.reshape((1,) * (rank - b.ndim) + b.shape)
    spread = [n for size in a.shape for n in (size, 1)], [n for size in b.shape for n in (1, size)]
    found = elementwise(lambda x, y: x * y, a.reshape(spread[0]), b.reshape(spread[1]))
    return found.reshape([m * n for m, n in zip(a.shape, b.shape)])


@meaning
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    a, b = lift(a), lift(b)
    if isinstance(axes, int):
        first, second = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        first, second = ([int(k) for k in (part if isinstance(part, (tuple, list)) else (part,))] for part in axes)
    first, second = [k % a.ndim for k in first], [k % b.ndim for k in second]
    free_a, free_b = [k for k in range(a.ndim) if k not in first], [k for k in range(b.ndim) if k not in second]
    length = int(np.prod([a.shape[k] for k in first], dtype=int))
    left = a.transpose(free_a + first).reshape(-1, length) if a.size else zeros((0, length))
    right = b.transpose(second + free_b).reshape(length, -1) if b.size else zeros((length, 0))
    shape = [a.shape[k] for k in free_a] + [b.shape[k] for k in free_b]
    return matrix_product(left, right).reshape(shape)


@meaning
def einsum(equation: str, *operands: Any) -> Array:
    """Term by term: the operands' common index runs over everything that is summed."""
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    arrays = [lift(x) for x in operands]
    equation = equation.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    extra = max((x.ndim - len(t.replace("...", "")) for t, x in zip(terms, arrays) if "..." in t), default=0)
    dots = "ABCDEFGH"[:extra]
    spelled = []
    for t, x in zip(terms, arrays):
        own = x.ndim - len(t.replace("...", ""))
        spelled.append(t.replace("...", dots[extra - own :] if own else ""))
    if not arrow:
        letters = sorted(set("".join(spelled)) - set(dots))
        output = dots + "".join(c for c in letters if "".join(spelled).count(c) == 1)
    output = output.replace("...", dots)
    sizes: dict[str, int] = {}
    for t, x in zip(spelled, arrays):
        for letter, n in zip(t, x.shape):
            sizes[letter] = max(sizes.get(letter, 1), n)
    summed = [c for c in sizes if c not in output]
    found = np.empty([sizes[c] for c in output], object)
    for place in np.ndindex(*found.shape):
        at = dict(zip(output, place))
        items = []
        for rest in np.ndindex(*[sizes[c] for c in summed]):
            at.update(zip(summed, rest))
            item: Any = None
            for t, x in zip(spelled, arrays):
                factor = x[tuple(at[c] if n > 1 else 0 for c, n in zip(t, x.shape))]
                item = factor if item is None else item * factor
            items.append(item)
        found[place] = total(items)
    return found


@meaning
def multi_dot(arrays: Any) -> Array:
    found = lift(arrays[0])
    for x in arrays[1:]:
        found = matmul(found, x)
    return found


@meaning
def cross(a: Any, b: Any, axis: int = -1) -> Array:
    a, b = np.broadcast_arrays(lift(a), lift(b))
    a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if a.shape[-1] != 3:
        raise NotImplementedError("a cross product of other than three")
    parts = [elementwise(lambda p, q, r, s: p * q - r * s, a[..., i], b[..., j], a[..., j], b[..., i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.moveaxis(np.stack(parts, -1), -1, axis)


@meaning
def linear(x: Any, weight: Any, bias: Any = None) -> Array:
    found = matmul(x, transposed(weight)) if lift(weight).ndim > 1 else matmul(x, weight)
    return found if bias is None else elementwise(lambda a, b: a + b, found, bias)


@meaning
def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Array:
    found = einsum("...i,oij,...j->...o", a, weight, b)
    return found if bias is None else elementwise(lambda x, y: x + y, found, bias)


@meaning
def adjoint_of(x: Any) -> Array:
    return adjoint(x)


@meaning
def matvec(a: Any, b: Any) -> Array:
    return matmul(a, lift(b)[..., None])[..., 0]


@meaning
def permuted(x: Any, axes: Any) -> Array:
    return lift(x).transpose([int(k) for k in np.ravel(axes)])


@meaning
def polynomial(p: Any, x: Any) -> Array:
    """Coefficients along the first axis, the highest power first."""
    found = zeros(np.shape(x))
    for coefficient in lift(p) if isinstance(p, np.ndarray) else p:
        found = elementwise(lambda a, b, c: a * b + c, found, x, coefficient)
    return found


@meaning
def polynomial_sum(a: Any, b: Any) -> Array:
    """Of coefficients, the highest power first."""
    a, b = lift(a), lift(b)
    size = max(len(a), len(b))
    wide = [np.concatenate([zeros(size - len(x)), x]) for x in (a, b)]
    return elementwise(lambda x, y: x + y, *wide)


@meaning
def joined(arrays: Any) -> Array:
    """Everything in one row."""
    return np.concatenate([lift(x).ravel() for x in arrays])


@meaning
def side_by_side(a: Any, b: Any, axis: int = -1) -> Array:
    return np.concatenate([lift(a), lift(b)], int(axis))
