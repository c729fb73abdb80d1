"""Linear algebra: by elimination over jets; eigenvalues where they are simple."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb, acb_mat

from gradfuzz.reference.arrays import Array, elementwise, lift, zeros
from gradfuzz.reference.jet import NAN, ZERO, Depth, Jet, jet
from gradfuzz.reference.semantics.choice import largest, ranked, smallest
from gradfuzz.reference.semantics.elementary import log, sqrt
from gradfuzz.reference.semantics.products import adjoint, dot_of, matmul, matrix_product
from gradfuzz.reference.semantics.reduction import norm, norm_of, sum_
from gradfuzz.reference.semantics.registry import meaning


class Singular(ArithmeticError):
    """A pivot that may be zero: no inverse as far as can be told."""


def batched(function: Any, x: Any, *others: Any) -> Any:
    """A function of matrices on every matrix of the arrays, whose leading axes are broadcast together."""
    arrays = [lift(a) for a in (x, *others)]
    lead = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    arrays = [np.broadcast_to(a, lead + a.shape[-2:]) for a in arrays]
    results = [function(*[a[place] for a in arrays]) for place in np.ndindex(*lead)]
    if not results:
        raise NotImplementedError("an empty batch")
    if isinstance(results[0], tuple):
        return tuple(_stacked([r[k] for r in results], lead) for k in range(len(results[0])))
    return _stacked(results, lead)


def _stacked(results: list[Any], lead: tuple[int, ...]) -> Array:
    inner = np.shape(results[0])
    found = np.empty((len(results), *inner), object)
    for k, result in enumerate(results):
        found[k] = result if inner else lift(result)[()]
    return found.reshape(lead + inner)


def _size(x: Jet) -> float:
    """A rough size, to choose pivots by: any choice is right."""
    return float(abs(x.value.mid()) if not isinstance(x.value, acb) else abs(x.value).mid())


def determinant(matrix: Array) -> Jet:
    """By complete pivoting: the last pivot may be zero."""
    a, n = matrix.copy(), len(matrix)
    found = jet(1)
    for k in range(n):
        i, j = max(((i, j) for i in range(k, n) for j in range(k, n)), key=lambda at: _size(a[at]))
        if i != k:
            a[[i, k]] = a[[k, i]]
            found = -found
        if j != k:
            a[:, [j, k]] = a[:, [k, j]]
            found = -found
        pivot = a[k, k]
        found = found * pivot
        if k == n - 1:
            break
        if pivot.value.contains(0):
            return _cofactors(matrix) if n <= 3 else jet(NAN)
        for r in range(k + 1, n):
            factor = a[r, k] / pivot
            for c in range(k + 1, n):
                a[r, c] = a[r, c] - factor * a[k, c]
    return found


def _cofactors(a: Array) -> Jet:
    """For matrices of low rank, without a division."""
    if len(a) == 1:
        first: Jet = a[0, 0]
        return first
    found = jet(0)
    for j in range(len(a)):
        minor = _cofactors(np.delete(a[1:], j, axis=1))
        found = found + a[0, j] * minor * (-1) ** j
    return found


def solution(matrix: Array, right: Array) -> Array:
    """matrix⁻¹ right"""
    a, b, n = matrix.copy(), right.copy(), len(matrix)
    for k in range(n):
        i = max(range(k, n), key=lambda r: _size(a[r, k]))
        if i != k:
            a[[i, k]], b[[i, k]] = a[[k, i]], b[[k, i]]
        if a[k, k].value.contains(0):
            raise Singular("singular as far as can be told")
        inverse = 1 / a[k, k]
        for r in range(n):
            if r == k:
                continue
            factor = a[r, k] * inverse
            for c in range(k + 1, n):
                a[r, c] = a[r, c] - factor * a[k, c]
            for c in range(b.shape[1]):
                b[r, c] = b[r, c] - factor * b[k, c]
        for c in range(b.shape[1]):
            b[k, c] = b[k, c] * inverse
        for c in range(k + 1, n):
            a[k, c] = a[k, c] * inverse
    return b


def identity(n: int) -> Array:
    found = zeros((n, n))
    for k in range(n):
        found[k, k] = jet(1)
    return found


@meaning
def det(x: Any) -> Array:
    return batched(determinant, x)


@meaning
def inv(x: Any) -> Array:
    return batched(lambda a: solution(a, identity(len(a))), x)


@meaning
def solve(a: Any, b: Any, vector: bool | None = None, left: bool = True) -> Array:
    """`vector`: b holds vectors; where nobody says, it does if it has one axis less."""
    a, b = lift(a), lift(b)
    if not left:
        return np.swapaxes(solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), False), -1, -2)
    if vector is None:
        vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vector:
        return batched(solution, a, b[..., None])[..., 0]
    return batched(solution, a, b)


@meaning
def triangle(x: Any, upper: bool = False, unit: bool = False) -> Array:
    """The triangle that is read; the rest is zero, and with `unit` the diagonal is one."""
    x = lift(x)
    keep = np.triu(np.ones(x.shape[-2:], bool)) if upper else np.tril(np.ones(x.shape[-2:], bool))
    found = zeros(x.shape)
    found[..., keep] = x[..., keep]
    if unit:
        for k in range(min(x.shape[-2:])):
            found[..., k, k] = jet(1)
    return found


@meaning
def slogdet(x: Any) -> tuple[Array, Array]:
    found = det(x)
    from gradfuzz.reference.semantics.choice import absolute, sign

    return sign(found), elementwise(lambda a: a.apply(log), absolute(found))


@meaning
def hermitian(x: Any, upper: bool = False) -> Array:
    """What a function makes of a matrix of which it reads one triangle."""
    x = lift(x)
    low = triangle(x, upper)
    found = low.copy()
    for i in range(x.shape[-1]):
        for j in range(x.shape[-1]):
            if (i < j) != upper and i != j:
                found[..., i, j] = elementwise(lambda a: a.conj, low[..., j, i])
        found[..., i, i] = elementwise(lambda a: a.real, low[..., i, i])
    return found


def _cholesky(a: Array) -> Array:
    n = len(a)
    found = zeros((n, n))
    for j in range(n):
        rest = a[j, j].real - dot_of(found[j, :j], [x.conj for x in found[j, :j]]).real
        found[j, j] = rest.apply(sqrt)
        for i in range(j + 1, n):
            found[i, j] = (a[i, j] - dot_of(found[i, :j], [x.conj for x in found[j, :j]])) / found[j, j]
    return found


@meaning
def cholesky(x: Any, upper: bool = False) -> Array:
    found = batched(_cholesky, x)
    return adjoint(found) if upper else found


@meaning
def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Array:
    low = triangle(factor, upper)
    low = adjoint(low) if upper else low
    return solve(matmul(low, adjoint(low)), b, False)


def _qr(a: Array) -> tuple[Array, Array]:
    """Reduced, as Householder's reflections leave it: the diagonal of R has the opposite sign of what is reflected."""
    rows, columns = a.shape
    k = min(rows, columns)
    r, q = a.copy(), identity(rows)
    for j in range(min(rows - 1, columns)) if rows > 1 else ():
        length = norm_of(list(r[j:, j]))
        head = r[j, j]
        if head.complex:
            raise NotImplementedError("QR of complex matrices")
        away = length if not head.value < 0 else -length
        vector = r[j:, j].copy()
        vector[0] = vector[0] + away
        scale = dot_of(vector, vector)
        for target in (r, q):
            for c in range(target.shape[1]):
                share = dot_of(vector, target[j:, c]) * 2 / scale
                for i in range(j, rows):
                    target[i, c] = target[i, c] - vector[i - j] * share
    found = zeros((k, columns))
    for i in range(k):
        for j in range(i, columns):
            found[i, j] = r[i, j]
    return q.T[:, :k], found


@meaning
def qr(x: Any) -> tuple[Array, Array]:
    return batched(_qr, x)


def _lu(a: Array) -> tuple[Array, Array, Array]:
    """P, L and U with the largest pivot of each column; where it cannot be told which is, or none is there, nothing is known."""
    rows, columns = a.shape
    k = min(rows, columns)
    upper, lower, order = a.copy(), identity(rows), list(range(rows))
    for j in range(min(k, rows - 1)):
        sizes = [(x * x.conj).real for x in upper[j:, j]]
        pivot = j + max(range(rows - j), key=lambda i: float(sizes[i].value.mid()))
        decided = all(sizes[pivot - j].value > size.value for i, size in enumerate(sizes) if i != pivot - j)
        upper[[j, pivot]], lower[[j, pivot], :j] = upper[[pivot, j]], lower[[pivot, j], :j]
        order[j], order[pivot] = order[pivot], order[j]
        for i in range(j + 1, rows):
            lower[i, j] = upper[i, j] / upper[j, j] if decided else jet(NAN)
            upper[i] = [jet(0) if c <= j else x - lower[i, j] * y for c, (x, y) in enumerate(zip(upper[i], upper[j]))]
    return identity(rows)[:, order], lower[:, :k], upper[:k]


@meaning
def lu(x: Any) -> tuple[Array, Array, Array]:
    return batched(_lu, x)


@meaning
def lu_in_one(x: Any) -> Array:
    """Both factors in one matrix: the ones on the diagonal of the lower one are not stored."""
    _, lower, upper = lu(x)
    found = lift(x).copy()
    for i, j in np.ndindex(*found.shape[-2:]):
        found[..., i, j] = upper[..., i, j] if i <= j else lower[..., i, j]
    return found


@meaning
def matrix_power(x: Any, n: int) -> Array:
    x, n = lift(x), int(n)
    if n < 0:
        return matrix_power(inv(x), -n)
    found = batched(lambda a: identity(len(a)), x)
    for _ in range(n):
        found = matmul(found, x)
    return found


@meaning
def pinv(x: Any) -> Array:
    """Of matrices of full rank."""

    def one(a: Array) -> Array:
        star = adjoint(a)
        if a.shape[0] >= a.shape[1]:
            return solution(matrix_product(star, a), star)
        return adjoint(solution(matrix_product(a, star), a))

    return batched(one, x)


def _expm(a: Array) -> Array:
    """By the block matrices that multiply as jets do."""
    n, size = len(a), 2**Depth.order
    big = [[acb(0)] * (n * size) for _ in range(n * size)]
    for i, j in np.ndindex(n, n):
        for s in range(size):
            for t in range(size):
                if s & t == s and (t ^ s) < len(a[i, j].c):
                    big[s * n + i][t * n + j] = acb(a[i, j].c[t ^ s])
    done = acb_mat(big).exp()
    real = not any(x.complex for x in a.ravel())
    found = np.empty((n, n), object)
    for i, j in np.ndindex(n, n):
        c = [done[i, t * n + j] for t in range(size)]
        found[i, j] = Jet(tuple(x.real if real else x for x in c))
    return found


@meaning
def expm(x: Any) -> Array:
    return batched(_expm, x)


def spectrum(a: Array) -> list[Jet]:
    """Eigenvalues, in no order, where they are all simple: FLINT encloses them, and Newton's steps give their derivatives."""
    n = len(a)
    middle = acb_mat([[acb(a[i, j].value) for j in range(n)] for i in range(n)])
    try:
        roots = list(middle.eig()) if n > 1 else [acb(a[0, 0].value)]
    except ValueError:
        raise Singular("eigenvalues that cannot be told apart") from None
    found = []
    for i, root in enumerate(roots):
        slope = acb(-1)
        for j, other in enumerate(roots):
            if j != i:
                slope *= other - root
        current = Jet((root, *[ZERO] * (2**Depth.order - 1))) if Depth.order else Jet((root,))
        for _ in range(Depth.order):
            shifted = a.copy()
            for k in range(n):
                shifted[k, k] = shifted[k, k] - current
            rest = determinant(shifted)
            if rest.constant:
                break
            current = current - Jet((ZERO, *[x / slope for x in rest.c[1:]]))
        found.append(current)
    return found


@meaning
def eigvalsh(x: Any, upper: bool = False) -> Array:
    """Ascending."""

    def one(a: Array) -> Array:
        found = np.empty(len(a), object)
        for k, item in enumerate(ranked([item.real for item in spectrum(a)])):
            found[k] = item
        return found

    return _vectors(one, hermitian(x, bool(upper)))


def _vectors(function: Any, x: Any) -> Array:
    x = lift(x)
    found = [function(x[place]) for place in np.ndindex(*x.shape[:-2])]
    return _stacked(found, x.shape[:-2])


@meaning
def svdvals(x: Any) -> Array:
    """Descending."""

    def one(a: Array) -> Array:
        star = adjoint(a)
        gram = matrix_product(star, a) if a.shape[0] >= a.shape[1] else matrix_product(a, star)
        found = np.empty(len(gram), object)
        for k, item in enumerate(ranked([item.real.apply(sqrt) for item in spectrum(gram)], descending=True)):
            found[k] = item
        return found

    return _vectors(one, x)


@meaning
def matrix_norm(x: Any, order: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False) -> Array:
    x = lift(x)
    axes = tuple(int(k) % x.ndim for k in axis)
    moved = np.moveaxis(x, axes, (-2, -1))
    if order in ("fro", "f", None):
        found = norm(moved, 2, (-2, -1))
    elif order in (2, -2, "nuc"):
        values = svdvals(moved)
        found = sum_(values, -1) if order == "nuc" else values[..., 0 if order == 2 else -1]
    elif order in (1, -1, np.inf, -np.inf):
        sums = norm(moved, 1, -2 if abs(order) == 1 else -1)
        pick = largest if order > 0 else smallest
        found = _vectors(lambda row: pick(list(row[0])), sums[..., None, :])
    else:
        raise NotImplementedError("this norm")
    return np.expand_dims(found, tuple(sorted(axes))) if keepdims else found


@meaning
def general_norm(x: Any, order: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's `linalg.norm`: of vectors or of matrices, by the number of axes."""
    x = lift(x)
    if axis is None and order is None:
        return norm(x, 2, None, keepdims)
    if axis is None:
        axis = tuple(range(x.ndim))
    axis = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axis) == 1:
        return norm(x, order, axis[0], keepdims)
    return matrix_norm(x, order, axis, keepdims)


@meaning
def norm_by_word(x: Any, p: Any = "fro", axis: Any = None, keepdims: bool = False) -> Array:
    """One number p for all the axes together; words are for matrices."""
    if p == "nuc":
        return matrix_norm(x, "nuc", axis or (-2, -1), keepdims)
    return norm(x, 2 if p in ("fro", None) else p, axis, keepdims)


@meaning
def trace(x: Any, offset: int = 0) -> Array:
    return sum_(np.diagonal(lift(x), int(offset), -2, -1), -1)


@meaning
def logdet(x: Any) -> Array:
    return elementwise(lambda a: a.apply(log), det(x))


@meaning
def cond(x: Any, order: Any = None) -> Array:
    if order in (None, 2, -2):
        values = svdvals(x)
        high, low = values[..., 0], values[..., -1]
        return elementwise(lambda a, b: a / b, low, high) if order == -2 else elementwise(lambda a, b: a / b, high, low)
    return elementwise(lambda a, b: a * b, matrix_norm(x, order), matrix_norm(inv(x), order))


@meaning
def tensorinv(x: Any, ind: int = 2) -> Array:
    x, ind = lift(x), int(ind)
    n = int(np.prod(x.shape[ind:], dtype=int))
    return inv(x.reshape(-1, n)).reshape(x.shape[ind:] + x.shape[:ind])


@meaning
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """`axes` are moved behind all others first."""
    a, b = lift(a), lift(b)
    if axes is not None:
        moved = [int(k) % a.ndim for k in axes]
        a = np.transpose(a, [k for k in range(a.ndim) if k not in moved] + moved)
    return solve(a.reshape(b.size, -1), b.reshape(-1), True).reshape(a.shape[b.ndim :])


@meaning
def vander(x: Any, n: Any = None, increasing: bool = False) -> Array:
    x = lift(x)
    count = x.shape[-1] if n is None else int(n)
    from gradfuzz.reference.semantics.elementary import power_of

    columns = [elementwise(lambda a, k=k: power_of(a, k), x) for k in range(count)]
    return np.stack(columns if increasing else columns[::-1], -1)


@meaning
def householder_product(a: Any, tau: Any) -> Array:
    """The first columns of the product of reflections whose vectors stand below the diagonal, each with a one on it."""
    return batched(lambda columns, scales: _reflected(columns, scales[0])[:, : columns.shape[1]], a, lift(tau)[..., None, :])


@meaning
def reflected_product(a: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Array:
    """Another matrix times the whole product of reflections, or its adjoint, on either side."""

    def one(columns: Array, scales: Array, c: Array) -> Array:
        whole = _reflected(columns, scales[0])
        whole = adjoint(whole) if transpose else whole
        return matrix_product(whole, c) if left else matrix_product(c, whole)

    return batched(one, a, lift(tau)[..., None, :], other)


def _reflected(columns: Array, scales: Array) -> Array:
    rows = len(columns)
    found = lift(np.eye(rows))
    for k, scale in enumerate(scales):
        v = lift(np.zeros(rows))
        v[k] = jet(1)
        v[k + 1 :] = columns[k + 1 :, k]
        along = matrix_product(found, v[:, None])
        found = found - matrix_product(along, adjoint(v[:, None])) * scale
    return found
