"""Which functions of the library an API passes through, and how many public functions lead to each of them.

Many functions are wrong because one helper is. What an API passes through is seen by running its Program once under a profiler, in a
process that has traced nothing yet. How special a function is stands in the library's own text: who names it, and who names those. Both
count calls by name alone, so that what operators and registries lead to (machinery, most of it) is left out of both. A library whose
functions are compiled code has nothing to tell here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, Optional, cast

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.documented import namespace
from gradfuzz.findings.inside.given import functions_given
from gradfuzz.program.language import Language
from gradfuzz.program.model import Program
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.protocol import Inferring, Target
from gradfuzz.targets.base.scenario import DIRECT

# A function that more public functions lead to than these is machinery: that two findings share it says nothing.
MOST_CALLERS = 40
MOST_CALLS = 64  # that are kept of one finding
# In the name of a function that another one made: a decorator's, which has many in its place.
LOCAL = "<locals>"
DECORATORS = 8  # that a function may be behind


def calls(target: Target, api: str, program: Program) -> list[tuple[str, int]]:
    """Functions that compute something on the way, the API's own first, each with how many public functions lead to it, itself included.

    Functions that a call is given come next, however many lead to them. None where the API is no function of Python's.
    """
    if is_compiled(api, target.language):
        return []  # the library's text need not be read for it
    text = text_of(target.language)
    own = text.own(api, target.language)
    seen = _seen(target, program) if own else {}
    found = dict.fromkeys(code for code in own if code in seen)
    if not found:
        return []
    given = {code for path in functions_given(target, program) for code in text.own(path, target.language) if code in seen}
    found.update(dict.fromkeys(given))
    pending = list(found)
    for code in pending:
        fresh = [callee for callee in text.callees.get(code, ()) if callee in seen and callee not in found]
        found.update(dict.fromkeys(fresh))
        pending.extend(fresh)
    counted = ((code, text.leading(code)) for code in found if seen[code] and LOCAL not in text.names[code])
    kept = {pending[0], *given}
    return [(text.names[code], callers) for code, callers in counted if callers <= MOST_CALLERS or code in kept][:MOST_CALLS]


def _seen(target: Target, program: Program) -> dict[CodeType, bool]:
    """Every function of Python's that is run for the direct outputs, and whether it gave a tensor; traced alone where running compiles."""
    seen: dict[CodeType, bool] = {}

    def note(frame: Any, event: str, given: Any) -> None:
        if event == "return":
            seen[frame.f_code] = seen.get(frame.f_code, False) or _computed(given)

    runs: list[Callable[[], Any]] = [lambda: target.bare(program, DIRECT), lambda: cast(Inferring, target).inferred(program)]
    for run in reversed(runs) if hasattr(target, "doubtful") else runs:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            run()
            break
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # it has no such thing, or raises at these inputs: what was seen on the way counts
            continue
        finally:
            sys.setprofile(before)
    return seen


def _computed(given: Any) -> bool:
    """Whether something is a tensor, or has one."""
    try:
        return any(hasattr(part, "shape") and hasattr(part, "dtype") for part in (given if isinstance(given, (tuple, list)) else (given,)))
    except Exception:  # whatever a library's objects make of the question
        return False


def is_compiled(api: str, language: Language) -> bool:
    """Whether an API is known to be no function of Python's; of a tensor's method nobody knows yet which function it may be."""
    try:
        function = _plain(resolve(api, language), _roots(language))
    except ProgramError:
        return False
    return function is None or LOCAL in function.__qualname__


def _roots(language: Language) -> set[str]:
    """The packages that are the library's own."""
    return {language.modules.get(root, root) for root in language.roots()}


_REMEMBERED: list[tuple[Language, Text]] = []


def text_of(language: Language) -> Text:
    """A library's text, as it is remembered where somebody asked for that."""
    return next((text for known, text in _REMEMBERED if known is language), None) or Text(language)


def remember_text(language: Language) -> None:
    """Read it now, for this process and its forks: thousands of functions are looked into."""
    _REMEMBERED[:] = [(language, Text(language))]


class Text:
    """Who names whom among a library's functions of Python's, beginning with the public ones."""

    def __init__(self, language: Language) -> None:
        self._roots = _roots(language)
        self._public: dict[CodeType, list[str]] = {}  # by which names each is called
        self._callers: dict[CodeType, set[CodeType]] = {}
        self.callees: dict[CodeType, list[CodeType]] = {}
        self.names: dict[CodeType, str] = {}
        members = ((path, self._plain(value)) for name, space in _spaces(language) for path, value in _members(name, space))
        pending: list[FunctionType] = []
        for path, function in members:
            if function is not None:
                self._public.setdefault(function.__code__, []).append(path)
                pending.append(function)
        while pending:
            function = pending.pop()
            code = function.__code__
            if code not in self.callees:
                named = {callee.__code__: callee for callee in self._named(function)}
                self.callees[code] = list(named)
                self.names[code] = f"{function.__module__}.{function.__qualname__}"
                for callee in named:
                    self._callers.setdefault(callee, set()).add(code)
                pending += named.values()

    def own(self, api: str, language: Language) -> list[CodeType]:
        """The function that an API is; of a tensor's method the public ones of its name, one of which it may be."""
        try:
            function = self._plain(resolve(api, language))
        except ProgramError:
            _, _, method = api.partition(".")
            return [code for code in self._public if code.co_name == method]
        return [] if function is None or LOCAL in function.__qualname__ else [function.__code__]

    def callers(self, api: str, language: Language, name: str) -> Iterator[str]:
        """Public names of what leads to an API, the nearest first: its own function's, where it has one, then of those that name it.

        What is compiled has no function. Then whoever says its name calls it: the part of its path that has `name` in it.
        """
        found = dict.fromkeys(self.own(api, language) or self._naming(api, name))
        pending = list(found)
        for code in pending:
            yield from self._public.get(code, ())
            fresh = sorted(self._callers.get(code, set()) - found.keys(), key=lambda caller: self.names[caller])
            found.update(dict.fromkeys(fresh))
            pending.extend(fresh)

    def _naming(self, api: str, name: str) -> list[CodeType]:
        parts = [part for part in api.split(".") if name in part.replace("_", "").lower()]
        naming = [code for code in self.callees if any(part in nested.co_names for nested in _with_nested(code) for part in parts)]
        return sorted(naming, key=lambda code: self.names[code]) if len(naming) <= MOST_CALLERS else []

    def leading(self, code: CodeType) -> int:
        """How many public functions lead to one, itself included; counted until they are too many."""
        found, pending, public = {code}, [code], 0
        for one in pending:
            public += one in self._public
            if public > MOST_CALLERS:
                break
            fresh = self._callers.get(one, set()) - found
            found |= fresh
            pending.extend(fresh)
        return public

    def _named(self, function: FunctionType) -> Iterator[FunctionType]:
        """The library's functions that a function names, by themselves or behind a module, and those that it was made with."""
        for code in _with_nested(function.__code__):
            modules: list[Mapping[str, Any]] = [function.__globals__]
            for name in code.co_names:
                for value in [space[name] for space in modules if name in space]:
                    if isinstance(value, ModuleType):
                        modules += [vars(value)] if value.__name__.partition(".")[0] in self._roots else []
                    elif (callee := self._plain(value)) is not None:
                        yield callee
        for cell in function.__closure__ or ():
            try:
                callee = self._plain(cell.cell_contents)
            except ValueError:  # nothing is in it yet
                continue
            if callee is not None:
                yield callee

    def _plain(self, value: Any) -> Optional[FunctionType]:
        return _plain(value, self._roots)


def _plain(value: Any, roots: set[str]) -> Optional[FunctionType]:
    """The library's function behind decorators; None where there is none."""
    for _ in range(DECORATORS):
        if isinstance(value, partial):
            value = value.func
            continue
        if value is None or isinstance(value, (type, ModuleType)):
            return None
        try:
            inner = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        except Exception:  # whatever a library's objects make of the question
            return None
        if inner is None:
            own = isinstance(value, FunctionType) and str(value.__module__).partition(".")[0] in roots
            return value if own else None
        value = inner
    return None


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _spaces(language: Language) -> Iterator[tuple[str, Any]]:
    """The modules that Programs may call into, by name."""
    for space in language.namespaces:
        try:
            yield from _matching(space) if "*" in space else [(space, namespace(space, language.modules))]
        except Exception:  # this release lacks it
            continue


def _matching(glob: str) -> list[tuple[str, ModuleType]]:
    return [(name, module) for name, module in list(sys.modules.items()) if fnmatchcase(name, glob) and module is not None]


def _members(path: str, space: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(space, ModuleType):
        yield from ((f"{path}.{name}", getattr(space, name, None)) for name in dir(space) if not name.startswith("_"))
    else:
        yield path, space
