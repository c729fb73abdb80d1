"""A library's public surface behind its language: functions, methods of its tensors, and modules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Callable, NamedTuple

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.attempts import FUNCTION, METHOD, MODULE
from gradfuzz.targets.base.callables import space_of
from gradfuzz.targets.base.evaluate import Compiler


class Public(NamedTuple):
    """One name that Programs may call."""

    path: str
    form: str
    value: Any

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.value) or ""


def surface(compiler: Compiler, is_module_class: Callable[[Any], bool]) -> Iterator[Public]:
    """Every name once, however many namespaces hold what it stands for; modules and methods after all functions.

    In-place forms end in an underscore by convention: they are the same rule once more, and come from edits.
    """
    later: list[Public] = []
    seen: set[int] = set()
    for space in compiler.language.namespaces:
        home = space_of(compiler.language, space)
        form = METHOD if isinstance(home, type) else FUNCTION
        for name in sorted(dir(home)) if home is not None else ():
            path = f"{space}.{name}"
            if name.startswith("_") or name.endswith("_") or compiler.language.refusal(path):
                continue
            if form == METHOD and compiler.language.method_refusal(name) is not None:
                continue
            value = getattr(home, name, None)
            if not callable(value) or isinstance(value, ModuleType) or (form == FUNCTION and id(value) in seen):
                continue
            found = Public(path, MODULE if is_module_class(value) else form, value)
            if (isinstance(value, type) and found.form != MODULE) or not _may_be_called(compiler, found):
                continue
            seen.add(id(value))
            if found.form == FUNCTION:
                yield found
            else:
                later.append(found)
    yield from sorted(later, key=lambda public: public.form != MODULE)


def _may_be_called(compiler: Compiler, public: Public) -> bool:
    """Whether the gate lets it through; methods are judged by what they are called on."""
    if public.form == METHOD:
        return True
    try:
        compiler.resolve(public.path)
    except ProgramError:
        return False
    return True
