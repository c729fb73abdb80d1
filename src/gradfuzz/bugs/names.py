"""What a function is called in its many forms: how names are built in general. What a library adds is `names.json` in its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from gradfuzz.reference.spell import book_of
from gradfuzz.targets.base.ways import Way, read_ways
from gradfuzz.targets.homes import homes, language_for

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where CamelCase begins a new word
_DIMENSIONS = re.compile(r"_?\d[dD](?=_|[A-Z]|$)")  # pool1d, Pool2D, pool3d_with_indices: one function in several dimensions


@dataclass(frozen=True)
class Names:
    """How one target's names are read."""

    functions: tuple[re.Pattern[str], ...] = ()  # for APIs whose last part is not the function's name
    rules: tuple[re.Pattern[str], ...] = ()  # what stands around a function's name in a rule's
    prefixes: tuple[str, ...] = ()  # namespaces that became part of a name
    aliases: Mapping[str, str] | None = None  # of APIs, then of stems
    internal: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()  # of these, what stands behind the functions that people can name
    deprecated: tuple[str, ...] = ()
    anybody: tuple[re.Pattern[str], ...] = ()  # complaints that have one reason, whichever formula runs into it
    overwritten: tuple[re.Pattern[str], ...] = ()  # complaints that what a derivative needs was written over
    transposes: bool = False  # reverse mode is forward mode transposed: both have one formula
    refused: frozenset[str] = frozenset()  # what Programs may no longer call, whoever found it
    ways: Mapping[str, Way] = field(default_factory=dict)  # by name: further ways of running

    def stem(self, api: str) -> str:
        """One word for an API in all its forms: function and method, in place or not, module, each number of dimensions, alias."""
        return self._plain(self._function(api))

    def operator(self, api: str) -> str:
        """What the names of one operator have in common: function, method, in-place method, module and namespaces share their rule."""
        return self._function(api).replace("_", "").lower()

    def _function(self, api: str) -> str:
        api = api[:-1] if api.endswith("_") and not api.endswith("__") else api
        api = (self.aliases or {}).get(api, api)
        return _part(api, self.functions) or api.rsplit(".", 1)[-1]

    def of_rule(self, rule: str) -> str:
        """The word for the function whose derivative rule it is."""
        return self._plain(_part(rule, self.rules) or rule)

    def _plain(self, name: str) -> str:
        word = _WORD.sub("_", without_dimensions(name.strip("_"))).lower()
        for prefix in self.prefixes:
            word = word[len(prefix) :] if word.startswith(prefix) and len(word) > len(prefix) else word
        return (self.aliases or {}).get(word, word)

    def anybody_s(self, complaint: str) -> str:
        """Of a complaint that has one reason whoever meets it, what all its forms have in common; nothing of another."""
        return next((pattern.pattern for pattern in self.anybody if pattern.search(complaint)), "")

    def is_overwritten(self, complaint: str) -> bool:
        return any(pattern.search(complaint) for pattern in self.overwritten)

    def is_internal(self, api: str) -> bool:
        """What a way of running blames is public, though no Program may call it."""
        if any(way.blames == api for way in self.ways.values()):
            return False
        return api.rsplit(".", 1)[-1] in self.refused or any(fnmatchcase(api, pattern) for pattern in self.internal)

    def is_operator(self, api: str) -> bool:
        return api.rsplit(".", 1)[-1] in self.refused or any(fnmatchcase(api, pattern) for pattern in self.operators)

    def way(self, name: str) -> Way:
        """What is known of a way of running."""
        return self.ways.get(name) or Way(name)

    def is_deprecated(self, api: str) -> bool:
        return any(fnmatchcase(api, pattern) for pattern in self.deprecated)


def without_dimensions(name: str) -> str:
    """A name in any number of dimensions."""
    return _DIMENSIONS.sub("", name)


def _part(name: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    return next((match["name"] for pattern in patterns if (match := pattern.fullmatch(name))), "")


@lru_cache(maxsize=16)
def names_of(target: str) -> Names:
    """What a target's folder says of its names; what names say by themselves where there is no such folder."""
    home = homes().get(target)
    if home is None:
        return Names()
    data = home.data("names")
    keys = ("functions", "rules", "anybody", "overwritten")
    functions, rules, anybody, overwritten = (tuple(map(re.compile, data.get(key, ()))) for key in keys)
    aliases = {**book_of(home).aliases, **data.get("aliases", {})}
    internal = tuple(data.get("internal", ()))
    return Names(
        functions, rules, tuple(data.get("prefixes", ())), aliases, internal, tuple(data.get("operators", internal)),
        tuple(data.get("deprecated", ())),
        anybody, overwritten, bool(data.get("transposes")), frozenset(language_for(target).refused_names), read_ways(home.data("ways")),
    )  # fmt: skip
