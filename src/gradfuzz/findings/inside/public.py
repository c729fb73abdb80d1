"""The public name in the place of one that hardly anybody calls: internal, deprecated or without a docstring; where it shows the same.

Which names are internal or deprecated, and what part of them is the function's own, stands in the target's names.json; what is public is
what its namespaces have under that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from gradfuzz.findings.inside.documented import described, named_alike, spaces_of
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
            if tried(other, shows):
                api, program = (form.func if call.func == api else api), other
                break
    return api, program


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

    alike = dict.fromkeys((*named_alike(name, target.language), *named_alike(short, target.language)))
    for path in sorted(alike, key=distance):
        if path == call.func or _odd(target, path, names):
            continue
        taken = {parameter.name for overload in target.parameters(path) for parameter in overload}
        options = tuple((key, value) for key, value in call.kwargs if not taken or key in taken)
        yield Call(path, call.args, options)
        if options:
            yield Call(path, call.args)


def _odd(target: Target, func: str, names: dict[str, Any]) -> bool:
    """Whether a function is internal, deprecated or without a docstring. Operators, methods and what a user lends are none of these."""
    if any(fnmatchcase(func, pattern) for pattern in (*names.get("internal", ()), *names.get("deprecated", ()))):
        return True
    return bool(names) and any(func.startswith(f"{space}.") for space in spaces_of(target.language)) and not described(target, func)
