"""TensorFlow for people's own functions: gradient tapes and forward accumulators, nested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.targets.protocol import Modes, Outcome, Refusal
from gradfuzz.testing.library import Function, Unsupported
from gradfuzz.testing.transforms import Many, nested

Array = Any


class TensorflowLibrary:
    """The installed TensorFlow, run eagerly."""

    name = "tensorflow"
    version = str(tf.__version__)
    highest_order = 3
    forward_mode = True

    def session(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return function, inputs

    def owns(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable))

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype.name)

    def tensor(self, array: Array, dtype: str) -> Any:
        return tf.constant(array, getattr(tf, dtype))

    def array(self, tensor: Any) -> Array:
        array = np.asarray(tf.convert_to_tensor(tensor).numpy())
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        return call(), False

    def reseed(self) -> None:
        pass

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        directions = [[tf.constant(d, x.dtype) for d, x in zip(u, xs)] for u in us]
        weights = [tf.constant(np.asarray(w)) for w in v]
        return nested(self, function, xs, modes, directions, weights, tf.ones((), tf.float64), self.array)

    def push(self, function: Many, xs: Sequence[Any], u: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with tf.autodiff.ForwardAccumulator(list(xs), list(u)) as accumulator:
            outputs = function(xs)
        tangents = [accumulator.jvp(o, unconnected_gradients=tf.UnconnectedGradients.ZERO) for o in outputs]
        return outputs, tangents

    def pull(self, function: Many, xs: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with tf.GradientTape() as tape:
            tape.watch(list(xs))
            outputs = function(xs)
        seeds = [tf.cast(w, o.dtype) for w, o in zip(weights, outputs)]
        gradients = tape.gradient(outputs, list(xs), output_gradients=seeds, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return outputs, [tf.convert_to_tensor(g) for g in gradients]

    def inner(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        return sum(tf.cast(tf.math.real(tf.reduce_sum(tf.math.conj(x) * tf.cast(y, x.dtype))), tf.float64) for x, y in zip(a, b))

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).strip()
        if isinstance(error, (Unsupported, NotImplementedError)) or "No gradient defined for operation" in message:
            return Refusal("unsupported", message)
        return Refusal("error", f"{type(error).__name__}: {message}")
