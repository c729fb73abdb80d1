"""The few lines that introduce a home-made tensor class to gradfuzz."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

Array = Any


@dataclass(frozen=True)
class Adapter:
    """How to make a tensor from an array, how to run backward, where the gradient is.

    For a class whose tensors have `.data`, `.grad` and `.backward()` it is `Adapter(Tensor)`.

    - `tensor(array)` makes a fresh tensor that is to be differentiated;
    - `array(tensor)` gives its numbers;
    - `backward(output, seed)` runs backward from the output, weighted with the array `seed` of the output's shape. For an output
      of one element the seed is 1 and may be ignored. By default `output.backward(seed)` if that takes an argument, else
      `output.backward()`, for larger outputs on `(output * tensor(seed)).sum()`;
    - `gradient(tensor)` gives the gradient that backward left: an array, a tensor, or None for none.
    """

    tensor: Callable[[Array], Any]
    backward: Callable[[Any, Array], Any] | None = None
    gradient: Callable[[Any], Any] = attrgetter("grad")
    array: Callable[[Any], Any] = attrgetter("data")
    name: str = "home-made"
