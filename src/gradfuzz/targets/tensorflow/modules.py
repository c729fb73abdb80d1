"""Keras layers as functions: their trainable weights are inputs, everything else they hold stays as it was built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

# Weights are drawn anew from this seed, in the layer's own order, so that a script can draw the same.
SEED = 20240229
SCALE = 0.5


def is_module_class(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, tf.keras.layers.Layer)


class Module:
    """A built layer and the numbers of its trainable weights."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        rng = np.random.default_rng(SEED)
        self.variables = [w for w in layer.trainable_weights if tf.as_dtype(w.dtype).is_floating]
        self.names = [f"{position}" for position in range(len(self.variables))]
        # Weights whose own start values are constants (norms, PReLU) still get distinct numbers.
        self.values = [np.asarray(SCALE * rng.standard_normal(tuple(w.shape)), _dtype(w)) for w in self.variables]

    @contextlib.contextmanager
    def bound(self, tensors: Sequence[Any]) -> Iterator[None]:
        """Inside, the layer computes with these tensors in place of its weights."""
        if hasattr(self.layer, "stateless_call"):
            with tf.keras.StatelessScope(state_mapping=list(zip(self.variables, tensors))):
                yield
            return
        # Keras 2 reads its weights from attributes: each is lent a tensor for the while.
        lent = {id(w): t for w, t in zip(self.variables, tensors)}
        undo: list[tuple[dict[str, Any], str, Any]] = []
        for owner in (self.layer, *self.layer.submodules):
            for name, value in list(vars(owner).items()):
                if id(value) in lent:
                    undo.append((vars(owner), name, value))
                    vars(owner)[name] = lent[id(value)]
        try:
            yield
        finally:
            for space, name, value in undo:
                space[name] = value


def _dtype(variable: Any) -> Any:
    return tf.as_dtype(variable.dtype).as_numpy_dtype
