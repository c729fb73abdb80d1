"""A call's arguments handed to another function that computes the same, or something with it: by name, then in their order.

An operator says in many arguments what people say in few: a sparse tensor comes as its indices, values and shape (`made` in the target's
names.json), a method of interpolation is a part of the operator's name, and what the operator does unless told may be what the function
does only if asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gradfuzz.findings.inside.controls import named_arguments
from gradfuzz.program.model import Call, Expr, Ref, walk
from gradfuzz.targets.base.protocol import Overload, Parameter, Target

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Of each function, so many of the things that it can be told beside are tried.
MOST_ASKED = 4
LABELS = ("name",)  # what a result is to be called changes nothing
Given = list[tuple[str, Expr]]
Made = Mapping[str, Mapping[str, Sequence[str]]]


def handed(target: Target, call: Call, path: str, made: Made) -> Iterator[Call]:
    """Calls of the function at `path`; none where it asks for more tensors than there are."""
    ours = [*named_arguments(target, call), *_left_to_it(target, call)]
    for given in (ours, put_together(ours, made)):
        for overload in target.parameters(path):
            found = _filled(given, overload)
            if found is not None:
                yield _call(path, overload, found)
                for name, value in islice(_asked(call.func, path, overload, found), MOST_ASKED):
                    yield _call(path, overload, {**found, name: value})
        if not any(is_tensor(value) and _role(name, made) for name, value in ours):
            return


def put_together(given: Given, made: Made) -> Given:
    """Arguments that are parts of one thing, by the ends of their names, as that thing in the place of the first of them."""
    found = dict(given)
    for path, parts in made.items():
        first, ends = next(iter(parts.items()))
        for name in [name for name in found if name.endswith(tuple(ends))]:
            stem = next(name[: -len(end)] for end in ends if name.endswith(end))
            names = {part: next((f"{stem}{end}" for end in ends if f"{stem}{end}" in found), "") for part, ends in parts.items()}
            if all(names.values()):
                whole = Call(path, (), tuple((part, found[name]) for part, name in names.items()))
                found = {
                    (stem.strip("_") if key == names[first] else key): (whole if key == names[first] else value)
                    for key, value in found.items()
                    if key == names[first] or key not in names.values()
                }
    return list(found.items())


def _left_to_it(target: Target, call: Call) -> Given:
    """Options that the call leaves to the function: another one may do something else where it is told nothing."""
    given = {name for name, _ in named_arguments(target, call)}
    overload = next(iter(target.parameters(call.func)), ())
    return [(p.name, p.default) for p in overload if p.name not in given and isinstance(p.default, (bool, str)) and p.default != ""]


def _filled(given: Given, overload: Overload) -> dict[str, Expr] | None:
    """What each parameter is given: its namesake, or the next tensor that has none, or the next of all arguments that have none; None
    where a parameter goes without."""
    names = {parameter.name for parameter in overload}
    told = {parameter.name: parameter.default for parameter in overload}
    named = {name: _as_spelt(value, told[name]) for name, value in given if name in names}
    wanting = [p.name for p in overload if p.required and p.name not in named]
    if any(p.kind == "starred" for p in overload if p.name in wanting):
        return None
    rest = [value for name, value in given if name not in names and not isinstance(value, (bool, str))]
    for fillers in (list(filter(is_tensor, rest)), rest):
        if len(fillers) >= len(wanting):
            found = {**named, **dict(zip(wanting, fillers))}
            return found if any(map(is_tensor, found.values())) else None
    return None


def _as_spelt(value: Expr, default: Any) -> Expr:
    """A word in the letters of the function's own: BILINEAR to one that says bilinear."""
    return value.lower() if isinstance(value, str) and isinstance(default, str) and default.islower() else value


def _asked(func: str, path: str, overload: Overload, found: Mapping[str, Expr]) -> Iterator[tuple[str, Any]]:
    """What the function can be told beside: a word of the operator's name that is none of its own, then the other of two."""
    own, whole = words(path.rsplit(".", 1)[-1]), words(func.rsplit(".", 1)[-1])
    left = [word for word in whole if word not in own]
    for parameter in overload:
        if isinstance(parameter.default, str) and parameter.name not in (*found, *LABELS):
            named = [word for word in parameter.words if "".join(words(word)) in "".join(whole)]
            said = dict.fromkeys((*named, "_".join(left), *left))
            yield from ((parameter.name, word) for word in said if word and word != parameter.default)
    for parameter in overload:
        if isinstance(parameter.default, bool) and parameter.name not in found:
            yield parameter.name, not parameter.default


def words(name: str) -> list[str]:
    """The words of a name, however it is cut into them."""
    return [word.lower() for word in _WORDS.findall(name)]


def _call(path: str, overload: Sequence[Parameter], found: Mapping[str, Expr]) -> Call:
    """The call as people write it: what is required by its place, the rest by name, and nothing that goes without saying."""
    places: list[str] = []
    for parameter in overload:
        if parameter.keyword or not parameter.required:
            break
        places.append(parameter.name)
    plain = {p.name: p.default for p in overload if not p.required}
    named = ((name, value) for name, value in found.items() if name not in places)
    return Call(path, tuple(found[name] for name in places), tuple((n, v) for n, v in named if not (n in plain and _same(v, plain[n]))))


def _same(value: Expr, default: Any) -> bool:
    plain = isinstance(value, (bool, str, int, float)) and isinstance(default, (bool, str, int, float))
    return plain and isinstance(value, bool) == isinstance(default, bool) and value == default


def is_tensor(value: Expr) -> bool:
    """Whether an argument is a tensor of the Program's, or has one in it."""
    return any(isinstance(node, Ref) for node in walk(value))


def _role(name: str, made: Made) -> bool:
    return any(name.endswith(end) for parts in made.values() for ends in parts.values() for end in ends)
