"""A function that another was given: where a call of it by itself shows the same, it is the one at fault.

Loops, reductions and maps do with every number what they were given to do, and their own names say nothing about that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.shrink import Predicate, tried
from gradfuzz.program.model import Call, Let, Name, Program, Ref, walk
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.protocol import Target


def by_itself(target: Target, api: str, program: Program, shows: Predicate) -> tuple[str, Program]:
    """The API and the Program with a function in the place of what it was given to, if that shows the bug."""
    for path in functions_given(target, program):
        shown = next((p for p in _calls_of(path, program) if tried(p, shows)), None)
        if shown is not None:
            return path, shown
    return api, program


def functions_given(target: Target, program: Program) -> list[str]:
    """The library's functions that calls of a Program are given, by name."""
    named = (node.path for call in program.calls() for node in walk(call) if isinstance(node, Name))
    return [path for path in dict.fromkeys(named) if _is_function(target, path)]


def _is_function(target: Target, path: str) -> bool:
    try:
        value = resolve(path, target.language)
    except ProgramError:
        return False
    return callable(value) and not isinstance(value, type) and hasattr(value, "__name__")


def _calls_of(path: str, program: Program) -> Iterator[Program]:
    """The function of the tensors that the last call takes; of two like the first, where there is one; of the first alone."""
    last = program.statements[-1]
    if not isinstance(last.value, Call):
        return
    taken = [node.name for node in walk(last.value) if isinstance(node, Ref) and node.name in program.inputs]
    if not taken:
        return
    first = program.inputs[taken[0]]
    other = next(name for name in (f"x{n}" for n in count(1)) if name not in {n for s in program.statements for n in s.names})
    inputs = {name: program.inputs[name] for name in dict.fromkeys(taken)}
    names = last.names[:1] or ("y",)
    for these in (inputs, {taken[0]: first, other: replace(first)}, {taken[0]: first}):
        lets = [Let((name,), recipe) for name, recipe in these.items()]
        yield Program((*lets, Let(names, Call(path, tuple(map(Ref, these))))))
