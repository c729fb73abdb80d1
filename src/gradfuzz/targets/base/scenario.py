"""Scenario: one way to compute a derivative. It has one name, and one parser of that name.

reverse                      forward-over-reverse           the direct run is `direct`
batched reverse              reverse on cuda                batched forward-over-reverse on cuda
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gradfuzz.errors import GradfuzzError

# Derivative modes, innermost first: () is the direct run, ("r",) reverse, ("r", "f") forward-over-reverse.
Modes = tuple[str, ...]

MODE_NAMES = {"r": "reverse", "f": "forward"}
_LETTERS = {name: letter for letter, name in MODE_NAMES.items()}
_OVER, _ON = "-over-", " on "
PLAIN = ""  # the way that needs no word
HERE = ""  # the device that is used where nobody names one


class Scenario(NamedTuple):
    """Modes of differentiation, innermost first; in a way that the target declares, or plainly; on a device."""

    modes: Modes = ()
    way: str = PLAIN
    device: str = HERE

    @property
    def order(self) -> int:
        return len(self.modes)

    @property
    def plain(self) -> Scenario:
        """The same modes without a way or a device of their own: what this one must agree with."""
        return Scenario(self.modes)

    @property
    def name(self) -> str:
        """What people call it."""
        return _name(self)

    def in_way(self, way: str) -> Scenario:
        return Scenario(self.modes, way, self.device)

    @staticmethod
    def named(name: str) -> Scenario:
        """The scenario behind a name; GradfuzzError for anything else."""
        rest, on, device = name.partition(_ON)
        way, _, modes = rest.rpartition(" ")
        letters = () if modes == _name(DIRECT) else tuple(_LETTERS.get(word, "") for word in reversed(modes.split(_OVER)))
        if "" in letters or (on and not device) or " " in way:
            raise GradfuzzError(f"{name!r} is no scenario; they are called reverse, forward-over-reverse, batched reverse, reverse on cuda")
        return Scenario(letters, way, device)


@lru_cache(maxsize=4096)
def _name(scenario: Scenario) -> str:
    modes = _OVER.join(MODE_NAMES[m] for m in reversed(scenario.modes)) or "direct"
    return (f"{scenario.way} " if scenario.way else "") + modes + (f"{_ON}{scenario.device}" if scenario.device else "")


DIRECT, REVERSE, FORWARD = Scenario(), Scenario(("r",)), Scenario(("f",))


@lru_cache(maxsize=16)
def nestings(order: int) -> list[Scenario]:
    """All plain scenarios of an order, reverse-most first."""
    found: list[Modes] = [()]
    for _ in range(order):
        found = [modes + (m,) for modes in found for m in ("r", "f")]
    return [Scenario(modes) for modes in found]


def pure(mode: str, order: int) -> Scenario:
    """One mode nested in itself."""
    return Scenario((mode,) * order)
