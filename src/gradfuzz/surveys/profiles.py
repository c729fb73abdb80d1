"""Profiles: how much of a campaign goes into further ways of running, by name. Which ways there are and what they cost, the target says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.base.ways import Way, Ways, read_ways
from gradfuzz.targets.homes import home_of


@dataclass(frozen=True)
class Profile:
    """Shares are of the time that plain scenarios take: of ways that cost little, and of those that compile."""

    name: str
    about: str
    cheap: float
    compiled: float
    dear: bool = False  # ways that are not worth their cost in an ordinary campaign, too
    sweep: bool = False  # every operator once in a compiled way, early on
    together: bool = False  # all ways on every mutant


PROFILES = {
    p.name: p
    for p in (
        Profile("plain", "no further ways", 0.0, 0.0),
        Profile("quick", "cheap ways now and then, nothing compiled", 1 / 32, 0.0),
        # Less than a tenth in all: that much more of plain search would find less.
        Profile("default", "cheap ways, and a compilation now and then", 1 / 16, 1 / 32),
        Profile("nightly", "half of the time for what compiles; every operator once", 1 / 4, 1.0, dear=True, sweep=True),
        Profile("full", "every mutant in every way", 1.0, 1.0, dear=True, sweep=True, together=True),
    )
}
DEFAULT = "default"
NAMED = "nightly"  # the shares where ways are named one by one: whoever names them wants to see them


def profile_named(name: str) -> Profile:
    found = PROFILES.get(name)
    if found is None:
        raise GradfuzzError(f"--profile {name}: there is none of that name; they are {', '.join(PROFILES)}")
    return found


@dataclass(frozen=True)
class Choice:
    """The ways of one campaign, and how often each has its turn."""

    profile: Profile
    ways: tuple[Way, ...]

    @property
    def cheap(self) -> tuple[Way, ...]:
        return tuple(way for way in self.ways if not way.compiles)

    @property
    def compiled(self) -> tuple[Way, ...]:
        return tuple(way for way in self.ways if way.compiles)

    @property
    def swept(self) -> Way | None:
        """The compiled way in which every operator has its turn early on."""
        worth = sorted(self.compiled, key=lambda way: (not way.default, way.compiles)) if self.profile.sweep else []
        return worth[0] if worth else None

    @property
    def dearest(self) -> Way | None:
        """The compiled way that does most, in which some operators have a turn as well: what people run by default."""
        worth = [way for way in self.compiled if not way.of_its_own] if self.profile.sweep else []
        found = max(worth, key=lambda way: way.compiles, default=None)
        return None if found == self.swept else found

    @property
    def dear(self) -> tuple[Way, ...]:
        """The dearest way, and those that do what it does to something more of each operator: they have these turns one after the other."""
        dearest = self.dearest
        more = [way for way in self.compiled if dearest and dearest.name in way.stages and not way.of_its_own]
        return (dearest, *more) if dearest else ()

    @property
    def rehearsed(self) -> Way | None:
        """What compiles nothing and is a part of what the dearest way does: every value of every option can afford it."""
        dearest = self.dearest
        return next((way for way in self.cheap if dearest and way.name in dearest.stages), None)

    def only(self, here: Ways) -> Choice:
        """Those of them that this release has."""
        return Choice(self.profile, tuple(way for way in self.ways if way.name in here))


NOTHING = Choice(PROFILES["plain"], ())


def chosen(target: str, profile: str = DEFAULT, names: tuple[str, ...] = ()) -> Choice:
    """The ways of a profile on a target; `names` are exactly those ways. GradfuzzError for names that are none."""
    known = read_ways(home_of(target).data("ways"))
    wanted = profile_named(NAMED if names and profile == DEFAULT else profile)
    for name in names:
        if name not in known:
            raise GradfuzzError(f"--ways {name}: {target} has no such way; it has {', '.join(known) or 'none'}")
    if names:
        return Choice(wanted, tuple(replace(known[name], turns=max(known[name].turns, 1)) for name in names))
    worth = [w for w in known.values() if w.turns and (w.default or wanted.dear)]
    return Choice(wanted, tuple(w for w in worth if (wanted.compiled if w.compiles else wanted.cheap)))


def basics(target: str) -> tuple[str, ...]:
    """What programs are made of, as texts: on these every way that is seldom taken is tried."""
    return tuple(home_of(target).data("ways").get("basics", ()))
