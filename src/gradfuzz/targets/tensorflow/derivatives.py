"""Derivatives of any order by TensorFlow's tape and forward accumulator, folded as everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from gradfuzz.targets.base import nesting
from gradfuzz.targets.base.nesting import Many, Tensors
from gradfuzz.targets.base.scenario import Modes


class NoGradient(RuntimeError):
    """TensorFlow answers None throughout: it declares that nothing here has a derivative."""


class TensorflowTransforms:
    """`declared`: None throughout is a declaration; in people's own code it is a derivative of zero."""

    def __init__(self, declared: bool = True) -> None:
        self.declared = declared

    def push(self, function: Many, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        with tf.autodiff.ForwardAccumulator(list(xs), list(u)) as accumulator:
            outputs = function(xs)
        tangents = self._some([accumulator.jvp(o) for o in outputs])
        return outputs, [tf.zeros_like(o) if t is None else tf.convert_to_tensor(t) for t, o in zip(tangents, outputs)]

    def pull(self, function: Many, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(list(xs))
            outputs = function(xs)
        seeds = [w if w.dtype == o.dtype else tf.cast(w, o.dtype) for w, o in zip(weights, outputs)]
        return outputs, self._some(tape.gradient(outputs, list(xs), output_gradients=seeds))

    def inner(self, a: Tensors, b: Tensors) -> Any:
        return inner(a, b)

    def one(self) -> Any:
        return tf.ones((), tf.float64)

    def _some(self, gradients: list[Any]) -> list[Any]:
        return some(gradients) if self.declared else gradients


def inner(a: Tensors, b: Tensors) -> Any:
    """Re⟨a, b⟩ with a direction or weights b, in double precision: TensorFlow's pullbacks are adjoints. An absent gradient is zero.

    Where b is zero, a says nothing, be it NaN.
    """
    terms = []
    for x, y in zip(a, b):
        if x is None:
            continue
        x = tf.convert_to_tensor(x)  # gradients of gathers are IndexedSlices
        wide = tf.complex128 if x.dtype.is_complex or y.dtype.is_complex else tf.float64
        product = tf.math.conj(tf.cast(tf.where(y != 0, x, tf.zeros((), x.dtype)), wide)) * tf.cast(y, wide)
        terms.append(tf.cast(tf.math.real(tf.reduce_sum(product)), tf.float64))
    return sum(terms[1:], terms[0]) if terms else tf.zeros((), tf.float64)


def some(gradients: list[Any]) -> list[Any]:
    if all(g is None for g in gradients):
        raise NoGradient("TensorFlow gives None: no derivative is declared here")
    return gradients


def derivative(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """(F's outputs as the mode sees them, the derivative); see the fold."""
    return nesting.derivative(TensorflowTransforms(), function, xs, modes, us, v)
