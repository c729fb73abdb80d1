"""What backward leans on, in one place: the rules, the undoing of broadcasting, and how gradients add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.rules import RULES

Array = np.ndarray


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which its input was repeated."""
    lead = gradient.ndim - len(shape)
    summed = gradient.sum(axis=tuple(range(lead)))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and summed.shape[axis] != 1)
    return summed.sum(axis=stretched, keepdims=True)


def accumulate(before: Array | None, more: Array) -> Array:
    """A tensor that is used twice gets both gradients."""
    return more if before is None else before + more


def remember(op: str, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """What an op keeps for its backward: the arrays of this very call."""
    return arrays


@dataclass(frozen=True)
class Engine:
    """The parts that every backward pass uses. A planted bug is an Engine with one part replaced."""

    rules: Mapping[str, Callable[..., tuple[Any, ...]]]
    unbroadcast: Callable[[Array, tuple[int, ...]], Array] = unbroadcast
    accumulate: Callable[[Array | None, Array], Array] = accumulate
    remember: Callable[[str, tuple[Array, ...]], tuple[Array, ...]] = remember


HEALTHY = Engine(RULES)
