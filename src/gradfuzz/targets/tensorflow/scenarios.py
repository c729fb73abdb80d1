"""Derivatives of any order by TensorFlow's tape and forward accumulator, nested in any order.

Each mode turns a function g of the inputs into another: forward mode along u gives g's tangent; reverse mode gives the
number Re⟨∇⟨w, g⟩, u⟩, where w contracts what g returns. A nesting is a fold over its modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import tensorflow as tf

from gradfuzz.targets.protocol import Modes

Arrays = Sequence[Any]
# F takes a list of tensors and returns a list of tensors.
Function = Callable[[Arrays], list[Any]]
# function, xs, modes, us, v -> (outputs, derivative: one tensor per output, or one number after a reverse mode)
Way = Callable[..., tuple[Any, Any]]


class NoGradient(RuntimeError):
    """TensorFlow answers None throughout: it declares that nothing here has a derivative."""


def inner(a: Arrays, b: Arrays) -> Any:
    """Re⟨a, b⟩ in double precision, conjugating the first: TensorFlow's pullbacks are adjoints. An absent gradient is zero."""
    terms = []
    for x, y in zip(a, b):
        if x is None:
            continue
        x = tf.convert_to_tensor(x)  # gradients of gathers are IndexedSlices
        wide = tf.complex128 if x.dtype.is_complex or y.dtype.is_complex else tf.float64
        product = tf.math.conj(tf.cast(x, wide)) * tf.cast(y, wide)
        terms.append(tf.cast(tf.math.real(tf.reduce_sum(product)), tf.float64))
    return sum(terms[1:], terms[0]) if terms else tf.zeros((), tf.float64)


def pull(function: Function, xs: Arrays, v: Arrays) -> tuple[Any, list[Any]]:
    """(outputs, gradients of ⟨v, F⟩, None where there is none)."""
    with tf.GradientTape() as tape:
        tape.watch(list(xs))
        outputs = function(xs)
    return outputs, some(tape.gradient(outputs, list(xs), output_gradients=list(v)))


def push(function: Function, xs: Arrays, u: Arrays) -> tuple[Any, list[Any]]:
    """(outputs, tangents, zero where there is none)."""
    with tf.autodiff.ForwardAccumulator(list(xs), list(u)) as accumulator:
        outputs = function(xs)
    tangents = some([accumulator.jvp(o) for o in outputs])
    return outputs, [tf.zeros_like(o) if t is None else tf.convert_to_tensor(t) for t, o in zip(tangents, outputs)]


def some(gradients: list[Any]) -> list[Any]:
    if all(g is None for g in gradients):
        raise NoGradient("TensorFlow gives None: no derivative is declared here")
    return gradients


def derivative(function: Function, xs: Arrays, modes: Modes, us: Sequence[Arrays], v: Arrays) -> tuple[Any, Any]:
    """(F's outputs as the innermost mode sees them, the derivative).

    Outputs of nestings are F's own: what AD does to them shows at order one already.
    """
    if not modes:
        outputs = function(xs)
        return outputs, outputs
    if modes == ("f",):
        return push(function, xs, us[0])
    if modes == ("r",):
        outputs, gradients = pull(function, xs, v)
        return outputs, [inner(gradients, us[0])]
    current, weights = function, list(v)
    for mode, u in zip(modes, us):
        if mode == "f":
            current = _pushed(current, u)
        else:
            current, weights = _pulled(current, u, weights), [tf.ones((), tf.float64)]
    return function(xs), current(xs)


def _pushed(g: Function, u: Arrays) -> Function:
    return lambda xs: push(g, xs, u)[1]


def _pulled(g: Function, u: Arrays, w: Arrays) -> Function:
    return lambda xs: [inner(pull(g, xs, w)[1], u)]
