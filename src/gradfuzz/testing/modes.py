"""Which derivatives `modes` and `order` mean together."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.base.functions import Functions
from gradfuzz.targets.base.scenario import REVERSE, Scenario, nestings


def scenarios(modes: Sequence[str] | None, order: int, library: Functions) -> frozenset[Scenario] | None:
    """The scenarios that are asked for; None for all.

    A named mode brings what it stands on: forward-over-reverse is a derivative of reverse. At orders that nobody names, the
    named modes are nested in each other: `modes=("reverse",), order=2` is reverse and reverse-over-reverse.
    """
    if order < 1:
        raise GradfuzzError(f"order={order}: derivatives start at order 1")
    if order > library.highest_order:
        raise GradfuzzError(f"order={order}: {library.name} is differentiated up to order {library.highest_order} here; use a lower order")
    if modes is None:
        return None if library.forward_mode else frozenset({REVERSE})
    named = [_named(name, order) for name in ([modes] if isinstance(modes, str) else modes)]
    if not named:
        raise GradfuzzError("modes is empty; leave it out for all of them")
    found = {Scenario(s.modes[:k]) for s in named for k in range(1, s.order + 1)}
    letters = {letter for s in named for letter in s.modes}
    for k in range(1, order + 1):
        if not any(s.order == k for s in found):
            found |= {s for s in nestings(k) if letters.issuperset(s.modes)}
    return frozenset(found)


def _named(name: str, order: int) -> Scenario:
    known = {s.name: s for k in range(1, order + 1) for s in nestings(k)}
    if name in known:
        return known[name]
    deeper = {s.name: s for k in range(order + 1, 5) for s in nestings(k)}
    if name in deeper:
        raise GradfuzzError(f"mode {name!r} is of order {deeper[name].order}; say order={deeper[name].order}")
    raise GradfuzzError(f"unknown mode {name!r} at order {order}; known: {', '.join(known)}")
