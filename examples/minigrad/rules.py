"""The backward rules: the gradient of the output and what forward kept in, one gradient for each input out.

A gradient may still have the output's shape where an input was broadcast: the engine undoes that.
"""

from __future__ import annotations

import numpy as np


def add(g, a, b, out):
    return g, g


def sub(g, a, b, out):
    return g, -g


def mul(g, a, b, out):
    return g * b, g * a


def div(g, a, b, out):
    return g / b, -g * a / (b * b)


def neg(g, a, out):
    return (-g,)


def power(g, a, out, exponent):
    return (g * exponent * a ** (exponent - 1),)


def absolute(g, a, out):
    return (g * np.sign(a),)


def exp(g, a, out):
    return (g * out,)


def log(g, a, out):
    return (g / a,)


def sqrt(g, a, out):
    return (g / (2 * out),)


def tanh(g, a, out):
    return (g * (1 - out * out),)


def sigmoid(g, a, out):
    return (g * out * (1 - out),)


def relu(g, a, out):
    return (g * (a > 0),)


def matmul(g, a, b, out):
    return g @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ g


def sum(g, a, out, axis, keepdims):
    return (np.broadcast_to(_expanded(g, axis, keepdims), a.shape),)


def mean(g, a, out, axis, keepdims):
    return (np.broadcast_to(_expanded(g, axis, keepdims), a.shape) * (out.size / a.size),)


def max(g, a, out, axis, keepdims):
    winners = a == _expanded(out, axis, keepdims)
    share = winners / winners.sum(axis=axis, keepdims=True)
    return (share * _expanded(g, axis, keepdims),)


def reshape(g, a, out):
    return (g.reshape(a.shape),)


def transpose(g, a, out, axes):
    return (g.transpose(np.argsort(axes)),)


def getitem(g, a, out, index):
    spread = np.zeros(a.shape)
    np.add.at(spread, index, g)
    return (spread,)


def concat(g, *kept):
    *parts, _, axis = kept
    return tuple(np.split(g, np.cumsum([p.shape[axis] for p in parts])[:-1], axis=axis))


def softmax(g, a, out):
    return (out * (g - (g * out).sum(-1, keepdims=True)),)


def log_softmax(g, a, out):
    return (g - np.exp(out) * g.sum(-1, keepdims=True),)


def cross_entropy(g, logits, out, labels):
    probabilities = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    probabilities[np.arange(len(labels)), labels] -= 1
    return (g * probabilities / len(labels),)


def _expanded(g, axis, keepdims):
    return g if keepdims or axis is None else np.expand_dims(g, axis)


RULES = {name: rule for name, rule in list(globals().items()) if callable(rule) and not name.startswith("_") and name != "annotations"}
