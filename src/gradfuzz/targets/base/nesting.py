"""Derivatives of any order from two transforms of functions: push a tangent forward, pull a weight back.

Each mode turns a function g of the inputs into another: forward mode along u gives g's tangent; reverse mode gives the number
Re⟨∇⟨w, g⟩, u⟩, where w contracts what g returns. A nesting is a fold over its modes. Libraries that differentiate functions differ in
how they say the two transforms and in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Protocol

from gradfuzz.targets.base.scenario import Modes

Tensors = Sequence[Any]
Many = Callable[[Tensors], Any]  # tensors to a sequence of tensors
# function, xs, modes, us, v -> (outputs, derivative): the form of `derivative` below and of every way that takes its place.
Derivative = Callable[..., tuple[Any, Any]]


class Transforms(Protocol):
    """The two transforms. Gradients follow the convention in which Re⟨gradient, u⟩ is the directional derivative."""

    def push(self, function: Many, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        """(outputs, a tangent for each of them)"""

    def pull(self, function: Many, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        """(outputs, a gradient for each input; None where the library declares that there is none)"""

    def inner(self, a: Tensors, b: Tensors) -> Any:
        """Re⟨a, b⟩ as a number in double precision that can be differentiated further. What is absent is zero."""

    def one(self) -> Any:
        """The weight of a number by itself."""


def derivative(
    library: Transforms, function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors
) -> tuple[Any, Any]:  # fmt: skip
    """(F's outputs as the mode sees them, the derivative: one tensor per output, or one number after a reverse mode).

    Nestings have None for outputs: what AD does to them shows at order one already.
    """
    if not modes:
        outputs = function(xs)
        return outputs, outputs
    if modes == ("f",):
        return library.push(function, xs, us[0])
    if modes == ("r",):
        outputs, gradients = library.pull(function, xs, v)
        return outputs, [library.inner(gradients, us[0])]
    current, weights = function, list(v)
    for mode, u in zip(modes, us):
        if mode == "f":
            current = _pushed(library, current, u)
        else:
            current, weights = _pulled(library, current, u, weights), [library.one()]
    return None, current(xs)


def _pushed(library: Transforms, g: Many, u: Tensors) -> Many:
    return lambda xs: library.push(g, xs, u)[1]


def _pulled(library: Transforms, g: Many, u: Tensors, weights: Tensors) -> Many:
    return lambda xs: [library.inner(library.pull(g, xs, weights)[1], u)]
