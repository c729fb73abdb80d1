"""Hand-written derivatives of a package: finding them, and hearing how they are called while the package's own programs run.

A target says where its library calls such a rule (`listen`), which objects of a module are rules (`rules_in`) and how its arrays are
written down; the rest is the same for all. What is heard becomes seeds: shapes, types, ranges and structure, no numbers.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.program.codec import to_json
from gradfuzz.program.model import FLOATS
from gradfuzz.targets.base.callers import callers
from gradfuzz.targets.base.made_up import calls, finite, has_tensor
from gradfuzz.targets.base.recording import Note

# Calls of one rule that are kept: a test suite makes hundreds that differ in nothing but a size.
MOST_CALLS = 8
# A rule that nobody called is tried for so many seconds.
TRYING = 2.0
INSIDE = " made inside"  # of a kind: what is found is the function that makes the rule and calls it


@dataclass
class Rule:
    """One derivative that somebody wrote: where it is, what it is, how it was called, and why it cannot be."""

    module: str
    name: str  # within its module
    kind: str
    seeds: list[str] = field(default_factory=list)
    reason: str = ""
    made_up: bool = False  # nobody called it; what it was tried with may be outside its domain

    @property
    def lent(self) -> str:
        """As it is lent to Programs."""
        return f"{self.module}:{self.name}"

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    def to_json(self) -> dict[str, Any]:
        calls, reason = len(self.seeds), "" if self.seeds else self.reason
        return {"lent": self.lent, "path": self.path, "kind": self.kind, "calls": calls, "reason": reason, "made_up": self.made_up}


class HandWritten(ABC):
    """The rules of one package. `write` gets each seed as soon as it is heard: whoever is killed leaves what was learnt."""

    # Kinds of rules that nobody can stand before: what is found, and heard, is the package's function that calls one.
    CALLERS: frozenset[str] = frozenset()

    def __init__(self, package: str, write: Callable[[dict[str, Any]], None], contents: bool = False) -> None:
        self.package, self.write, self.contents = package, write, contents
        self.rules: dict[tuple[str, str], Rule] = {}
        self._inside = False
        self._places: dict[int, tuple[str, str]] = {}  # under which name an object is found: another than it was defined by, perhaps

    @abstractmethod
    def listen(self) -> None:
        """Stand where the library calls rules, from now on: before the package is imported, since it may take hold of them then."""

    @abstractmethod
    def rules_in(self, module: Any) -> Iterable[tuple[Any, str, str]]:
        """(object, name within the module, kind) for every rule that a module defines."""

    @abstractmethod
    def note(self, path: str) -> Note:
        """A sheet to write a call down on."""

    @abstractmethod
    def tensor(self, numbers: Any) -> Any:
        """A tensor of these numbers that is to be differentiated."""

    def arguments(self, rule: Any) -> list[inspect.Parameter]:
        """What a rule's call takes."""
        return list(inspect.signature(rule).parameters.values())

    def meant(self, rule: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Made-up arguments, of which those are not to be differentiated that the rule declares to have no gradient."""
        return arguments

    def belongs(self, module: object) -> bool:
        """Whether a module is the package's own."""
        return isinstance(module, str) and (module == self.package or module.startswith(self.package + "."))

    def find(self, hearing: bool = False) -> list[str]:
        """Import the whole package and note its rules; returns what could not be imported, and why.

        With `hearing`, the functions that call a rule which cannot be heard itself are stood before.
        """
        failed: list[str] = []
        callers: list[tuple[Any, Rule]] = []
        for name in [self.package, *self._submodules()]:
            try:
                module = importlib.import_module(name)
                found = list(self.rules_in(module))
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:
                failed.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
                continue
            for rule, place, kind in found:
                noted = self._noted(module.__name__, place, kind)
                self._places[id(getattr(rule, "__wrapped__", rule))] = self._places[id(rule)] = (module.__name__, place)
                if hearing and (kind in self.CALLERS or kind.endswith(INSIDE)) and inspect.isfunction(rule):
                    callers.append((rule, noted))
        for function, noted in callers:
            self._stand_before(function, noted)
        return failed

    def _stand_before(self, function: Any, rule: Rule) -> None:
        """Hear a function wherever the package has hold of it."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if has_tensor(result):
                self.heard(rule.module, rule.name, rule.kind, args, kwargs)
            else:
                rule.reason = rule.reason or "what it returns is no tensor; check what it makes with check_gradients"
            return result

        for module in [m for name, m in list(sys.modules.items()) if self.belongs(name)]:
            for name in [name for name, value in list(vars(module).items()) if value is function]:
                setattr(module, name, call)

    def _submodules(self) -> Iterator[str]:
        try:
            package = importlib.import_module(self.package)
        except BaseException:  # told by the caller
            return
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), self.package + ".", onerror=lambda name: None):
            parts = found.name.split(".")
            if "__main__" not in parts and not any(part in ("tests", "test", "conftest", "setup") for part in parts):
                yield found.name

    def _noted(self, module: str, place: str, kind: str) -> Rule:
        found = self.rules.setdefault((module, place), Rule(module, place, kind))
        if "<locals>" in place:
            found.reason = f"it is made inside {place.split('.<locals>')[0]}, so no program can name it; check that function instead"
        elif not _reached(module):
            found.reason = f"no program can name it: something else in the package is called {module}; check it with check_gradients"
        return found

    def told(self) -> list[dict[str, Any]]:
        """All rules; one that is made inside a function is told of by that function, if it could be called."""
        outer = {(rule.module, rule.name) for rule in self.rules.values() if rule.seeds}
        return [
            r.to_json() for r in self.rules.values() if (r.module, r.name.split(".<locals>")[0]) not in outer or "<locals>" not in r.name
        ]

    def heard(self, module: object, place: str, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], called: Any = None) -> None:
        """A rule was called; `place`: the name that it was defined by, unless what was `called` is found under another."""
        module, place = self._places.get(id(called), (module, place))
        if self._inside or not self.belongs(module):
            return
        rule = self._noted(str(module), place, kind)
        if len(rule.seeds) >= MOST_CALLS or "<locals>" in place or not _reached(rule.module):
            return
        self._inside = True
        try:
            args = self.meant(called, args) if rule.made_up and called is not None else args
            program = self.note(rule.path).program(args, kwargs)
        except (ProgramError, TypeError, ValueError, RuntimeError) as error:
            rule.reason = rule.reason or str(error).splitlines()[0][:200]
            return
        finally:
            self._inside = False
        real = {n: replace(r, structure="real") for n, r in program.inputs.items() if r.structure is None and r.dtype in FLOATS}
        program = program.with_inputs(real)
        if not any(r.differentiable for r in program.inputs.values()):
            rule.reason = rule.reason or "no floating tensor among its arguments is differentiated"
            return
        row = {"api": program.api, "source": "heard", "program": to_json(program)}
        text = str(row["program"])
        if text not in rule.seeds:
            rule.seeds.append(text)
            self.write(row)

    def try_out(self) -> None:
        """Rules that nobody called are tried with made-up arguments: by what in the package calls them, which knows more of them, else by
        themselves."""
        for rule in [r for r in self.rules.values() if not r.seeds and not r.reason]:
            rule.made_up = True
            if self._by_callers(rule):
                continue
            found: Any = importlib.import_module(rule.module)
            try:
                for part in rule.name.split("."):
                    found = getattr(found, part)
                parameters = self.arguments(found)
            except (AttributeError, TypeError, ValueError) as error:
                rule.reason = f"it cannot be called by its name: {error}"
                continue
            self._inside = True  # what is tried is not heard
            try:
                arguments, said = self.accepted(found, parameters)
            finally:
                self._inside = False
            if arguments is not None:
                self.heard(rule.module, rule.name, rule.kind, arguments, {}, found)
            else:
                rule.reason = f"nobody called it, and it takes no plain tensors{said}; name a program that calls it after --"

    def _by_callers(self, rule: Rule) -> bool:
        """Whether the rule was heard while what calls it was tried."""
        end = time.monotonic() + TRYING
        modules = [module for name, module in list(sys.modules.items()) if self.belongs(name)]
        for function in callers(modules, rule.name):
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                continue
            for arguments in calls(parameters, self.tensor):
                with contextlib.suppress(Exception):
                    function(*arguments)
                if rule.seeds or time.monotonic() > end:
                    return bool(rule.seeds)
        return False

    def accepted(self, rule: Any, parameters: list[inspect.Parameter]) -> tuple[tuple[Any, ...] | None, str]:
        """(arguments that it takes, or None, and what it says to others)"""
        second: tuple[Any, ...] | None = None
        said, end = "", time.monotonic() + TRYING
        for arguments in calls(parameters, self.tensor):
            try:
                result = rule(*arguments)
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:
                said = said or f" ({type(error).__name__}: {str(error).strip().splitlines()[0][:120] if str(error).strip() else ''})"
            else:
                if not has_tensor(result):
                    return None, " (what it returns is no tensor)"
                if finite(result):
                    return arguments, ""
                second = second or arguments
            if time.monotonic() > end:
                break
        return second, said


def _reached(module: str) -> bool:
    """Whether a module is what its dotted name says, attribute by attribute: a package may give the name of a part to something else."""
    root, *rest = module.split(".")
    found: Any = sys.modules.get(root)
    for name in rest:
        found = getattr(found, name, None)
    return found is sys.modules.get(module)
