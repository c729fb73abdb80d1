"""Which registered gradients exist in the installed TensorFlow, and which ones a trace reaches.

TensorFlow keeps its gradients in one table from operators to functions. Each entry is replaced by itself behind a note of its name:
they run while a function is traced (or op by op), never inside a graph, so the notes cost nothing where time is measured.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from pathlib import Path
from typing import Any, Callable

from tensorflow.python.framework import ops

from gradfuzz.targets.base.source import source_of

Rule = Callable[..., Any]
NOTED = "noted_gradient"  # how the notes show in a traceback; their `name` is the operator's

_REASONS = Path(__file__).with_name("rules.json")
_OUT_OF_REACH = [(re.compile(row["pattern"]), row["reason"]) for row in json.loads(_REASONS.read_text())["out_of_reach"]]


_OPS = "tensorflow.python.ops."  # modules of functions that compute

# Of the whole process: the library's tables are its own, and a note is put there once, whoever asks for it.
_REACHED: set[str] = set()


class Rules:
    """The notes. `take` hands over what was reached since the last time."""

    def watch(self) -> None:
        """Put a note in front of every gradient that is registered by now."""
        for name, entry in _entries().items():
            rule = entry["type"]
            if rule is not None and not getattr(rule, "gradfuzz_noted", False):
                entry["type"] = self._noted(name, rule)

    def _noted(self, name: str, rule: Rule) -> Rule:
        @functools.wraps(rule)
        def noted_gradient(*args: Any, **kwargs: Any) -> Any:
            _REACHED.add(name)
            return rule(*args, **kwargs)

        noted_gradient.gradfuzz_noted = True  # type: ignore[attr-defined]
        return noted_gradient

    def take(self) -> set[str]:
        taken = set(_REACHED)
        _REACHED.clear()
        return taken


def _entries() -> dict[str, dict[str, Any]]:
    registry = getattr(ops, "gradient_registry", None) or ops._gradient_registry
    found: dict[str, dict[str, Any]] = registry._registry
    return found


def existing_rules() -> dict[str, str]:
    """Operators with a registered gradient, each with why it is out of reach ("" if it is not).

    Those registered as having none are left out.
    """
    names = [name for name, entry in _entries().items() if entry["type"] is not None]
    return {name: next((reason for pattern, reason in _OUT_OF_REACH if pattern.search(name)), "") for name in names}


def helpers(rule: str) -> list[tuple[str, int]]:
    """Functions that compute something for the gradient that is registered for an operator, each with how many gradients name it."""
    registered = {name: inspect.unwrap(entry["type"]) for name, entry in _entries().items() if inspect.isfunction(entry["type"])}
    if rule not in registered:
        return []
    named = [helper for function in set(registered.values()) for helper in _helpers_of(function)]
    return [(f"{helper.__module__}.{helper.__qualname__}", named.count(helper)) for helper in _helpers_of(registered[rule])]


def _helpers_of(function: Any) -> list[Any]:
    """Functions of the same module that it names and that compute something themselves."""
    return [f for f in _named(function) if inspect.isfunction(f) and f.__module__ == function.__module__ and any(map(_of_ops, _named(f)))]


def _named(function: Any) -> list[Any]:
    """What a function names of its module's."""
    return [function.__globals__[name] for name in dict.fromkeys(function.__code__.co_names) if name in function.__globals__]


def _of_ops(value: Any) -> bool:
    return inspect.ismodule(value) and value.__name__.startswith(_OPS)


def formula(rule: str) -> str:
    """The gradient that is registered for an operator, as TensorFlow writes it."""
    entry = _entries().get(rule)
    return source_of(entry["type"]) if entry is not None and entry["type"] is not None else ""
