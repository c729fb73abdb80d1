"""The ops: forward in NumPy, with what backward needs kept beside the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.tensor import Tensor, tensor_of


def _record(op: str, data: Any, inputs: tuple[Tensor, ...], *extra: Any) -> Tensor:
    engine = inputs[0].engine
    data = np.asarray(data)
    kept = engine.remember(op, (*(t.data for t in inputs), data))
    return Tensor(data, inputs, op, (*kept, *extra), engine)


def _pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    engine = (a if isinstance(a, Tensor) else b).engine
    return tensor_of(a, engine), tensor_of(b, engine)


def add(a, b):
    a, b = _pair(a, b)
    return _record("add", a.data + b.data, (a, b))


def sub(a, b):
    a, b = _pair(a, b)
    return _record("sub", a.data - b.data, (a, b))


def mul(a, b):
    a, b = _pair(a, b)
    return _record("mul", a.data * b.data, (a, b))


def div(a, b):
    a, b = _pair(a, b)
    return _record("div", a.data / b.data, (a, b))


def matmul(a, b):
    a, b = _pair(a, b)
    return _record("matmul", a.data @ b.data, (a, b))


def neg(a):
    return _record("neg", -a.data, (a,))


def power(a, exponent):
    return _record("power", a.data**exponent, (a,), exponent)


def absolute(a):
    return _record("absolute", np.abs(a.data), (a,))


def exp(a):
    return _record("exp", np.exp(a.data), (a,))


def log(a):
    return _record("log", np.log(a.data), (a,))


def sqrt(a):
    return _record("sqrt", np.sqrt(a.data), (a,))


def tanh(a):
    return _record("tanh", np.tanh(a.data), (a,))


def sigmoid(a):
    # tanh neither overflows nor loses digits on either side
    return _record("sigmoid", 0.5 * (1 + np.tanh(0.5 * a.data)), (a,))


def relu(a):
    return _record("relu", np.maximum(a.data, 0), (a,))


def sum(a, axis=None, keepdims=False):
    return _record("sum", a.data.sum(axis=axis, keepdims=keepdims), (a,), axis, keepdims)


def mean(a, axis=None, keepdims=False):
    return _record("mean", a.data.mean(axis=axis, keepdims=keepdims), (a,), axis, keepdims)


def max(a, axis=None, keepdims=False):
    return _record("max", a.data.max(axis=axis, keepdims=keepdims), (a,), axis, keepdims)


def reshape(a, shape):
    return _record("reshape", a.data.reshape(shape), (a,))


def transpose(a, axes=None):
    axes = tuple(reversed(range(a.data.ndim))) if axes is None else tuple(axes)
    return _record("transpose", a.data.transpose(axes), (a,), axes)


def getitem(a, index):
    return _record("getitem", a.data[index], (a,), index)


def concat(tensors, axis=0):
    tensors = tuple(tensors)
    return _record("concat", np.concatenate([t.data for t in tensors], axis=axis), tensors, axis)


def softmax(a):
    """Along the last axis."""
    shifted = np.exp(a.data - a.data.max(-1, keepdims=True))
    return _record("softmax", shifted / shifted.sum(-1, keepdims=True), (a,))


def log_softmax(a):
    """Along the last axis."""
    shifted = a.data - a.data.max(-1, keepdims=True)
    return _record("log_softmax", shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)), (a,))


def cross_entropy(logits, labels):
    """The mean over rows; labels are whole numbers."""
    labels = np.asarray(labels)
    shifted = logits.data - logits.data.max(-1, keepdims=True)
    chosen = shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(-1))
    return _record("cross_entropy", -chosen.mean(), (logits,), labels)


for _name, _op in {"__add__": add, "__sub__": sub, "__mul__": mul, "__truediv__": div, "__matmul__": matmul, "__pow__": power,
                   "__neg__": neg, "__getitem__": getitem, "sum": sum, "mean": mean, "max": max, "reshape": reshape,
                   "exp": exp, "log": log, "tanh": tanh, "relu": relu}.items():  # fmt: skip
    setattr(Tensor, _name, _op)
Tensor.__radd__ = lambda self, other: add(other, self)
Tensor.__rsub__ = lambda self, other: sub(other, self)
Tensor.__rmul__ = lambda self, other: mul(other, self)
Tensor.__rtruediv__ = lambda self, other: div(other, self)
