"""Shrinking: the smallest mutant that still shows the bug, towards what people compute with.

First fewer edits, then a simpler Program: fewer calls, smaller shapes that are not empty, plainer types, rounder numbers, fewer arguments.
Numbers go towards 1, 2, 3 and one half, and become zero only where nothing else shows it. Every candidate is simpler than what it comes
from, so the search ends.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Callable

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program.model import DISCRETE, Call, Expr, Let, Program, Ref, Tensor, Values, children, rebuild, walk
from gradfuzz.program.values import materialise

Predicate = Callable[[Program], bool]
LISTED = 48  # numbers that are rounded one by one: as many as a script can still write down
# What numbers become, the best first; ordinary ones that are not special to most functions. Beside zeros that matter the others count up.
PLAIN = (Values("arange", (1.0, 1.0)), Values("full", (2.0,)), Values("full", (0.5,)), Values("full", (1.0,)), Values("full", (0.0,)))
ORDINARY = (2.0, 0.5, 1.0)
# An element as verdicts name it, and of how many the numbers are tried where they name none.
ELEMENT, SINGLES = re.compile(r"(\w+)\[([\d, ]*)\]"), 12
# A dimension without elements becomes as long as this.
FILLED = (1, 2)
# Sizes of what people compute with; what is smaller or larger is as special as zero.
SMALLEST, LARGEST = 1e-3, 1e3


def fewer_edits(seed: Program, edits: list[Edit]) -> Generator[Program, bool, list[Edit]]:
    """Hands out mutants with one edit less and is told whether each shows the bug; returns the edits that it needs."""
    kept = list(edits)
    for index in range(len(kept) - 1, -1, -1):
        fewer = kept[:index] + kept[index + 1 :]
        if (yield apply_all(seed, fewer)):
            kept = fewer
    return kept


def simpler(program: Program, api: str = "") -> Generator[Program, bool, None]:
    """Hands out simpler Programs, and goes on from each that it is told to show the bug, for as long as there are any.

    A Program that calls the API still does when it is smaller: what is left without it is somebody else's bug.

    It goes through them in turn: what did not show the bug before a step was taken seldom does after it, and has to wait.
    """
    named = api if calls(program, api) else ""
    while True:
        begun, failed, stepped = program, 0, True
        while stepped:
            stepped = False
            for candidate in islice(candidates(program), failed, None):
                if (not named or calls(candidate, named)) and (yield candidate):
                    program, stepped = candidate, True
                    break
                failed += 1
        if program is begun:
            return


def shrink_edits(seed: Program, edits: list[Edit], shows: Predicate) -> list[Edit]:
    """The edits without those that the bug does not need."""
    search = fewer_edits(seed, edits)
    try:
        candidate = next(search)
        while True:
            candidate = search.send(tried(candidate, shows))
    except StopIteration as end:
        kept: list[Edit] = end.value
        return kept


def shrink_program(program: Program, shows: Predicate, more_time: Callable[[], bool], api: str = "") -> Program:
    """Take simpler candidates for as long as one still shows the bug and there is time."""
    search = simpler(program, api)
    with contextlib.suppress(StopIteration):
        candidate = next(search)
        while more_time():
            shown = tried(candidate, shows)
            if shown:
                program = candidate
            candidate = search.send(shown)
    return program


def tried(program: Program, shows: Predicate) -> bool:
    """Whether a candidate is a Program at all and shows the bug."""
    try:
        return shows(program.check())
    except ProgramError:
        return False


def singles(program: Program, element: str | None) -> Iterator[Program]:
    """The same calls at the numbers of one element of the inputs, without any dimension: the one that is named, as x[0, 1] is, else each of
    the first few. What is computed element by element shows the same there, after one step rather than many. None where that is no Program.
    """
    named = ELEMENT.fullmatch(element or "")
    if named:
        places = [tuple(int(n) for n in named.group(2).split(",") if n.strip())]
    else:
        places = [*islice(np.ndindex(*max((r.shape for r in program.inputs.values()), key=len, default=())), SINGLES)]
    yield from (single for place in places if (single := _at(program, place)) is not None)


def _at(program: Program, place: tuple[int, ...]) -> Program | None:
    found = {}
    for name, recipe in program.inputs.items():
        if recipe.structure is not None or recipe.layout != "contiguous" or not recipe.elements:
            return None
        array = materialise(recipe)
        beside = place[len(place) - array.ndim :] if array.ndim <= len(place) else (0,) * array.ndim  # as broadcasting has it
        number = array[tuple(n % size for n, size in zip(beside, array.shape))].item()
        if number - number != 0:
            return None  # not finite
        found[name] = replace(recipe, shape=(), values=Values("listed", ((number,),)))
    return program.with_inputs(found) if any(recipe.shape for recipe in program.inputs.values()) else None


def candidates(program: Program) -> Iterator[Program]:
    """Simpler Programs, boldest first."""
    yield from _fewer_statements(program)
    yield from _filled_shapes(program)
    yield from _smaller_shapes(program)
    yield from _plainer_inputs(program)
    yield from _fewer_arguments(program)
    yield from _ordinary_arguments(program)
    yield from _rounder_values(program)


def _fewer_statements(program: Program) -> Iterator[Program]:
    calls = [i for i, s in enumerate(program.statements) if not isinstance(s.value, Tensor)]
    if len(calls) > 1 and program.statements[calls[-2]].names:
        yield _without_unused(Program(program.statements[: calls[-1]]))
    for i in calls[:-1]:
        value = program.statements[i].value
        refs = [c for c in children(value) if isinstance(c, Ref)] if isinstance(value, Call) else []
        if refs and len(program.statements[i].names) == 1:
            name = program.statements[i].names[0]
            shorter = program.statements[:i] + tuple(_renamed(s, name, refs[0]) for s in program.statements[i + 1 :])
            yield _without_unused(Program(shorter))


def _renamed(statement: Let, old: str, new: Ref) -> Let:
    def change(node: Expr) -> Expr:
        return new if isinstance(node, Ref) and node.name == old else rebuild(node, change)

    return statement if isinstance(statement.value, Tensor) else Let(statement.names, change(statement.value))


def _without_unused(program: Program) -> Program:
    used = {node.name for node in program.expressions() if isinstance(node, Ref)}
    return Program(tuple(s for s in program.statements if not isinstance(s.value, Tensor) or s.names[0] in used))


def _filled_shapes(program: Program) -> Iterator[Program]:
    """Nothing empty: first everywhere at once, then input by input."""
    empty = {name: recipe for name, recipe in program.inputs.items() if 0 in recipe.shape}
    for size in FILLED:
        filled = {name: replace(r, shape=tuple(n or size for n in r.shape)) for name, r in empty.items()}
        if filled:
            yield program.with_inputs(filled)
        if len(filled) > 1:
            yield from (program.with_inputs({name: recipe}) for name, recipe in filled.items())


def _smaller_shapes(program: Program) -> Iterator[Program]:
    sizes = sorted({n for r in program.inputs.values() for n in r.shape if n > 1}, reverse=True)
    for old in sizes:
        for new in sorted({1, 2, 3, old // 2, old - 1} - {0, old}):
            if new < old:
                shaped = {
                    name: replace(r, shape=tuple(new if n == old else n for n in r.shape))
                    for name, r in program.inputs.items()
                    if old in r.shape
                }
                yield program.with_inputs({n: _cut(program.inputs[n], r.shape) for n, r in shaped.items()})
    for name, recipe in program.inputs.items():
        for axis, size in enumerate(recipe.shape):
            if size > 1:
                smaller = (*recipe.shape[:axis], size // 2, *recipe.shape[axis + 1 :])
                yield program.with_inputs({name: _cut(recipe, smaller)})
    if program.inputs and all(r.shape for r in program.inputs.values()):
        yield program.with_inputs({n: _cut(r, r.shape[1:]) for n, r in program.inputs.items()})
    for name, recipe in program.inputs.items():
        if recipe.shape:
            yield program.with_inputs({name: _cut(recipe, recipe.shape[1:])})


def _cut(recipe: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The recipe in a smaller shape; listed numbers keep their places."""
    if recipe.values.kind == "listed" and recipe.elements:
        array = materialise(recipe)
        while array.ndim > len(shape):
            array = array[0]
        if array.ndim == len(shape):
            array = array[tuple(slice(0, n) for n in shape)]
            if array.shape == shape:
                return replace(recipe, shape=shape, values=Values("listed", (tuple(array.ravel().tolist()),)))
    return replace(recipe, shape=shape)


def _plainer_inputs(program: Program) -> Iterator[Program]:
    for name, recipe in program.inputs.items():
        if recipe.layout != "contiguous":
            yield program.with_inputs({name: replace(recipe, layout="contiguous")})
        if recipe.structure is not None:
            continue
        plain = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}
        if recipe.dtype in plain:
            yield program.with_inputs({name: replace(recipe, dtype=plain[recipe.dtype])})
    low = {n: replace(r, dtype="float64") for n, r in program.inputs.items() if r.dtype in ("float32", "float16", "bfloat16")}
    if len(low) > 1:
        yield program.with_inputs(low)
    if sum(r.differentiable for r in program.inputs.values()) > 1:
        for name, recipe in program.inputs.items():
            if recipe.differentiable:
                yield program.with_inputs({name: replace(recipe, grad=False)})


def _fewer_arguments(program: Program) -> Iterator[Program]:
    for position, statement in enumerate(program.statements):
        call = statement.value
        if not isinstance(call, Call):
            continue
        for key, _ in call.kwargs:
            fewer = Call(call.func, call.args, tuple((k, v) for k, v in call.kwargs if k != key))
            yield _without_unused(_with(program, position, fewer))
        if len(call.args) > 1 and not any(isinstance(n, Ref) for n in walk(call.args[-1])):
            yield _with(program, position, Call(call.func, call.args[:-1], call.kwargs))


def _ordinary_arguments(program: Program) -> Iterator[Program]:
    """Arguments that are infinite, not a number, huge or tiny become ordinary ones."""
    for position, statement in enumerate(program.statements):
        call = statement.value
        if not isinstance(call, Call):
            continue
        for place, argument in enumerate((*call.args, *(value for _, value in call.kwargs))):
            if isinstance(argument, float) and argument and _special([argument]):
                for number in ORDINARY:
                    given = [*call.args, *(value for _, value in call.kwargs)]
                    given[place] = number
                    named = tuple(zip((key for key, _ in call.kwargs), given[len(call.args) :]))
                    yield _with(program, position, Call(call.func, tuple(given[: len(call.args)]), named))


def _with(program: Program, position: int, value: Expr) -> Program:
    statements = list(program.statements)
    statements[position] = Let(statements[position].names, value)
    return Program(tuple(statements))


def _rounder_values(program: Program) -> Iterator[Program]:
    for name, recipe in program.inputs.items():
        if recipe.dtype in DISCRETE:
            yield from (program.with_inputs({name: replace(recipe, values=fewer)}) for fewer in _smaller_integers(recipe))
            continue
        values, one = recipe.values, recipe.elements == 1
        for plain in PLAIN:
            if _simplicity(plain, one) < _simplicity(values, one):
                yield program.with_inputs({name: replace(recipe, values=plain)})
        if values.args and isinstance(values.args[0], Values):
            yield program.with_inputs({name: replace(recipe, values=values.args[0])})
        if 0 < recipe.elements <= LISTED and not recipe.dtype.startswith("complex"):
            numbers = materialise(replace(recipe, structure=None)).ravel()
            for listed in (_around_zeros(numbers), *(tuple(_rounded(float(x), digits) for x in numbers) for digits in (0, 1, 2, 3))):
                rounder = Values("listed", (listed,))
                if all(np.isfinite(listed)) and _simplicity(rounder, one) < _simplicity(values, one):
                    yield program.with_inputs({name: replace(recipe, values=rounder)})


def _smaller_integers(recipe: Tensor) -> Iterator[Values]:
    """Indices and labels below two, or below what they are: a smaller dimension has room for no others."""
    if recipe.dtype != "bool" and 0 < recipe.elements <= LISTED:
        numbers = materialise(recipe).ravel()
        for most in (0, 1, 2):
            if numbers.min() >= 0 and numbers.max() > most:
                yield Values("listed", (tuple(int(min(x, most)) for x in numbers),))


def _around_zeros(numbers: Any) -> tuple[float, ...]:
    """The zeros where they are, and 1, 2, 3 around them."""
    return tuple(0.0 if x == 0 else float(n) for x, n in zip(numbers, np.cumsum(numbers != 0)))


def _rounded(number: float, digits: int) -> float:
    """So many significant digits after the first."""
    return float(f"{number:.{digits}e}")


def _simplicity(values: Values, one: bool = False) -> tuple[int, int, int, float]:
    """Smaller is simpler; strictly so for every step that shrinking takes. What is special is less simple than any ordinary number.

    `one`: they are for one element, which has nothing to count up.
    """
    if values.kind == "arange" and values == PLAIN[0]:
        return (0, 0, 1, float(len(PLAIN))) if one else (0, 0, 0, 0.0)
    if values.kind == "full":
        position = PLAIN.index(values) if values in PLAIN else len(PLAIN)
        return (0, _special(values.args), 1, float(position))
    if values.kind == "listed":
        return (0, _special(values.args[0]), 2, float(sum(len(repr(x)) for x in values.args[0])))
    depth = 0
    while values.args and isinstance(values.args[0], Values):
        values, depth = values.args[0], depth + 1
    return (1, 0, 0, float(depth))


def _special(numbers: Iterable[Any]) -> int:
    """1 where zeros, infinities, huge or tiny numbers are among them."""
    return int(any(not SMALLEST <= abs(x) <= LARGEST for x in numbers))


def calls(program: Program, api: str) -> bool:
    """Whether an API is called, in whichever of its forms: by its last name."""
    last = api.rsplit(".", 1)[-1]
    return any(call.func.rsplit(".", 1)[-1] == last for call in program.calls())
