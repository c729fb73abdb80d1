"""Under which circumstances a finding shows, read off its inputs and arguments: is this what people compute with?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gradfuzz.bugs.names import names_of
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import CRASH, INTERNAL, STATUS
from gradfuzz.program.model import COMPLEXES, DISCRETE, FLOATS, Call, Name, Program, Ref, Tensor, walk
from gradfuzz.program.values import materialise

# Numbers that people compute with have sizes between these; zero has no size and is looked at by itself.
SMALLEST, LARGEST = 1e-3, 1e3
# Numbers beyond this, or below its inverse, are met in no data: squares of what single precision has digits for.
FARTHEST = 1e12
# Options are often tolerances: what is smaller than any of these, or larger than an ordinary number squared, is out of the ordinary.
SMALLEST_OPTION, LARGEST_OPTION = 1e-12, 1e6
# Integers of these types are indices and masks in their own right; narrower ones beside floating numbers are a mix of types.
INDEX_TYPES = ("int64", "int32", "bool")
PLAIN_INTEGERS = ("int64", "int32")
# Views that are made on purpose or by few functions; what is merely strided or transposed is everywhere.
VIEWS = ("negated", "conjugated", "expanded")
HALVES = ("float16", "bfloat16")
# Parameters that say how close is close enough: results jump with them, or do not move at all, and nobody fits them.
TOLERANCES = ("atol", "rtol", "tol", "rcond")
# These, and what keeps a quotient away from zero, are small. One that must be larger than this to show a bug has ordinary numbers
# within its reach.
GUARDS, LARGEST_GUARD = (*TOLERANCES, "eps", "epsilon"), 1e-2
# Parameters that say where the parts of something begin, one after the other.
BEGINNINGS = ("offsets", "splits", "row_splits", "crow_indices", "ccol_indices")
# How libraries complain about nothing, about types, and about an index.
_ABOUT_EMPTY = re.compile(
    r"\bnon.?zero (size|dim|element|length)|\bempty\b|\bzero.(size|element|dim)|\bat least (one|1) element", re.IGNORECASE
)
_ABOUT_TYPES = re.compile(r"\bd?types?\b|\bcast\b", re.IGNORECASE)
# Python's own complaint about an index is about a list of whoever wrote the formula, not about an argument; that memory is too small for
# a view is about how a tensor lies in it.
_ABOUT_INDEX = re.compile(
    r"(?<!list index )(?<!tuple index )(?<!pop index )\bout of (range|bounds)\b(?! for storage)|\bindex\W+(>=|<|&&)", re.IGNORECASE
)


# Functions whose first number, and parameters whose value is the order of a norm, which may be infinite. Layers that normalise have none.
_NORMS = re.compile(r"(?:\.|vector_|matrix_|\.re)norm(?:alize)?_?$|dist(?:ance)?_?$|\bcond$|lp_?pool", re.IGNORECASE)
_ORDERS = re.compile(r"^p$|^ord$|norm_type", re.IGNORECASE)
# A root of a higher order than its inverse overflows at ordinary numbers; and of a pool or a distance no order is negative.
SMALLEST_NORM = 0.1
_NOT_NEGATIVE = re.compile(r"pool|dist", re.IGNORECASE)


@dataclass(frozen=True)
class Circumstances:
    """What is out of the ordinary about a finding's inputs; everything false and empty: nothing."""

    empty: bool = False  # a tensor without elements
    nan: bool = False  # among the inputs or the options
    index: bool = False  # an index or a label that is out of range
    backwards: str = ""  # an argument by which a part begins before the one that it comes after
    mixed: tuple[str, ...] = ()  # more than one floating type, or narrow integers beside one
    narrow: bool = False  # narrow integers or half precision are among these
    whole: bool = False  # the library complains about types, and integers are asked for, or truth values are numbers
    discards: bool = False  # complex numbers are asked for as real ones
    low: str = ""  # the lower precision that it shows in
    infinite: bool = False
    extreme: bool = False  # numbers that are huge or tiny
    huge: bool = False  # and none is tiny
    far: int = 0  # and how much so: 0 where people are, 1 where some get to, 2 where nobody does
    special: bool = False  # all that is differentiated is exactly zero, or infinite
    zeros: bool = False  # zeros or equal numbers are among the inputs, or in the same place of two: points that functions are special at
    option: str = ""  # an argument that is huge or tiny
    guard: str = ""  # a tolerance, or what keeps a quotient away from zero, that numbers of order one are not large beside
    nothing: bool = False  # an argument is exactly zero, and it is no whole number, which counts
    endless: bool = False  # an argument is infinite
    norm: bool = False  # and may well be: every one that is, is the order of a norm
    twice: bool = False  # one tensor is passed twice to a call
    tolerance: bool = False  # what is differentiated is given as a tolerance
    view: str = ""  # a layout that few tensors have, and without which it does not show
    internal: bool = False
    operator: bool = False  # internal, and behind what people can name
    deprecated: bool = False


def circumstances(finding: Finding) -> Circumstances:
    """Read off what a finding is about. Data of a stranger's that makes no numbers is taken as ordinary.

    What shows at ordinary neighbours does not hang on the inputs of its smallest example, and these are left out then.
    """
    program = finding.program
    inputs = {} if finding.ordinary else program.inputs
    numbers = {name: _numbers(recipe) for name, recipe in inputs.items()}
    # Whole numbers are the same at all neighbours.
    whole = np.abs(np.concatenate([_numbers(r).astype(np.float64).ravel() for r in program.inputs.values() if r.discrete] or [np.zeros(1)]))
    floating = [n for name, n in numbers.items() if inputs[name].dtype not in DISCRETE]
    moving = [n for name, n in numbers.items() if inputs[name].differentiable and n.size] or floating
    options = list(_options(program))
    said = f"{finding.verdict.symptom} {finding.verdict.actual}" if finding.kind in (STATUS, INTERNAL, CRASH) else ""
    sizes = np.abs(np.concatenate([n.ravel() for n in floating if n.size] or [np.zeros(1)]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)].astype(np.float64)
    names = names_of(finding.target)
    return Circumstances(
        empty=finding.empty or any(recipe.elements == 0 for recipe in inputs.values()) or bool(_ABOUT_EMPTY.search(said)),
        nan=any(bool(np.isnan(n).any()) for n in floating) or any(o != o for o, _, _ in options),
        index=bool(_ABOUT_INDEX.search(said)) or (finding.kind == CRASH and _beyond(inputs, numbers)),  # a death says nothing
        backwards=next(_backwards(program), ""),
        mixed=mixed_types(inputs),
        narrow=any(t in DISCRETE or t in HALVES for t in mixed_types(inputs)),
        whole=bool(_ABOUT_TYPES.search(said)) and (_asks_for_integers(finding) or _odd_numbers(program.inputs)),
        discards=_discards(finding),
        low=_low(inputs),
        infinite=any(bool(np.isinf(n).any()) for n in floating),
        extreme=bool(((sizes < SMALLEST) | (sizes > LARGEST)).any()) or bool((whole > FARTHEST).any()),
        huge=bool((sizes > LARGEST).any()) and not bool((sizes < SMALLEST).any()),
        far=2 if bool((whole > FARTHEST).any()) else sum(bool(((sizes < 1 / b) | (sizes > b)).any()) for b in (LARGEST, FARTHEST)),
        special=bool(moving) and all(bool(((n == 0) | np.isinf(n)).all()) for n in moving),
        zeros=any(bool((n == 0).any()) or len(np.unique(n)) < n.size for n in floating) or _meet(floating),
        option=next((str(o) for o, call, order in options if _odd(o) or (order and _odd_order(o, call))), ""),
        guard=next((f"{name} of {value:g}" for name, value in _guards(program) if value > LARGEST_GUARD), ""),
        nothing=any(isinstance(o, float) and o == 0 for o, _, _ in options),
        endless=any(np.isinf(o) for o, _, _ in options),
        norm=all(order for o, _, order in options if np.isinf(o)),
        twice=any(len(set(names)) < len(names) for names in map(_passed, program.calls())),
        tolerance=any(program.inputs[name].differentiable for name in _tolerances(program)),
        view=next((recipe.layout for recipe in program.inputs.values() if recipe.layout in VIEWS), ""),
        internal=names.is_internal(finding.api),
        operator=names.is_operator(finding.api),
        deprecated=names.is_deprecated(finding.api) or any(names.way(s.way).deprecated for s in finding.verdict.scenarios if s.way),
    )


def _meet(inputs: Sequence[Any]) -> bool:
    """Whether two inputs are equal somewhere."""
    return any(a.shape == b.shape and bool((a == b).any()) for a, b in combinations(inputs, 2))


def _passed(call: Call) -> list[str]:
    """The tensors that are a call's arguments."""
    return [a.name for a in (*call.args, *(value for _, value in call.kwargs)) if isinstance(a, Ref)]


def _tolerances(program: Program) -> Iterator[str]:
    """The inputs that are given as tolerances; what was computed from one may well be a number that belongs there."""
    for call in program.calls():
        yield from (v.name for name, v in call.kwargs if name in TOLERANCES and isinstance(v, Ref) and v.name in program.inputs)


def _guards(program: Program) -> Iterator[tuple[str, float]]:
    """Tolerances and their like that calls are given as numbers."""
    return ((name, v) for call in program.calls() for name, v in call.kwargs if name in GUARDS and isinstance(v, float) and np.isfinite(v))


def _backwards(program: Program) -> Iterator[str]:
    """The parameters that are given beginnings which go back."""
    for call in program.calls():
        given = ((n, program.inputs[v.name]) for n, v in call.kwargs if isinstance(v, Ref) and n in BEGINNINGS and v.name in program.inputs)
        yield from (n for n, recipe in given if recipe.discrete and bool((np.diff(_numbers(recipe).astype(np.float64).ravel()) < 0).any()))


def _numbers(recipe: Tensor) -> Any:
    try:
        return materialise(recipe)
    except Exception:  # a stranger's recipe may raise anything; a finding is shown all the same
        return np.ones(recipe.shape if recipe.elements else (0,))


def mixed_types(inputs: Mapping[str, Tensor]) -> tuple[str, ...]:
    """More than one floating type, or narrow integers beside one."""
    types = {recipe.dtype for recipe in inputs.values()}
    floating = sorted(types & {*FLOATS, *COMPLEXES})
    narrow = sorted(types & {*DISCRETE} - {*INDEX_TYPES})
    return tuple(floating + narrow) if len(floating) > 1 or (floating and narrow) else ()


def _asks_for_integers(finding: Finding) -> bool:
    """Whether the API is told to answer in integers, which have no derivative."""
    return not _asked_types(finding).isdisjoint(DISCRETE)


def _discards(finding: Finding) -> bool:
    """Whether complex numbers are asked for as real ones, which drops half of them and which libraries warn of."""
    return finding.is_complex and not _asked_types(finding).isdisjoint(FLOATS)


def _asked_types(finding: Finding) -> set[str]:
    """The types that the API is told to answer in."""
    calls = [call for call in finding.program.calls() if call.func == finding.api]
    given = [value for call in calls for value in (*call.args, *(v for _, v in call.kwargs)) if isinstance(value, Name)]
    return {name.path.rsplit(".", 1)[-1] for name in given}


def _odd_numbers(inputs: Mapping[str, Tensor]) -> bool:
    """Whether truth values or narrow integers, to whoever made the Program no mask and no index, stand beside floating numbers.

    Plain integers are what many a loss is given as its target.
    """
    odd = [recipe for recipe in inputs.values() if recipe.discrete and recipe.grad and recipe.dtype not in PLAIN_INTEGERS]
    return bool(odd) and any(recipe.differentiable for recipe in inputs.values())


def _low(inputs: Mapping[str, Tensor]) -> str:
    types = {recipe.dtype for recipe in inputs.values() if recipe.dtype not in DISCRETE}
    return next((t for t in sorted(types) if t not in ("float64", "complex128")), "") if len(types) == 1 else ""


def _beyond(inputs: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> bool:
    """Whether an integer is larger than any index into any of the tensors, or into as many as they have together."""
    most = sum(recipe.elements for recipe in inputs.values() if recipe.dtype not in DISCRETE)
    integers = [numbers[name] for name, recipe in inputs.items() if recipe.dtype in INDEX_TYPES and recipe.dtype != "bool"]
    return any(n.size and (int(n.max()) > most or int(n.min()) < -most) for n in integers)


def _options(program: Program) -> Iterator[tuple[Any, str, bool]]:
    """Numbers among the arguments of calls, of which function, and whether each is the order of a norm."""
    for call in program.calls():
        first = bool(_NORMS.search(call.func))  # whether the first number that is met is an order
        for name, argument in (*(("", a) for a in call.args), *call.kwargs):
            for node in () if isinstance(argument, Call) else walk(argument):
                if isinstance(node, (int, float)) and not isinstance(node, bool) and _small(node):
                    yield node, call.func, bool(_ORDERS.search(name)) if name else first
                    first = False


def _small(option: float) -> bool:
    """Whether it fits into a double: integers of Python do not end."""
    return isinstance(option, float) or abs(option) < 1 << 63


def _odd(option: float) -> bool:
    return bool(np.isfinite(option)) and (abs(option) > LARGEST_OPTION or 0 < abs(option) < SMALLEST_OPTION)


def _odd_order(option: float, func: str) -> bool:
    """Whether hardly anybody takes such a norm."""
    return 0 < abs(option) < SMALLEST_NORM or (option < 0 and bool(_NOT_NEGATIVE.search(func)))
