"""How people write a library's programs by hand: data of the target's folder (idioms.json) and of NumPy (numpy.json)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path as File
from typing import Any

from gradfuzz.program.language import Language
from gradfuzz.targets.homes import home_of, language_for

# Modules that programs import for things that have no part in what is computed, and those that numbers come from.
HARMLESS = {"numpy", "math", "typing", "warnings", "functools", "itertools", "collections", "time", "random", "__future__"}
_NUMPY = File(__file__).with_name("numpy.json")


@dataclass(frozen=True)
class Idioms:
    """What stands for tensors, what is looked through, and what is left out.

    - makers: functions whose results are inputs, as `distribution(what its arguments are)`;
    - variables: functions that make a tensor one to differentiate; through: functions that give back their first argument;
    - shapes: functions that give a tensor's shape;
    - mapped: functions that map a function over an axis: one that is written in the text is called on the whole instead;
    - derivatives: functions that differentiate; what they differentiate is the Program's output;
    - ignored: globs of functions that have nothing to do with what is computed;
    - objects: functions whose result is a namespace; methods: what methods do to a tensor that is still a recipe.
    """

    language: Language
    makers: dict[str, str]
    variables: tuple[str, ...]
    through: tuple[str, ...]
    shapes: tuple[str, ...]
    mapped: tuple[str, ...]
    derivatives: tuple[str, ...]
    ignored: tuple[str, ...]
    objects: dict[str, str]
    methods: dict[str, str]
    keywords: dict[str, list[str]]
    dtypes: dict[str, str]
    dropped_keywords: frozenset[str]
    roots: frozenset[str]
    wide: bool = True  # single precision is taken for a habit: inputs come in double
    bold: bool = True  # everything is differentiated by, not only what the text differentiates by

    def is_ignored(self, path: str) -> bool:
        return any(fnmatchcase(path, glob) for glob in self.ignored)


@lru_cache(maxsize=16)
def idioms_for(target: str, modules: tuple[str, ...] = ()) -> Idioms:
    """The idioms of a target; NumPy's alone where its folder has none."""
    own, shared, language = home_of(target).data("idioms"), json.loads(_NUMPY.read_text(encoding="utf-8")), language_for(target, modules)

    def both(key: str) -> dict[str, Any]:
        return {**shared.get(key, {}), **own.get(key, {})}

    def lists(key: str) -> tuple[str, ...]:
        return (*shared.get(key, ()), *own.get(key, ()))

    spoken = {space.split(".")[0] for space in language.namespaces} | set(language.modules.values())
    spoken |= {full.split(".")[0] for full in language.aliases.values()} | (set(language.aliases) & set(own.get("packages", ())))
    return Idioms(
        language, both("makers"), lists("variables"), lists("through"), lists("shapes"), lists("mapped"), lists("derivatives"),
        lists("ignored"), both("objects"), both("methods"), both("keywords"), both("dtypes"), frozenset(lists("dropped_keywords")),
        frozenset(spoken | HARMLESS),
    )  # fmt: skip
