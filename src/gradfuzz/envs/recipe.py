"""What a release needs to be installed and to start: `releases.json` in its target's folder, read for one release.

```
{"package": "…", "tested": ["1.2.0", …], "ranges": [
  {"from": "1.0", "below": "2.0", "python": ["3.9", "3.10"],
   "needs": {"numpy<2": "why", "its-other-half=={version}": "why"}, "alone": "why its own dependencies are left out",
   "note": "what else is good to know before gigabytes are fetched",
   "variables": {"LD_LIBRARY_PATH": {"folders": ["nvidia/cublas/lib"], "reason": "why"}, "NAME": {"value": "0", "reason": "why"}}}]}
```

Every part but `package` may be missing. A release is described by all the ranges that it lies in, together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.envs.versions import is_release, order
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import Home, home_of, known_targets

_ASKED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)==([0-9][A-Za-z0-9.+]*)")


@dataclass(frozen=True)
class Variable:
    """An environment variable of a library's process: a text, or folders among the environment's packages."""

    name: str
    value: str = ""
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How one release is installed."""

    target: str
    package: str
    version: str
    pythons: tuple[str, ...] = ()  # that have a wheel of it, as 3.10; none: nobody knows
    needs: Mapping[str, str] = field(default_factory=dict)  # requirement -> why
    alone: str = ""  # why the dependencies that it declares are left out
    variables: tuple[Variable, ...] = ()
    note: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def commands(self) -> list[list[str]]:
        """What goes to the installer, one call after the other."""
        if self.alone:
            return [["--no-deps", self.requirement], list(self.needs)] if self.needs else [["--no-deps", self.requirement]]
        return [[self.requirement, *self.needs]]


def read_request(text: str) -> tuple[str, str]:
    """(target, version) of `library==1.2.3`; the library may be called by its target's name or by its package's."""
    match = _ASKED.fullmatch(text.strip())
    if match is None or not is_release(match[2].partition("+")[0]):
        raise GradfuzzError(f"{text!r} names no release; write it as in LIBRARY==1.13.1")
    for name in known_targets():
        if match[1].lower() in (name, package_of(home_of(name))):
            return name, match[2]
    raise GradfuzzError(f"{match[1]} is no library that gradfuzz knows; known: {', '.join(known_targets())}")


def package_of(home: Home) -> str:
    """What the library is called where packages are kept."""
    return str(home.data("releases").get("package", home.about["module"]))


def releases_tested(home: Home) -> list[str]:
    """The releases that gradfuzz was tested with, oldest first."""
    return sorted(home.data("releases").get("tested", ()), key=order)


def recipe_for(target: str, version: str) -> Recipe:
    """What is known about installing a release."""
    home = home_of(target)
    pythons: tuple[str, ...] = ()
    needs: dict[str, str] = {}
    alone, note, variables = "", "", []
    for row in home.data("releases").get("ranges", ()):
        if _within(row, version):
            pythons = tuple(row.get("python", pythons))
            needs.update({requirement.format(version=version): why for requirement, why in row.get("needs", {}).items()})
            alone, note = row.get("alone", alone), row.get("note", note)
            variables += [_variable(name, about) for name, about in row.get("variables", {}).items()]
    return Recipe(target, package_of(home), version, pythons, needs, alone, tuple(variables), note)


def _within(row: Mapping[str, Any], version: str) -> bool:
    return ("from" not in row or order(version) >= order(row["from"])) and ("below" not in row or order(version) < order(row["below"]))


def _variable(name: str, about: Mapping[str, Any]) -> Variable:
    return Variable(name, str(about.get("value", "")), tuple(about.get("folders", ())))
