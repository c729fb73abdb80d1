"""Ways as a target declares them: ways.json in its folder says what each costs and what it is compared in; this reads it.

A way is another road to the same derivative (compiled, batched, checkpointed). What it costs decides how often it is taken, whoever the
library is; how it is taken is code in the target's folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Scenario

STRICT = "strict"
# The derivatives first: their directions serve the direct run too.
USUAL = (REVERSE, FORWARD, DIRECT)


@dataclass(frozen=True)
class Way:
    """One way. Costs are in examinations of a mutant at order one, plainly.

    `stages` are ways that do less and less of what this one does not plainly: the first of them that shows a disagreement is to blame.
    """

    name: str
    about: str = ""
    cost: float = 0.5  # of a mutant whose shapes and types were met before
    turns: int = 1  # that it has where another has one; with none it is run where somebody names it
    compiles: float = 0.0  # of other shapes and types, on top
    scenarios: tuple[Scenario, ...] = USUAL
    walls: str = STRICT  # what it needs of a worker's walls
    patience: float = 1.0  # by how much longer than others a mutant may take in it
    precision: str = ""  # the element type that it computes in, where it is a lower one than the inputs'
    loose: bool = False  # it may be another function: where its outputs differ nothing is said
    same_draws: bool = False  # it promises the random numbers of the plain way
    same_rounding: bool = False  # it promises the operators of the plain way: what it rounds otherwise is no excuse
    stages: tuple[str, ...] = ()
    default: bool = True  # worth its cost in an ordinary campaign
    computes: bool = False  # with what F is given or gives: huge, tiny and infinite numbers do not survive it
    blames: str = ""  # what is at fault, whichever API shows it: one finding for all of them, under this name
    gathers: bool = False  # whichever functions show it, there is one bug behind them: in what the way does to all of them
    deprecated: bool = False  # the library says that people should go another way

    @property
    def of_its_own(self) -> bool:
        """Whether what it finds is its own fault and no operator's."""
        return bool(self.blames)


Ways = Mapping[str, Way]


def read_ways(data: Mapping[str, Any]) -> dict[str, Way]:
    """What a ways.json says, by name."""
    return {name: _way(name, row) for name, row in data.get("ways", {}).items()}


def declared(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, Way]:
    """The ways that a release has, as its ways.json describes them; one that it leaves out is an ordinary one."""
    known = read_ways(data)
    return {name: known.get(name) or Way(name) for name in names}


def _way(name: str, row: Mapping[str, Any]) -> Way:
    found = dict(row)
    if "scenarios" in found:
        found["scenarios"] = tuple(map(Scenario.named, found["scenarios"]))
    found["stages"] = tuple(found.get("stages", ()))
    return Way(name, **found)
