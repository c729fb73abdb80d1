"""Activations."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from gradfuzz.reference.arrays import Array, along, elementwise, lift
from gradfuzz.reference.jet import Jet, jet
from gradfuzz.reference.semantics.choice import Edge, choose, larger, sign_of, size_of, smaller
from gradfuzz.reference.semantics.elementary import exp, expm1, log, log1p, tanh
from gradfuzz.reference.semantics.reduction import log_sum_exp
from gradfuzz.reference.semantics.registry import each, meaning
from gradfuzz.reference.semantics.special import erfc

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def logistic(a: Jet) -> Jet:
    """Written with the exponential that is small: neither tail cancels."""
    if a.value.real > 0:
        return 1 / (1 + (-a).apply(exp))
    e = a.apply(exp)
    return e / (1 + e)


def soft(a: Jet) -> Jet:
    """log(1 + exp(x)); of a complex number on the branch that the logarithm has"""
    if not a.complex and a.value > 0:
        return a + (-a).apply(exp).apply(log1p)
    return a.apply(exp).apply(log1p)


@each
def sigmoid(a: Jet) -> Jet:
    return logistic(a)


@each
def log_sigmoid(a: Jet) -> Jet:
    return -soft(-a)


def at_least(a: Jet, edge: Any, above: Any, below: Any) -> Jet:
    """One branch above an edge, another below; a kink at the edge itself."""
    sign = sign_of(a - edge)
    if sign == 1:
        found: Jet = above(a)
        return found
    if sign == -1:
        found = below(a)
        return found
    return choose(Edge(None), above(a), below(a))


@meaning
def softplus(x: Any, beta: Any = 1, threshold: Any = None) -> Array:
    def one(a: Jet, b: Jet) -> Jet:
        if threshold is None:
            return soft(a * b) / b
        return at_least(a * b, threshold, lambda _: a, lambda y: soft(y) / b)

    return elementwise(one, x, beta)


@meaning
def gelu(x: Any, approximate: Any = False) -> Array:
    def one(a: Jet) -> Jet:
        if approximate in (True, "tanh"):
            inner = (a + a * a * a * 0.044715) * (2 / arb.pi()).sqrt()
            return a * logistic(inner * 2)
        return a * (-a / arb(2).sqrt()).apply(erfc) / 2

    return elementwise(one, x)


@meaning
def silu(x: Any, beta: Any = 1) -> Array:
    return elementwise(lambda a, b: a * logistic(a * b), x, beta)


@each
def mish(a: Jet) -> Jet:
    return a * soft(a).apply(tanh)


@meaning
def elu(x: Any, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0) -> Array:
    return elementwise(lambda a: at_least(a, 0, lambda y: y * scale, lambda y: (y * input_scale).apply(expm1) * jet(alpha) * scale), x)


@meaning
def selu(x: Any) -> Array:
    return elu(x, SELU_ALPHA, SELU_SCALE)


@meaning
def celu(x: Any, alpha: Any = 1.0) -> Array:
    return elementwise(lambda a: at_least(a, 0, lambda y: y, lambda y: (y / jet(alpha)).apply(expm1) * jet(alpha)), x)


@each
def relu(a: Jet) -> Jet:
    return larger(a, jet(0))


def clamped(a: Jet, low: Any, high: Any) -> Jet:
    return smaller(larger(a, jet(low)), jet(high))


@each
def relu6(a: Jet) -> Jet:
    return clamped(a, 0, 6)


@each
def hard_sigmoid(a: Jet) -> Jet:
    return clamped(a + 3, 0, 6) / 6


@each
def hard_swish(a: Jet) -> Jet:
    return a * clamped(a + 3, 0, 6) / 6


@meaning
def leaky_relu(x: Any, slope: Any = 0.01) -> Array:
    return elementwise(lambda a, s: at_least(a, 0, lambda y: y, lambda y: y * s), x, slope)


@meaning
def prelu(x: Any, weight: Any) -> Array:
    """One weight for all, or one for each channel, which is the second axis."""
    x, weight = lift(x), lift(weight)
    if weight.size > 1:
        weight = weight.reshape([-1 if k == min(1, x.ndim - 1) else 1 for k in range(x.ndim)])
    else:
        weight = weight.reshape(())
    return leaky_relu(x, weight)


@each
def softsign(a: Jet) -> Jet:
    return a / (1 + size_of(a))


@each
def tanh_shrink(a: Jet) -> Jet:
    return a - a.apply(tanh)


def _beyond(a: Jet, edge: Any, shift: Any) -> Jet:
    """Zero up to the edge on both sides; beyond it x, moved towards zero by the shift."""
    return at_least(a, edge, lambda y: y - shift, lambda _: at_least(-a, edge, lambda y: -(y - shift), lambda y: y * 0))


@meaning
def hard_shrink(x: Any, lambd: Any = 0.5) -> Array:
    return elementwise(lambda a: _beyond(a, lambd, 0), x)


@meaning
def soft_shrink(x: Any, lambd: Any = 0.5) -> Array:
    return elementwise(lambda a: _beyond(a, lambd, lambd), x)


@meaning
def threshold(x: Any, edge: Any, value: Any) -> Array:
    return elementwise(lambda a: at_least(a, edge, lambda y: y, lambda y: y * 0 + value), x)


@meaning
def glu(x: Any, axis: int = -1) -> Array:
    a, b = np.split(lift(x), 2, axis=int(axis))
    return elementwise(lambda p, q: p * logistic(q), a, b)


@meaning
def softmax(x: Any, axis: Any = -1, sign: int = 1) -> Array:
    logs = log_softmax(x, axis, sign)
    return elementwise(lambda a: a.apply(exp), logs)


@meaning
def log_softmax(x: Any, axis: Any = -1, sign: int = 1) -> Array:
    x = lift(x)
    x = elementwise(lambda a: -a, x) if sign < 0 else x
    if x.ndim == 0:
        return elementwise(lambda a: a - a, x)
    return elementwise(lambda a, b: a - b, x, along(x, axis, True, log_sum_exp))


@meaning
def logit(x: Any, eps: Any = None) -> Array:
    def one(a: Jet) -> Jet:
        if eps is not None and eps >= 0:
            a = smaller(larger(a, jet(eps)), 1 - jet(eps))
        return a.apply(log) - (-a).apply(log1p)

    return elementwise(one, x)


@meaning
def squareplus(x: Any, b: Any = 4.0) -> Array:
    from gradfuzz.reference.semantics.elementary import sqrt

    return elementwise(lambda a, c: (a + (a * a + c).apply(sqrt)) / 2, x, b)


@meaning
def attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: Any = None
) -> Array:  # fmt: skip
    from gradfuzz.reference.semantics.products import matmul, transposed

    query, key = lift(query), lift(key)
    factor = 1 / arb(query.shape[-1]).sqrt() if scale is None else jet(scale)
    scores = elementwise(lambda a: a * factor, matmul(query, transposed(key)))
    hidden = np.triu(np.ones(scores.shape[-2:], bool), 1) if causal else None
    if mask is not None:
        if isinstance(mask, np.ndarray) and mask.dtype == bool:
            hidden = ~mask
        else:
            scores = elementwise(lambda a, b: a + b, scores, mask)
    weights = _masked_softmax(scores, hidden)
    return matmul(weights, value)


def _masked_softmax(scores: Array, hidden: Any) -> Array:
    if hidden is None:
        return softmax(scores, -1)
    hidden = np.broadcast_to(hidden, scores.shape)
    found = np.empty(scores.shape, object)
    for place in np.ndindex(*scores.shape[:-1]):
        row, seen = scores[place], ~hidden[place]
        top = log_sum_exp(list(row[seen]))
        for k in range(len(row)):
            found[(*place, k)] = (row[k] - top).apply(exp) if seen[k] else jet(0)
    return found


@meaning
def guessed_axis(x: Any) -> int:
    """What is taken where nobody names an axis."""
    return 0 if lift(x).ndim in (0, 1, 3) else 1
