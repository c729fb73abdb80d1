"""Derivatives of any order from two transforms of functions: push a tangent forward, pull a weight back.

Libraries that differentiate functions (JAX, TensorFlow, HIPS autograd) differ in how they say these two and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gradfuzz.targets.protocol import Modes, Outcome

Array = Any
Many = Callable[[Sequence[Any]], list[Any]]  # tensors to tensors


class Transforms(Protocol):
    """The two transforms. Gradients follow the convention in which ⟨gradient, u⟩ is the directional derivative."""

    def push(self, function: Many, xs: Sequence[Any], u: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(outputs, tangents)"""

    def pull(self, function: Many, xs: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(outputs, gradients), a gradient for each input"""

    def inner(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        """Re⟨a, b⟩ as a number that can be differentiated further."""


def nested(
    library: Transforms, function: Many, xs: Sequence[Any], modes: Modes, us: Sequence[Sequence[Any]], v: Sequence[Any], one: Any,
    to_array: Callable[[Any], Array],
) -> Outcome:  # fmt: skip
    """A fold over the modes, innermost first. Outputs as seen by the transform are kept for the first order alone."""
    current, weights = function, list(v)
    for mode, u in zip(modes[:-1], us):
        current, weights = (_pushed(library, current, u), weights) if mode == "f" else (_pulled(library, current, u, weights), [one])
    if modes[-1] == "f":
        outputs, tangents = library.push(current, xs, us[-1])
        contracted = "r" in modes
        result = [to_array(t) for t in tangents]
    else:
        outputs, gradients = library.pull(current, xs, weights)
        contracted = True
        result = [np.float64(sum(float(np.vdot(_double(to_array(g)), np.asarray(u)).real) for g, u in zip(gradients, us[-1])))]
    if len(modes) > 1:
        outputs = function(xs)
    return Outcome([to_array(o) for o in outputs], result, contracted)


def _double(array: Array) -> Array:
    return array if array.dtype.itemsize >= 8 else array.astype(np.float64)


def _pushed(library: Transforms, function: Many, u: Sequence[Any]) -> Many:
    return lambda xs: library.push(function, xs, u)[1]


def _pulled(library: Transforms, function: Many, u: Sequence[Any], weights: list[Any]) -> Many:
    return lambda xs: [library.inner(library.pull(function, xs, weights)[1], u)]
