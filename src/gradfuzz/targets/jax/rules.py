"""Which derivative and batching rules exist in the installed JAX, and which ones a trace reaches.

JAX keeps its rules in tables from primitives to functions. Each entry is replaced by itself behind a note of its name: rules run
while a function is traced, never while it is computed, so the notes cost nothing where time is measured.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, Callable

from jax._src.interpreters import ad, batching

from gradfuzz.targets.base.source import source_of

Rule = Callable[..., Any]

_REASONS = Path(__file__).with_name("rules.json")
_OUT_OF_REACH = [(re.compile(row["pattern"]), row["reason"]) for row in json.loads(_REASONS.read_text())["out_of_reach"]]

_TABLES: dict[str, tuple[tuple[Any, str], ...]] = {
    "jvp": ((ad, "primitive_jvps"), (ad, "primitive_linearizations")),
    "transpose": ((ad, "primitive_transposes"), (ad, "fancy_transposes"), (ad, "reducing_transposes")),
    "batch": (
        (batching, "primitive_batchers"), (batching, "fancy_primitive_batchers"), (batching, "axis_primitive_batchers"),
        (batching, "spmd_axis_primitive_batchers"),
    ),
}  # fmt: skip


# Of the whole process: the library's tables are its own, and a note is put there once, whoever asks for it.
_REACHED: set[str] = set()


class Rules:
    """The notes. `take` hands over what was reached since the last time."""

    def watch(self) -> None:
        """Put a note in front of every rule that exists by now."""
        for kind, table in _tables():
            for primitive, rule in list(table.items()):
                if not getattr(rule, "gradfuzz_noted", False):
                    table[primitive] = self._noted(f"{kind}:{primitive.name}", rule)

    def _noted(self, name: str, rule: Rule) -> Rule:
        @functools.wraps(rule, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        def noted(*args: Any, **kwargs: Any) -> Any:
            _REACHED.add(name)
            return rule(*args, **kwargs)

        noted.gradfuzz_noted = True  # type: ignore[attr-defined]
        return noted

    def take(self) -> set[str]:
        taken = set(_REACHED)
        _REACHED.clear()
        return taken


def _tables() -> list[tuple[str, dict[Any, Rule]]]:
    found = []
    for kind, places in _TABLES.items():
        for module, attribute in places:
            table = getattr(module, attribute, None)
            if isinstance(table, dict):
                found.append((kind, table))
    return found


def existing_rules() -> dict[str, str]:
    """All rules that the installed JAX has registered by now (jvp:sin, transpose:mul, batch:dot_general), each with why a CPU cannot
    reach it; nothing to say where it can."""
    names = {f"{kind}:{primitive.name}" for kind, table in _tables() for primitive in table}
    return {name: next((reason for pattern, reason in _OUT_OF_REACH if pattern.search(name)), "") for name in sorted(names)}


def formula(rule: str) -> str:
    """The function behind `jvp:sin` and its like, as JAX writes it."""
    for kind, table in _tables():
        for primitive, function in table.items():
            if f"{kind}:{primitive.name}" == rule:
                return source_of(function)
    return ""
