"""The public name in the place of one that hardly anybody calls: internal, deprecated or without a docstring; where it shows the same.

Which names are internal or deprecated, what part of them is the function's own, and which have another name in public (`forms`, with what
it is given behind the first argument), stands in the target's names.json; what is public is what its namespaces have under that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from gradfuzz.findings.inside.controls import named_arguments
from gradfuzz.findings.inside.documented import described, named_alike, spaces_of
from gradfuzz.findings.inside.presentable import in_shape
from gradfuzz.findings.inside.shrink import Predicate, tried
from gradfuzz.program.model import Call, Let, Program
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.homes import homes

# Calls that are tried in the place of one: a function in a few namespaces, with and without its options.
MOST_FORMS = 8


def public(target: Target, api: str, program: Program, shows: Predicate) -> tuple[str, Program]:
    """The API and the Program with public functions in the place of others, each where the bug still shows."""
    for position, statement in enumerate(program.statements):
        call = statement.value
        for form in islice(_forms(target, call), MOST_FORMS) if isinstance(call, Call) else ():
            changed = Let(statement.names, form)
            other = Program((*program.statements[:position], changed, *program.statements[position + 1 :]))
            shown = next((p for p in _samples(other) if tried(p, shows)), None)
            if shown is not None:
                api, program = (form.func if call.func == api else api), shown
                break
    return api, program


def _samples(program: Program) -> Iterator[Program]:
    """As it is, and with two samples where the first input has one: shrinking leaves one, and many a public function refuses it."""
    yield program
    name, first = next(iter(program.inputs.items()), ("", None))
    if first is not None and first.elements and first.shape[:1] == (1,):
        yield program.with_inputs({name: in_shape(first, (2, *first.shape[1:]))})


def _forms(target: Target, call: Call) -> Iterator[Call]:
    """The call by each public name that it may have, its own namespace first; options that the function does not take are left out."""
    names = homes()[target.name].data("names") if target.name in homes() else {}
    if not _odd(target, call.func, names):
        return
    name = homes()[target.name].function(call.func)
    prefixes = [prefix.replace("_", "") for prefix in names.get("prefixes", ())]
    short = next((name[len(prefix) :] for prefix in prefixes if name.startswith(prefix)), name)

    def distance(path: str) -> tuple[bool, bool]:
        space, _, last = path.rpartition(".")
        return not call.func.startswith(f"{space}."), last.replace("_", "") not in (name, short)

    for path, *given in filter(None, [names.get("forms", {}).get(call.func)]):
        yield Call(path, (*call.args[:1], *given, *call.args[1:]), call.kwargs)
    ours = [key for key, _ in named_arguments(target, call)][: len(call.args)]
    alike = dict.fromkeys((*named_alike(name, target.language), *named_alike(short, target.language)))
    for path in sorted(alike, key=distance):
        if path == call.func or _odd(target, path, names):
            continue
        overloads = [[parameter.name for parameter in overload] for overload in target.parameters(path)]
        taken = {key for theirs in overloads for key in theirs}
        options = tuple((key, value) for key, value in call.kwargs if not taken or key in taken)
        theirs = next((keys for keys in overloads if set(ours) <= set(keys)), ours)
        same = next((n for n, (one, other) in enumerate(zip(ours, theirs)) if one != other), len(call.args))
        by_name = tuple(zip(ours[same:], call.args[same:]))  # from where the orders of two functions part
        yield Call(path, call.args[:same], (*by_name, *options))
        if options:
            yield Call(path, call.args[:same], by_name)


def _odd(target: Target, func: str, names: dict[str, Any]) -> bool:
    """Whether a function is internal, deprecated or without a docstring. Operators, methods and what a user lends are none of these."""
    if any(fnmatchcase(func, pattern) for pattern in (*names.get("internal", ()), *names.get("deprecated", ()))):
        return True
    return bool(names) and any(func.startswith(f"{space}.") for space in spaces_of(target.language)) and not described(target, func)
