"""Derivatives of any order on a tape: for libraries that record what runs and differentiate what they have recorded.

Such a library differentiates tensors rather than functions. Every mode of a nesting is taken with respect to the same leaves: reverse mode
turns what was computed so far into ⟨∇⟨w, ·⟩, u⟩, on the tape again. A library without dual numbers has tangents all the same: a
gradient is linear in its weights, so that its own gradient with respect to them, along u, is the tangent along u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable, NamedTuple

import numpy as np

from gradfuzz.targets.base.dtypes import as_double
from gradfuzz.targets.base.functions import Unsupported, WrongGradientShape
from gradfuzz.targets.base.probing import nudged
from gradfuzz.targets.base.scenario import Modes

Array = Any
Tensors = Sequence[Any]
Function = Callable[[Tensors], Any]


class NoGradient(Unsupported):
    """The library declares that nothing here has a derivative."""


class Undeclared(Unsupported):
    """The library declares no derivative with respect to inputs that the function depends on, by their places."""

    def __init__(self, places: list[int]) -> None:
        super().__init__(f"the library declares no gradient with respect to input {', '.join(map(str, places))}")
        self.places = places


class Tape(ABC):
    """A library's tensors and its tape. A target says in a line or two each what the library calls these."""

    forward_mode = True  # whether the library promises tangents

    @abstractmethod
    def tensor(self, array: Array, dtype: str, layout: str = "contiguous") -> Any:
        """A tensor of these numbers that is recorded nowhere. ProgramError for types that the library lacks."""

    @abstractmethod
    def numbers(self, tensor: Any) -> Array:
        """As NumPy has them; bfloat16 comes as float32."""

    @abstractmethod
    def dtype(self, tensor: Any) -> str:
        """The element type by NumPy's name; bfloat16 too."""

    @abstractmethod
    def owns(self, value: Any) -> bool:
        """Whether the value is a dense tensor of the library's."""

    @abstractmethod
    def clone(self, tensor: Any) -> Any:
        """A copy, on the tape if the tensor is."""

    @abstractmethod
    def leaf(self, tensor: Any) -> Any:
        """The same numbers as a tensor of its own, from which on the tape records."""

    @abstractmethod
    def recorded(self, tensor: Any) -> bool:
        """Whether it hangs on the tape."""

    @abstractmethod
    def recording(self, on: bool) -> AbstractContextManager[Any]:
        """A context in which the tape runs, or does not."""

    @abstractmethod
    def gradients(self, outputs: Tensors, leaves: Tensors, weights: Tensors, again: bool) -> Tensors:
        """A gradient for each leaf, None where it is unreached; on the tape themselves if they are to be differentiated again."""

    @abstractmethod
    def inner(self, a: Tensors, b: Tensors) -> Any:
        """Re⟨a, b⟩ in double precision, on the tape if a or b are."""

    @abstractmethod
    def cast(self, tensor: Any, dtype: str) -> Any:
        """The tensor in another type."""

    # What some libraries cannot say ---------------------------------------------------------------------------------

    def written(self, tensor: Any) -> Any:
        """A number that grows when somebody writes to the tensor."""
        return 0

    @abstractmethod
    def seed(self) -> None:
        """Make the generator draw the same numbers again."""

    def drawn(self) -> Any:
        """What changes when random numbers are drawn."""
        return None

    def one(self) -> Any:
        return self.tensor(np.ones(()), "float64")


class Taken(NamedTuple):
    """One derivative: F's outputs as the tape saw them, what is left to contract, which outputs hang on the tape, and those that do."""

    outputs: list[Any]
    result: list[Array]
    live: list[bool]


def derivative(
    tape: Tape, function: Function, xs: Tensors, modes: Modes, us: Sequence[Sequence[Array]], v: Tensors, declared: bool = True
) -> Taken:
    """The nesting of the modes along us, innermost first: one array per output, or one number after an outermost reverse mode.

    No gradient at all is a declaration that there is none (`declared`); in people's own code it counts as zero.
    """
    if "f" in modes and not tape.forward_mode:
        raise Unsupported("the library has no forward mode")
    leaves = [tape.leaf(x) for x in xs]
    with tape.recording(True):
        outputs = list(function(leaves))
        live = [tape.recorded(o) for o in outputs]
        if not any(live):
            raise NoGradient("no output depends on a differentiable input")
        current, weights = outputs, list(v)
        for position, (mode, u) in enumerate(zip(modes, us)):
            last = position == len(modes) - 1
            directions = u if last and mode == "r" else [tape.tensor(a, tape.dtype(x)) for a, x in zip(u, leaves)]
            if mode == "f":
                current = _tangents(tape, current, leaves, directions, not last)
                continue
            grads = _pulled(tape, current, leaves, weights, not last)
            if declared and position == 0 and any(g is None for g in grads):
                _check_declared(tape, function, xs, outputs, grads)
            if last:
                return Taken(outputs, [_contracted(tape, grads, u)], live)
            pairs = [(g, d) for g, d in zip(grads, directions) if g is not None]
            current, weights = [tape.inner([g for g, _ in pairs], [d for _, d in pairs])], [tape.one()]
    return Taken(outputs, [tape.numbers(t) for t in current], live)


def _pulled(tape: Tape, current: Tensors, leaves: Tensors, weights: Tensors, again: bool) -> Tensors:
    """Gradients of ⟨weights, current⟩. What does not hang on the tape has none."""
    hanging: dict[int, tuple[Any, Any]] = {}
    for t, w in zip(current, weights):
        if tape.recorded(t):
            weight = tape.cast(w, tape.dtype(t))
            hanging[id(t)] = (t, hanging[id(t)][1] + weight if id(t) in hanging else weight)  # a cell returns its state twice
    if not hanging:
        return [None for _ in leaves]
    found = tape.gradients([t for t, _ in hanging.values()], leaves, [w for _, w in hanging.values()], again)
    for gradient, leaf in zip(found, leaves):
        if gradient is not None and (tuple(gradient.shape) != tuple(leaf.shape) or tape.dtype(gradient) != tape.dtype(leaf)):
            theirs, ours = (f"{tape.dtype(t)}{list(t.shape)}" for t in (gradient, leaf))
            raise WrongGradientShape(f"the gradient is {theirs}, the input {ours}")
    return found


def _check_declared(tape: Tape, function: Function, xs: Tensors, outputs: Tensors, gradients: Tensors) -> None:
    """Inputs without a gradient must be inputs that the outputs do not move with."""
    moved = [tape.tensor(nudged(tape.numbers(x)), tape.dtype(x)) if g is None else x for x, g in zip(xs, gradients)]
    with tape.recording(False):
        there = [tape.numbers(o) for o in function(moved)]
    if any(not np.array_equal(tape.numbers(o), t, equal_nan=True) for o, t in zip(outputs, there)):
        raise Undeclared([place for place, gradient in enumerate(gradients) if gradient is None])


def _contracted(tape: Tape, gradients: Tensors, u: Sequence[Array]) -> Array:
    """⟨gradients, u⟩, summed in double precision."""
    return np.float64(sum(_dot(tape.numbers(g), d) for g, d in zip(gradients, u) if g is not None))


def _dot(a: Array, b: Array) -> float:
    total = float(np.vdot(a, b).real if a.dtype.kind == "c" or b.dtype.kind == "c" else np.vdot(as_double(a), b))
    if total == total or a.shape != b.shape or b.all():
        return total
    return _dot(a[b != 0], b[b != 0])  # what is not moved says nothing, be it NaN


def _tangents(tape: Tape, current: Tensors, leaves: Tensors, u: Tensors, again: bool) -> list[Any]:
    """The tangent of each tensor along u: the gradient of ⟨gradient, u⟩ with respect to the gradient's weights."""
    found = []
    for tensor in current:
        zero = tape.tensor(np.zeros(tuple(tensor.shape)), tape.dtype(tensor))
        weight = tape.leaf(zero)
        grads = tape.gradients([tensor], leaves, [weight], True) if tape.recorded(tensor) else []
        pairs = [(g, d) for g, d in zip(grads, u) if g is not None]
        if not pairs:
            found.append(zero)
            continue
        if not all(tape.recorded(g) for g, _ in pairs):
            raise Unsupported("a gradient is not recorded as a function of its weights, so that there is no tangent")
        (tangent,) = tape.gradients([g for g, _ in pairs], [weight], [d for _, d in pairs], again)
        if tangent is None:
            raise Unsupported("a gradient has no gradient with respect to its weights, so that there is no tangent")
        found.append(tangent)
    return found
