"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from gradfuzz.reference.arrays import Array, elementwise, lift, total
from gradfuzz.reference.jet import Jet, jet
from gradfuzz.reference.semantics.activations import at_least, log_softmax, soft
from gradfuzz.reference.semantics.choice import larger, size_of
from gradfuzz.reference.semantics.elementary import exp, log, log1p, sqrt
from gradfuzz.reference.semantics.reduction import mean, norm, norm_of, sum_
from gradfuzz.reference.semantics.registry import meaning


@meaning
def reduced(x: Any, reduction: Any = "mean") -> Array:
    x = lift(x)
    if reduction == "none":
        return x
    if reduction == "sum":
        return sum_(x)
    if reduction == "batchmean":
        return elementwise(lambda a: a / x.shape[0], sum_(x))
    return mean(x)


@meaning
def huber(a: Any, b: Any, delta: Any = 1.0, scaled: bool = True) -> Array:
    """Quadratic up to delta, then linear. `scaled`: as large as delta at one; else as smooth L1 has it, divided by delta."""

    def one(x: Jet, y: Jet) -> Jet:
        off = x - y if (x - y).value.is_zero() else size_of(x - y)
        if delta == 0:
            return size_of(x - y)
        found = at_least(off, delta, lambda z: (z - jet(delta) / 2) * delta, lambda z: z * z / 2)
        return found if scaled else found / jet(delta)

    return elementwise(one, a, b)


@meaning
def binary_cross_entropy(p: Any, target: Any) -> Array:
    """Logarithms are held above -100, as is usual."""

    def one(a: Jet, t: Jet) -> Jet:
        return -(t * larger(a.apply(log), jet(-100)) + (1 - t) * larger((-a).apply(log1p), jet(-100)))

    return elementwise(one, p, target)


@meaning
def binary_cross_entropy_with_logits(x: Any, target: Any, positive: Any = None) -> Array:
    def one(a: Jet, t: Jet, w: Jet) -> Jet:
        return t * w * soft(-a) + (1 - t) * soft(a)

    return elementwise(one, x, target, 1 if positive is None else positive)


@meaning
def soft_margin(x: Any, target: Any) -> Array:
    return elementwise(lambda a, t: soft(-t * a), x, target)


@meaning
def hinge_embedding(x: Any, target: Any, margin: Any = 1.0) -> Array:
    def one(a: Jet, t: Jet) -> Jet:
        """Of a target that is neither both parts count."""
        parts = [*([a] if t.value != -1 else []), *([larger(jet(margin) - a, jet(0))] if t.value != 1 else [])]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    return elementwise(one, x, target)


@meaning
def margin_ranking(a: Any, b: Any, target: Any, margin: Any = 0.0) -> Array:
    return elementwise(lambda x, y, t: larger(-t * (x - y) + margin, jet(0)), a, b, target)


@meaning
def kl_divergence(x: Any, target: Any, log_target: bool = False) -> Array:
    def one(a: Jet, t: Jet) -> Jet:
        if log_target:
            return t.apply(exp) * (t - a)
        return -(t * a) if t.value == 0 and t.constant else t * (t.apply(log) - a)

    return elementwise(one, x, target)


@meaning
def poisson_nll(x: Any, target: Any, log_input: bool = True, full: bool = False, eps: Any = 1e-8) -> Array:
    def one(a: Jet, t: Jet) -> Jet:
        found = a.apply(exp) - t * a if log_input else a - t * (a + eps).apply(log)
        if full and t.value > 1:
            found = found + t * t.apply(log) - t + (t * (2 * arb.pi())).apply(log) / 2
        return found

    return elementwise(one, x, target)


@meaning
def gaussian_nll(x: Any, target: Any, var: Any, full: bool = False, eps: Any = 1e-6) -> Array:
    def one(a: Jet, t: Jet, v: Jet) -> Jet:
        v = larger(v, jet(eps))
        found = (v.apply(log) + (a - t) * (a - t) / v) / 2
        return found + (2 * arb.pi()).log() / 2 if full else found

    x = lift(x)
    var = lift(var)
    if var.ndim and var.ndim < x.ndim and var.shape == x.shape[:-1]:
        var = var[..., None]
    return elementwise(one, x, target, var)


@meaning
def nll(x: Any, target: Any, weight: Any = None, ignore: int = -100, reduction: Any = "mean") -> Array:
    """Of log-probabilities, whose classes are the second axis, or the only one."""
    x, target = lift(x), np.asarray(target)
    if x.ndim == 1:
        x, target = x[None], target[None]
        found = nll(x, target, weight, ignore, reduction)
        return found[0] if reduction == "none" else found
    weights = None if weight is None else lift(weight)
    losses, used = np.empty(target.shape, object), []
    for place in np.ndindex(*target.shape):
        t = int(target[place])
        w = jet(0) if t == ignore else jet(1) if weights is None else weights[t]
        losses[place] = jet(0) if t == ignore else -(x[(place[0], t, *place[1:])] * w)
        used.append(w)
    if reduction == "none":
        return losses
    return lift(total(list(losses.ravel())) / total(used)) if reduction == "mean" else sum_(losses)


@meaning
def cross_entropy(
    x: Any, target: Any, weight: Any = None, ignore: int = -100, reduction: Any = "mean", smoothing: Any = 0.0
) -> Array:  # fmt: skip
    x = lift(x)
    axis = 0 if x.ndim == 1 else 1
    logs = log_softmax(x, axis)
    if isinstance(target, np.ndarray) and target.dtype.kind in "iu":
        if smoothing:
            raise NotImplementedError("smoothed labels")
        return nll(logs, target, weight, ignore, reduction)
    if weight is not None:
        raise NotImplementedError("weighted probabilities")
    classes = x.shape[axis]
    shares = elementwise(lambda t: t * (1 - jet(smoothing)) + jet(smoothing) / classes, target)
    losses = elementwise(lambda a: -a, sum_(elementwise(lambda a, b: a * b, logs, shares), axis))
    if reduction == "none":
        return losses
    return elementwise(lambda a: a / (max(1, losses.size) if reduction == "mean" else 1), sum_(losses))


@meaning
def sparse_cross_entropy(labels: Any, logits: Any) -> Array:
    """Labels as whole numbers, classes on the last axis, nothing reduced."""
    logs, labels = log_softmax(logits, -1), np.asarray(labels)
    found = np.empty(labels.shape, object)
    for place in np.ndindex(*labels.shape):
        found[place] = -logs[(*place, int(labels[place]))]
    return found


@meaning
def multi_margin(x: Any, target: Any, p: Any = 1, margin: Any = 1.0, weight: Any = None, reduction: Any = "mean") -> Array:
    x, target = lift(x), np.asarray(target)
    if x.ndim == 1:
        found = multi_margin(x[None], target.reshape(1), p, margin, weight, reduction)
        return found[0] if reduction == "none" else found
    weights = None if weight is None else lift(weight)
    losses = np.empty(len(x), object)
    for row, t in enumerate(target):
        terms = []
        for k in range(x.shape[1]):
            if k != t:
                gap = larger(jet(margin) - x[row, t] + x[row, k], jet(0))
                gap = gap * gap if int(p) == 2 else gap
                terms.append(gap if weights is None else gap * weights[t])
        losses[row] = total(terms) / x.shape[1]
    return reduced(losses, reduction)


@meaning
def multilabel_soft_margin(x: Any, target: Any, weight: Any = None, reduction: Any = "mean") -> Array:
    def one(a: Jet, t: Jet) -> Jet:
        return t * soft(-a) + (1 - t) * soft(a)

    found = elementwise(one, x, target)
    if weight is not None:
        found = elementwise(lambda a, w: a * w, found, weight)
    return reduced(mean(found, -1), reduction)


@meaning
def cosine_similarity(a: Any, b: Any, axis: int = 1, eps: Any = 1e-8) -> Array:
    a, b = np.broadcast_arrays(lift(a), lift(b))
    if not a.ndim and int(axis) in (0, -1):  # a single number is a vector of one
        return cosine_similarity(a[None], b[None], 0, eps)
    a, b = np.moveaxis(a, int(axis), -1), np.moveaxis(b, int(axis), -1)
    found = np.empty(a.shape[:-1], object)
    for place in np.ndindex(*found.shape):
        top = total([x * y for x, y in zip(a[place], b[place])])
        norms = [larger(norm_of(list(row)), jet(eps)) for row in (a[place], b[place])]
        found[place] = top / (norms[0] * norms[1])
    return found


@meaning
def cosine_embedding(a: Any, b: Any, target: Any, margin: Any = 0.0, reduction: Any = "mean") -> Array:
    """With a small constant beside the squares rather than a floor under them."""
    a, b, t = lift(a), lift(b), lift(target)
    small = 1e-12

    def inner(x: Array, y: Array) -> Array:
        return sum_(elementwise(lambda p, q: p * q, x, y), -1)

    root = elementwise(lambda p, q: ((p + small) * (q + small)).apply(sqrt), inner(a, a), inner(b, b))
    cosine = elementwise(lambda p, q: p / q, inner(a, b), root)
    found = elementwise(lambda c, s: 1 - c if s.value == 1 else larger(c - margin, jet(0)), cosine, t)
    return reduced(found, reduction)


@meaning
def pairwise_distance(a: Any, b: Any, p: Any = 2.0, eps: Any = 1e-6, keepdims: bool = False) -> Array:
    return norm(elementwise(lambda x, y: x - y + eps, a, b), p, -1, keepdims)


@meaning
def triplet_margin(
    anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: Any = 2.0, eps: Any = 1e-6, swap: bool = False, reduction: Any = "mean"
) -> Array:
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        from gradfuzz.reference.semantics.choice import smaller

        far = elementwise(smaller, far, pairwise_distance(positive, negative, p, eps))
    return reduced(elementwise(lambda x, y: larger(x - y + margin, jet(0)), near, far), reduction)


@meaning
def log_loss(labels: Any, predictions: Any, eps: Any = 1e-7) -> Array:
    return elementwise(lambda t, p: -(t * (p + eps).apply(log)) - (1 - t) * (1 - p + eps).apply(log), labels, predictions)


@meaning
def log_cosh(a: Any, b: Any) -> Array:
    def one(x: Jet, y: Jet) -> Jet:
        off = y - x
        return off + soft(off * -2) - arb(2).log()

    return elementwise(one, a, b)
