"""What a Program's names and values may turn out to be in the library: the half of the gate that needs the library.

A name stands for a function of the library, a constant such as a dtype, or a class that the target lists; never for a module, for another
class, or for anything that was made elsewhere and can merely be reached through the library. A method is judged by what it is called on.
All that is known of a library here is data, the `kinds` of its language.json: globs over the full names of modules and classes.

- functions: where functions come from that take tensors, numbers and words and give tensors;
- classes: what may be constructed, by any class it descends from, with the methods its objects may be asked for (`()`: to be called);
- receivers: what else may be asked for methods (`*`: all that the language does not refuse);
- members: objects that a name may go through, with the parts it may go to;
- constants: the types of constants;
- refused: origins that are out all the same, by the reason.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from fnmatch import fnmatchcase
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language

CALLED = "()"
ANY = "*"
_PLAIN = (type(None), bool, int, float, complex, str)


class Kinds:
    """Judges what names and values are. Every method raises ProgramError with the reason, or says nothing."""

    def __init__(self, language: Language) -> None:
        data = language.kinds
        self.library = language.target
        self.functions: tuple[str, ...] = tuple(data.get("functions", ()))
        self.classes: dict[str, list[str]] = data.get("classes", {})
        self.receivers: dict[str, list[str]] = {**data.get("receivers", {}), **self.classes}
        self.members: dict[str, list[str]] = data.get("members", {})
        self.constants: tuple[str, ...] = tuple(data.get("constants", ()))
        self.refused = {glob: reason for reason, globs in data.get("refused", {}).items() for glob in globs}
        self.trusted = tuple(module.partition(".")[0] for module in language.trusted)
        self._methods: dict[type, frozenset[str]] = {}
        self._origins: dict[str, str | None] = {}

    def check_named(self, path: str, value: Any) -> None:
        """What a name stands for."""
        reason = self._named(value)
        if reason:
            raise ProgramError(f"{path} {reason}")

    def check_member(self, path: str, owner: Any, name: str) -> None:
        """`owner.name` on the way to what a name stands for, where the owner is not a module."""
        if isinstance(owner, type):
            listed = issubclass(owner, enum.Enum) or ANY in self._asked(owner)
        else:
            names = _lineage(type(owner))
            listed = any(ANY in parts or name in parts for glob, parts in self.members.items() if _any_fits(names, (glob,)))
        if not listed:
            raise ProgramError(f"{path} is a part of {_a(owner)}, which Programs may not take apart")

    def check_method(self, receiver: Any, name: str) -> None:
        """`receiver.name(…)`, at run time."""
        if not self._may(type(receiver), name):
            raise ProgramError(f"method {name}: Programs may not call it on {_a(receiver)}")

    def check_attribute(self, receiver: Any, name: str) -> None:
        """`receiver.name`, at run time: results with named parts have such, too."""
        kind = type(receiver)
        if not (issubclass(kind, tuple) or self._asked(kind)):
            raise ProgramError(f"attribute {name}: Programs may not read it of {_a(receiver)}")

    def check_called(self, value: Any) -> None:
        """`value(…)`, at run time: a module, or a function that a function made."""
        if self._may(type(value), CALLED):
            return
        reason = self._named(value) if callable(value) else "cannot be called"
        if reason:
            raise ProgramError(f"{_a(value)} {reason}")

    # ---------------------------------------------------------------------------------------------------------------------

    def _named(self, value: Any) -> str | None:
        """Why a value is of no listed kind; None if it is of one."""
        kind = type(value)
        if isinstance(value, ModuleType):
            return "is a module; Programs name the functions in it"
        if kind in _PLAIN or issubclass(kind, enum.Enum) or _any_fits(_lineage(kind), self.constants):
            return None
        if isinstance(value, type):
            if self._own(value.__module__) or _any_fits(_lineage(value), self.classes):
                return self._out(value.__module__)
            return f"is a class that Programs may not construct ({_shown(value)})"
        if callable(value):
            return self._origin(origin(value))
        return f"is {_a(value)}: neither a function nor a constant"

    def _origin(self, home: str) -> str | None:
        """Why functions that come from there are out, remembered."""
        if home not in self._origins:
            reason = self._out(home)
            if reason is None and not self._own(home) and not _any_fits((home,), self.functions):
                reason = f"comes from {home or 'nobody knows where'}, not from the functions of {self.library} that compute with tensors"
            self._origins[home] = reason
        return self._origins[home]

    def _out(self, home: str) -> str | None:
        return next((f"comes from {home}: {reason}" for glob, reason in self.refused.items() if fnmatchcase(home, glob)), None)

    def _own(self, home: str) -> bool:
        """Whether it is the user's own, who vouches for it."""
        return home.partition(".")[0] in self.trusted

    def _may(self, kind: type, name: str) -> bool:
        asked = self._asked(kind)
        return name in asked or (ANY in asked and name != CALLED)

    def _asked(self, kind: type) -> frozenset[str]:
        """The methods that objects of a type may be asked for, remembered by the type."""
        found = self._methods.get(kind)
        if found is None:
            names = _lineage(kind)
            found = frozenset(m for glob, methods in self.receivers.items() if _any_fits(names, (glob,)) for m in methods)
            if self._own(kind.__module__):
                found |= {ANY, CALLED}
            self._methods[kind] = found
        return found


def origin(value: Any) -> str:
    """Where a function comes from: its module, or for functions in C the class or module that holds it; empty where nothing says."""
    try:
        holder = getattr(value, "__self__", None)
        if isinstance(value, MethodType) and not isinstance(holder, type):
            return f"{value.__func__.__module__}.{value.__func__.__qualname__}"
        if isinstance(holder, ModuleType):
            return holder.__name__
        holder = holder if isinstance(holder, type) else getattr(value, "__objclass__", None)
        if isinstance(holder, type):
            return f"{holder.__module__}.{holder.__qualname__}"
        home = getattr(value, "__module__", None)
        if isinstance(value, BuiltinFunctionType) and "." in value.__qualname__:
            return f"{home or ''}.{value.__qualname__.rpartition('.')[0]}"
    except Exception:  # what fills itself as it is asked raises what it likes
        return ""
    return home if isinstance(home, str) else ""


def _lineage(kind: type) -> list[str]:
    """The full names of a class and all that it descends from."""
    return [f"{c.__module__}.{c.__qualname__}" for c in kind.__mro__ if c is not object]


def _any_fits(names: Iterable[str], globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def _shown(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _a(value: Any) -> str:
    if isinstance(value, ModuleType):
        return "a module"
    return f"the class {_shown(value)}" if isinstance(value, type) else f"a {_shown(type(value))}"
