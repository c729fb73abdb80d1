"""Canonical functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gradfuzz.reference.arrays import elementwise
from gradfuzz.reference.jet import Jet, Taylor

Meaning = Callable[..., Any]
FUNCTIONS: dict[str, Meaning] = {}
M = TypeVar("M", bound=Meaning)


def meaning(function: M) -> M:
    """A function of arrays, under its own name (a trailing underscore keeps it apart from Python's)."""
    FUNCTIONS[function.__name__.rstrip("_")] = function
    return function


def each(function: Callable[..., Jet]) -> Meaning:
    """A function of jets, applied to each element."""
    FUNCTIONS[function.__name__.rstrip("_")] = found = lambda *arrays: elementwise(function, *arrays)
    return found


def analytic(name: str, taylor: Taylor) -> None:
    """A function of one number by its Taylor coefficients."""
    FUNCTIONS[name] = lambda x: elementwise(lambda item: item.apply(taylor), x)
