"""The public name in the place of one that hardly anybody calls: internal, deprecated or without a docstring; where it shows the same.

Which names are internal or deprecated, what part of them is the function's own, and which have another name in public (`forms`, with what
it is given behind the first argument), stands in the target's names.json; what is public is what its namespaces have under that name. Where
none of these shows it, public functions that lead to it are tried, as the library's own text has them (`calls.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Optional

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.calls import text_of
from gradfuzz.findings.inside.controls import named_arguments
from gradfuzz.findings.inside.documented import described, named_alike, spaces_of
from gradfuzz.findings.inside.handing import handed, is_tensor
from gradfuzz.findings.inside.presentable import in_shape
from gradfuzz.findings.inside.shrink import Predicate, tried
from gradfuzz.program import gate
from gradfuzz.program.model import Call, Let, Program
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.homes import homes

# Calls that are tried in the place of one: a function in a few namespaces, with and without its options; then of those that lead to it.
MOST_FORMS, MOST_LEADING = 8, 16


def public(
    target: Target, api: str, program: Program, shows: Predicate, through: Optional[Predicate] = None
) -> tuple[str, Program]:  # fmt: skip
    """The API and the Program with public functions in the place of others, each where the bug still shows.

    `through`: whether it does for the same reason, by the rule at fault. That is asked of functions which have another name and do more.
    """
    for position, statement in enumerate(program.statements):
        call = statement.value
        if not isinstance(call, Call) or not _odd(target, call.func, _names(target)):
            continue
        tries = ((form, shows) for form in islice(_forms(target, call), MOST_FORMS))
        leading = ((form, through or shows) for form in islice(_leading(target, call), MOST_LEADING))
        for form, fits in chain(tries, leading):
            changed = Let(statement.names, form)
            other = Program((*program.statements[:position], changed, *program.statements[position + 1 :]))
            shown = next((p for p in _samples(other) if tried(p, fits)), None)
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


def _names(target: Target) -> dict[str, Any]:
    return homes()[target.name].data("names") if target.name in homes() else {}


def _forms(target: Target, call: Call) -> Iterator[Call]:
    """The call by each public name that it may have, its own namespace first; options that the function does not take are left out."""
    names = _names(target)
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
        if call.args or any(map(is_tensor, dict(options).values())):
            yield Call(path, call.args[:same], (*by_name, *options))
        if options and call.args:
            yield Call(path, call.args[:same], by_name)
        if len(options) < len(call.kwargs):
            yield from islice(handed(target, call, path, names.get("made", {})), 1)  # it calls its arguments by other names


def _leading(target: Target, call: Call) -> Iterator[Call]:
    """Calls of public functions that lead to the one that is called, the nearest first."""
    names, name = _names(target), homes()[target.name].function(call.func)
    tried: set[str] = set()
    for path in text_of(target.language).callers(call.func, target.language, name):
        if path not in tried and not _odd(target, path, names) and _allowed(target, path):
            tried.add(path)
            yield from handed(target, call, path, names.get("made", {}))


def _allowed(target: Target, path: str) -> bool:
    try:
        gate.check_api(path, target.language)
    except ProgramError:
        return False
    return True


def _odd(target: Target, func: str, names: dict[str, Any]) -> bool:
    """Whether a function is internal, deprecated or without a docstring. Operators, methods and what a user lends are none of these."""
    if target.name in homes() and homes()[target.name].hardly_called(func):
        return True
    return bool(names) and any(func.startswith(f"{space}.") for space in spaces_of(target.language)) and not described(target, func)
