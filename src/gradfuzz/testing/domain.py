"""Where a function is defined: what a person says of it, and what the inputs themselves show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError

Array = Any
Within = Callable[[Sequence[Array]], bool]  # the differentiated and the fixed floating inputs, in order

# A sum of probabilities is one up to its rounding.
CLOSE = 1e-9


class OutsideDomain(NotImplementedError):
    """A step would leave the domain: the function is not asked there."""


def within(domain: Any, names: Sequence[str]) -> Within | None:
    """What `domain=` means: a predicate of all inputs, an interval for all, or one of either (or None) for each input."""
    if domain is None:
        return None
    if callable(domain):
        return lambda arrays: bool(domain(*arrays))
    if _is_interval(domain):
        return lambda arrays: all(_inside(domain, a) for a in arrays)
    if isinstance(domain, Mapping):
        unknown = sorted(set(domain) - set(names))
        if unknown:
            raise GradfuzzError(f"domain names {unknown[0]!r}, which is no floating input; those are {', '.join(names)}")
        rules = [domain.get(name) for name in names]
    elif isinstance(domain, Sequence) and not isinstance(domain, str) and len(domain) == len(names):
        rules = list(domain)
    else:
        raise GradfuzzError(f"domain={domain!r}: give an interval (0, 1), a predicate, or one of these for each of {', '.join(names)}")
    if not all(rule is None or callable(rule) or _is_interval(rule) for rule in rules):
        raise GradfuzzError("domain: each input has an interval as in (0, 1), a predicate, or None")
    return lambda arrays: all(_fits(rule, array) for rule, array in zip(rules, arrays))


def _is_interval(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, (int, float)) for v in value)


def _fits(rule: Any, array: Array) -> bool:
    return rule is None or (_inside(rule, array) if _is_interval(rule) else bool(rule(array)))


def _inside(interval: tuple[float, float], array: Array) -> bool:
    return bool(((array >= interval[0]) & (array <= interval[1])).all())


def kept(array: Array) -> Callable[[Array], bool]:
    """Whether other numbers are of the same kind as these: in their range, and whole, sorted or summing to one where these are.

    A smaller example that leaves it may fail for a reason of its own: a probability of 3 is nobody's bug.
    """
    if not array.size or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        return lambda other: True
    low, high = array.min(), array.max()
    rules: list[Callable[[Array], bool]] = [lambda other: bool(((other >= low) & (other <= high)).all())]
    if array.ndim and array.shape[-1] > 1:
        if bool((np.abs(array.sum(axis=-1) - 1) <= CLOSE).all()) and low >= 0:
            rules.append(lambda other: bool(other.ndim) and bool((np.abs(other.sum(axis=-1) - 1) <= CLOSE).all()))
        if bool((np.diff(array, axis=-1) > 0).all()) and array.shape[-1] > SORTED:
            rules.append(lambda other: not other.ndim or bool((np.diff(other, axis=-1) > 0).all()))
    if bool((array == np.round(array)).all()):
        rules.append(lambda other: bool((other == np.round(other)).all()))
    return lambda other: all(rule(other) for rule in rules)


# Two or three numbers are in order by chance.
SORTED = 3
