"""How much a suspicion may cost: confirming it spares nothing, looking for it does; a person's own function may take a second a run."""

from __future__ import annotations

from dataclasses import dataclass

from gradfuzz.numdiff.vote import PHASES

MOST_NEARBY = 600


@dataclass(frozen=True)
class Effort:
    """What the referee may spend, and how far a derivative may be off by design."""

    referee: bool = True  # False: what the cheap rungs do not settle is told as a suspicion, and no more is asked
    nearby: int = 96  # points around a tie that are asked for their slopes,
    nearby_each: int = 6  # and for each element: at a tie of many, each is chosen at one point in as many
    probed: int = 12  # elements along which a derivative that is not finite is looked at
    reruns: int = len(PHASES)  # of the recount
    cheap_halves: bool = False  # narrow down by single differences, and ask the ladder about the last element alone
    rtol: float = 0.0  # a derivative that is approximate by design may be off by this part of itself,
    atol: float = 0.0  # and by this much

    def points(self, elements: int) -> int:
        """How many points around a tie of so many elements."""
        return max(self.nearby, min(self.nearby_each * elements, MOST_NEARBY))


FULL = Effort()
# A look: five evaluations at order one. What it suspects goes to the referee.
LOOK = Effort(referee=False)
# A campaign's search, and its shrinking: what they suspect is judged once more, with all there is. A tie of a few numbers shows at so many
# points nearby, larger ones have points for each of theirs.
SEARCHING = Effort(nearby=24, reruns=1, cheap_halves=True)
# One rerun of the recount is thirteen checks with steps of their own; a tie of a few numbers shows at so many points nearby.
THRIFTY = Effort(nearby=12, nearby_each=0, probed=2, reruns=1, cheap_halves=True)
