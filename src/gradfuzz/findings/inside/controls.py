"""What makes a bug appear: the same call with one thing about it made ordinary. Where that is right, the thing is the trigger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

import numpy as np

from gradfuzz.findings.inside.documented import documented_names
from gradfuzz.program.model import COMPLEXES, DISCRETE, FLOATS, Call, Expr, Let, Program, Ref, Tensor, Values
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import Overload, Target

METHOD_S = "input"  # what the first argument of a method is called by the function of the same name
COUNTING = Values("arange", (1.0, 1.0))
# How people say which view a tensor is.
VIEWS = {
    "transposed": "for a transposed {}", "strided": "for a non-contiguous {}", "offset": "for {} with a storage offset",
    "expanded": "for an expanded {}", "channels_last": "for a channels-last {}", "conjugated": "for {} with the conjugate bit set",
    "negated": "for {} with the negative bit set",
}  # fmt: skip
# Numbers that an option of a number is tried with.
ORDINARY = (1.0, 2.0, 0.5)
# Sizes beyond which numbers are called large or tiny.
LARGE, TINY = 1e3, 1e-3
APART = 0.25  # what numbers of two inputs are moved apart by


@dataclass(frozen=True)
class Control:
    """A Program that differs in one thing: `trigger` says what is left out, `control` what takes its place, each behind its preposition.

    `same`: its derivative is that of the original, entry by entry. `form`: what is left out is a form of the call, which is worth telling
    even where nothing can be said of the call without it.
    """

    trigger: str
    control: str
    program: Program
    same: bool = False
    form: bool = False


def parameter_names(target: Target, program: Program) -> dict[str, str]:
    """What the inputs are called by the first call that takes each."""
    found: dict[str, str] = {}
    for call in program.calls():
        for name, value in named_arguments(target, call):
            if name and isinstance(value, Ref) and value.name in program.inputs:
                found.setdefault(value.name, METHOD_S if name == "self" else name)
    return found


def named_arguments(target: Target, call: Call) -> list[tuple[str, Expr]]:
    """A call's arguments by the names of their parameters; nothing where the library does not say."""
    places: list[str] = []
    if "." in call.func:
        places = documented_names(target, call.func)
        places = places if len(places) >= len(call.args) else _places(call, target.parameters(call.func))
    return [*((places[n] if n < len(places) else "", value) for n, value in enumerate(call.args)), *call.kwargs]


def _places(call: Call, overloads: Sequence[Overload]) -> list[str]:
    """The names of positional parameters, as the first overload that takes so many and all that is given by name has them."""
    given = {name for name, _ in call.kwargs}
    for overload in overloads:
        names = [p.name for p in overload if not p.keyword and p.kind != "starred"]
        if call.func.startswith(".") and names[:1] not in (["self"], ["input"]):
            names = ["self", *names]
        if len(names) >= len(call.args) and given <= {p.name for p in overload}:
            return names
    return []


def controls(target: Target, program: Program) -> Iterator[Control]:
    """One thing at a time: views, types, forms of the call, options, one tensor in two places, special numbers."""
    called = parameter_names(target, program)
    for name, recipe in program.inputs.items():
        if recipe.layout in VIEWS:
            what = f"`{called.get(name, name)}`"
            plain = program.with_inputs({name: replace(recipe, layout="contiguous", values=_listed(recipe))})
            yield Control(VIEWS[recipe.layout].format(what), f"with a contiguous copy of {what}", plain, same=True)
    yield from _types(program)
    yield from _forms(program)
    yield from _options(target, program)
    yield from _twice(target, program)
    yield from _numbers(program, called)


def same_but_for_numbers(one: Program, other: Program) -> bool:
    """Whether two Programs differ in their floating numbers at most: what was compiled for one serves the other."""
    return [*map(_without_numbers, one.statements)] == [*map(_without_numbers, other.statements)]


def _without_numbers(let: Let) -> Let:
    value = let.value
    return replace(let, value=replace(value, values=COUNTING)) if isinstance(value, Tensor) and value.dtype not in DISCRETE else let


def _listed(recipe: Tensor) -> Values:
    """The very numbers, since some views repeat theirs."""
    return Values("listed", (tuple(materialise(recipe).ravel().tolist()),)) if recipe.expanded else recipe.values


def _types(program: Program) -> Iterator[Control]:
    floating = {name: r for name, r in program.inputs.items() if r.dtype not in DISCRETE}
    complexes = {name: r for name, r in floating.items() if r.dtype in COMPLEXES}
    if complexes:
        real = {name: replace(r, dtype="float64", values=COUNTING, layout=_real_layout(r)) for name, r in complexes.items()}
        yield Control("for complex numbers", "for real numbers", program.with_inputs(real))
    low = sorted({r.dtype for r in floating.values()} & {*FLOATS} - {"float64"})
    if low:
        wide = {name: replace(r, dtype="float64") for name, r in floating.items() if r.dtype in FLOATS}
        yield Control(f"in {' and '.join(low)}", "in float64", program.with_inputs(wide))


def _real_layout(recipe: Tensor) -> str:
    return "contiguous" if recipe.layout == "conjugated" else recipe.layout


def _forms(program: Program) -> Iterator[Control]:
    """In place, and into a given output. What is written to was differentiated, so the other inputs are now."""
    for position, call in _calls(program):
        if call.func.endswith("_") and not call.func.endswith("__") and "." in call.func:
            plain = _with(program, position, replace(call, func=call.func[:-1]))
            yield Control("in place", "out of place", plain, form=True)
        if any(name == "out" for name, _ in call.kwargs):
            fewer = _with(program, position, replace(call, kwargs=tuple((k, v) for k, v in call.kwargs if k != "out")))
            moving = {name: replace(r, grad=True) for name, r in fewer.inputs.items() if r.dtype not in DISCRETE}
            yield Control("with `out=`", "without `out`", fewer.with_inputs(moving), form=True)


def _options(target: Target, program: Program) -> Iterator[Control]:
    """Options left out, or with another value; those of a size are left alone, since every size is as good as another."""
    for position, call in _calls(program):
        named = named_arguments(target, call)
        words = {p.name: p.words for overload in (target.parameters(call.func) if "." in call.func else ()) for p in overload}
        for place, (name, value) in enumerate(named):
            if isinstance(value, (Ref, Call)) or not name or name == "out":
                continue
            said = f"with `{name}={_said(value)}`"
            if place >= len(call.args):
                fewer = replace(call, kwargs=tuple((k, v) for k, v in call.kwargs if k != name))
                yield Control(said, f"without `{name}`", _with(program, position, fewer))
            for other in _others(value, words.get(name, ())):
                given = [v for _, v in named]
                given[place] = other
                kwargs = tuple((k, v) for (k, _), v in zip(call.kwargs, given[len(call.args) :]))
                changed = replace(call, args=tuple(given[: len(call.args)]), kwargs=kwargs)
                yield Control(said, f"with `{name}={_said(other)}`", _with(program, position, changed))


def _others(value: Expr, words: Sequence[str]) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [0, 1] if value < 0 else []
    if isinstance(value, float):
        return [number for number in ORDINARY if number != value]
    return [word for word in words if word != value] if isinstance(value, str) else []


def _said(value: Expr) -> str:
    return repr(value).replace("'", '"')


def _twice(target: Target, program: Program) -> Iterator[Control]:
    """A tensor that is two arguments of one call becomes two tensors of the same numbers."""
    apart = separated(program)
    if apart is not None:
        for call in program.calls():
            passed = [(name, v.name) for name, v in named_arguments(target, call) if isinstance(v, Ref)]
            again = next((v for n, (_, v) in enumerate(passed) if v in [w for _, w in passed[:n]]), None)
            if again:
                names = " and ".join(f"`{name}`" for name, v in passed if v == again and name) or "two arguments"
                yield Control(f"with one tensor as {names}", "with two tensors of the same numbers", apart)
                return


def separated(program: Program) -> Program | None:
    """The Program with an input of its own for each argument of a call; None where that is so already."""
    for position, call in _calls(program):
        seen: set[str] = set()
        for place, value in enumerate(call.args):
            if isinstance(value, Ref) and value.name in seen and value.name in program.inputs:
                taken = {name for let in program.statements for name in let.names}
                name = next(n for n in (f"{value.name}{k}" for k in count(2)) if n not in taken)
                args = (*call.args[:place], Ref(name), *call.args[place + 1 :])
                first = next(i for i, let in enumerate(program.statements) if value.name in let.names)
                statements = list(_with(program, position, replace(call, args=args)).statements)
                statements.insert(first + 1, Let((name,), program.inputs[value.name]))
                return Program(tuple(statements))
            if isinstance(value, Ref):
                seen.add(value.name)
    return None


def _numbers(program: Program, called: dict[str, str]) -> Iterator[Control]:
    """Zeros, infinities, ties, huge and tiny numbers give way to 1, 2, 3; numbers that two inputs share are moved apart."""
    for name, recipe in program.inputs.items():
        if recipe.dtype in DISCRETE or recipe.structure is not None or not recipe.elements:
            continue
        what = _special(materialise(recipe))
        if what:
            counting = program.with_inputs({name: replace(recipe, values=COUNTING)})
            yield Control(f"{what} in `{called.get(name, name)}`", "at 1, 2, 3, …", counting)

    floating = {n: r for n, r in program.inputs.items() if r.dtype not in DISCRETE and r.structure is None and r.elements}
    for (one, mine), (other, theirs) in combinations(floating.items(), 2):
        numbers = materialise(theirs)
        if mine.shape == theirs.shape and (materialise(mine) == numbers).any():
            apart = Values("listed", (tuple((numbers + APART).ravel().tolist()),))
            words = f"where `{called.get(other, other)}` equals `{called.get(one, one)}`"
            yield Control(words, "where they differ", program.with_inputs({other: replace(theirs, values=apart)}))


def _special(numbers: Any) -> str:
    sizes = np.abs(numbers)
    if not np.isfinite(sizes).all():
        return "at an infinity"
    if (sizes == 0).any():
        return "at a zero"
    if len(np.unique(numbers)) < numbers.size:
        return "at equal numbers"
    return "at large numbers" if (sizes > LARGE).any() else "at tiny numbers" if (sizes < TINY).any() else ""


def _calls(program: Program) -> Iterator[tuple[int, Call]]:
    return ((n, s.value) for n, s in enumerate(program.statements) if isinstance(s.value, Call))


def _with(program: Program, position: int, call: Call) -> Program:
    """With another call there, and without inputs that nothing takes any more."""
    statements = [Let(s.names, call) if n == position else s for n, s in enumerate(program.statements)]
    changed = Program(tuple(statements))
    used = {node.name for node in changed.expressions() if isinstance(node, Ref)}
    return Program(tuple(s for s in statements if not isinstance(s.value, Tensor) or s.names[0] in used))
