"""Targets by name, found by looking: every folder beside this file with an about.json, and every package that offers one.

A target's folder (its home) holds all that is known about one library. What is data there can be read by anybody, whether or not the
library is installed; what is code is imported where the library is. A package of somebody else's brings a target with an entry point
of the group `gradfuzz.targets` that names the package whose folder it is.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradfuzz.errors import TargetError
from gradfuzz.program.language import Language

if TYPE_CHECKING:
    from gradfuzz.targets.base.functions import Functions
    from gradfuzz.targets.base.protocol import Target

_DIMENSIONS = r"_?\d[dD](?=_|[A-Z]|$)"  # pool1d, Pool2D, pool3d_with_indices: one function in several dimensions
GROUP = "gradfuzz.targets"
ABOUT = "about.json"


@dataclass(frozen=True)
class Home:
    """The folder of one target: its name, the package that the folder is, and where it lies."""

    name: str
    package: str
    folder: Path

    @property
    def about(self) -> dict[str, Any]:
        """What is called what: the library's title, its module, and which class plays which part."""
        return self.data("about")

    @property
    def title(self) -> str:
        """The library's name as its makers write it."""
        return str(self.about["title"])

    @property
    def fuzzed(self) -> bool:
        """Whether it can be fuzzed; some libraries are known for people's own functions alone."""
        return "target" in self.about

    def data(self, name: str) -> dict[str, Any]:
        """One of the folder's JSON files; empty where the target has none."""
        return _read(self.folder / f"{name}.json")

    def tables(self, folder: str) -> dict[str, Any]:
        """The JSON files of one of its folders as one; names.json there is about the others."""
        found: dict[str, Any] = {}
        for path in sorted((self.folder / folder).glob("*.json")):
            if path.stem != "names":
                found.update(_read(path))
        return found

    def function(self, path: str) -> str:
        """One name for an API in all its forms (methods, calls in place, modules): its last part, unless names.json says which."""
        matches = (re.fullmatch(pattern, path) for pattern in self.data("names").get("functions", ()))
        name = next((match["name"] for match in matches if match), path.rsplit(".", 1)[-1])
        return name.replace("_", "").lower()

    def hardly_called(self, path: str) -> bool:
        """Whether an API is internal or there for old programs, as names.json has it: people call something else in its place."""
        names = self.data("names")
        return any(fnmatchcase(path, pattern) for pattern in (*names.get("internal", ()), *names.get("deprecated", ())))

    def names_rule(self, path: str, rule: str) -> bool:
        """Whether a derivative rule is, by its name, that of the very function which an API calls by its name."""
        return self.function(path) == self._stem(self._inside(rule, "rules"))

    def is_form_of(self, path: str, rule: str) -> bool:
        """Whether an API is that function in any form: under an alias, in a module, for some number of dimensions."""
        return self._stem(self._inside(path, "functions") or path.rsplit(".", 1)[-1]) == self._stem(self._inside(rule, "rules"))

    def _inside(self, name: str, patterns: str) -> str:
        """What names.json says is the function's own in a longer name."""
        matches = (re.fullmatch(pattern, name) for pattern in self.data("names").get(patterns, ()))
        return next((match["name"] for match in matches if match), "" if patterns == "functions" else name)

    def _stem(self, name: str) -> str:
        """A function's name without its number of dimensions, the namespaces that became prefixes, and aliases."""
        names = self.data("names")
        word = re.sub(_DIMENSIONS, "", name).replace("_", "").lower()
        for prefix in (str(prefix).replace("_", "") for prefix in names.get("prefixes", ())):
            word = word[len(prefix) :] if word.startswith(prefix) and len(word) > len(prefix) else word
        aliases = {alias.replace("_", ""): str(meant).replace("_", "") for alias, meant in names.get("aliases", {}).items()}
        return aliases.get(word, word)

    def language(self, modules: tuple[str, ...] = ()) -> Language:
        """What Programs for this library may say; `modules` are the user's own."""
        return Language.read(self.name, self.data("language")).with_modules(modules)

    def part(self, role: str) -> Any:
        """The class that plays a role, imported: `target`, `functions`, `recording`. TargetError if the library is not here."""
        where = self.about.get(role)
        if where is None:
            raise TargetError(f"{self.name} has no {role} of its own")
        module, _, attribute = str(where).partition(":")
        self.register()
        try:
            return getattr(importlib.import_module(f"{self.package}.{module}"), attribute)
        except ImportError as error:
            raise TargetError(f"{self.name} cannot be imported here ({error}); install it, or name another --python") from None

    def register(self) -> None:
        """Make the package importable from its folder, where it is not installed: an old interpreter sees the folder alone."""
        if self.package in sys.modules or importlib.util.find_spec(self.package.partition(".")[0]) is not None:
            return
        spec = importlib.util.spec_from_file_location(
            self.package, str(self.folder / "__init__.py"), submodule_search_locations=[str(self.folder)]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.package] = module
        spec.loader.exec_module(module)


@cache
def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


@lru_cache(maxsize=1)
def homes() -> dict[str, Home]:
    """Every home by its target's name: those beside this file, then those of other packages."""
    here = Path(__file__).parent
    found = {p.parent.name: Home(p.parent.name, f"{__package__}.{p.parent.name}", p.parent) for p in sorted(here.glob(f"*/{ABOUT}"))}
    for point in _entry_points():
        spec = importlib.util.find_spec(point.value)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            if (Path(place) / ABOUT).exists():
                found.setdefault(point.name, Home(point.name, point.value, Path(place)))
    return found


def adopt(home: Home) -> None:
    """A home that this process was told of rather than found: in the target's interpreter nobody looks."""
    homes()[home.name] = home


def _entry_points() -> list[Any]:
    points: Any = metadata.entry_points()
    return list(points.select(group=GROUP) if hasattr(points, "select") else points.get(GROUP, ()))  # a dict before Python 3.10


def known_targets() -> list[str]:
    """Names of the libraries that can be fuzzed."""
    return sorted(name for name, home in homes().items() if home.fuzzed)


def default_target() -> str:
    """The one that is meant where nobody says."""
    return next(name for name, home in homes().items() if home.about.get("default"))


def home_of(name: str) -> Home:
    """A target's home by name."""
    home = homes().get(name)
    if home is None or not home.fuzzed:
        raise TargetError(f"unknown target {name!r}; known targets: {', '.join(known_targets())}")
    return home


def language_for(name: str, modules: tuple[str, ...] = ()) -> Language:
    """What Programs for a target may say."""
    return home_of(name).language(modules)


def load_target(home: Home | str, modules: tuple[str, ...] = ()) -> Target:
    """The target, with its library imported. TargetError if the library is not here."""
    home = home_of(home) if isinstance(home, str) else home
    factory = home.part("target")
    for extra in modules:
        try:
            importlib.import_module(extra.partition(":")[0])
        except ImportError as error:
            raise TargetError(f"--module {extra} cannot be imported here ({error})") from None
    target: Target = factory(home, modules)
    return target


def load_functions(name: str) -> Functions:
    """How a library differentiates people's own functions. TargetError if the library is not here."""
    functions: Functions = homes()[name].part("functions")(homes()[name])
    return functions
