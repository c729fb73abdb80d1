"""Under which circumstances a finding shows, read off its inputs and arguments: is this what people compute with?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.bugs.names import names_of
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import CRASH, INTERNAL, STATUS
from gradfuzz.program.model import COMPLEXES, DISCRETE, FLOATS, Call, Program, Ref, Tensor, walk
from gradfuzz.program.values import materialise

# Numbers that people compute with have sizes between these; zero has no size and is looked at by itself.
SMALLEST, LARGEST = 1e-3, 1e3
# Options are often tolerances: what is smaller than any of these, or larger than an ordinary number squared, is out of the ordinary.
SMALLEST_OPTION, LARGEST_OPTION = 1e-12, 1e6
# Integers of these types are indices and masks in their own right; narrower ones beside floating numbers are a mix of types.
INDEX_TYPES = ("int64", "int32", "bool")
# Views that are made on purpose or by few functions; what is merely strided or transposed is everywhere.
VIEWS = ("negated", "conjugated", "expanded")
HALVES = ("float16", "bfloat16")
# How libraries complain about nothing, and about an index.
_ABOUT_EMPTY = re.compile(
    r"\bnon.?zero (size|dim|element|length)|\bempty\b|\bzero.(size|element|dim)|\bat least (one|1) element", re.IGNORECASE
)
_ABOUT_INDEX = re.compile(r"\bout of (range|bounds)\b|\bindex\W+(>=|<|&&)", re.IGNORECASE)


# Functions and parameters that take the order of a norm, which may be infinite.
_NORM = re.compile(r"norm|dist|cond\b|^p$|^ord$", re.IGNORECASE)


@dataclass(frozen=True)
class Circumstances:
    """What is out of the ordinary about a finding's inputs; everything false and empty: nothing."""

    empty: bool = False  # a tensor without elements
    nan: bool = False  # among the inputs or the options
    index: bool = False  # an index or a label that is out of range
    mixed: tuple[str, ...] = ()  # more than one floating type, or narrow integers beside one
    narrow: bool = False  # narrow integers or half precision are among these
    low: str = ""  # the lower precision that it shows in
    infinite: bool = False
    extreme: bool = False  # numbers that are huge or tiny
    special: bool = False  # all that is differentiated is exactly zero, or infinite
    zeros: bool = False  # zeros or equal numbers are among the inputs: points that functions are special at
    option: str = ""  # an argument that is huge or tiny
    endless: bool = False  # an argument is infinite
    norm: bool = False  # and may well be: the order of a norm
    twice: bool = False  # one tensor is passed twice to a call
    view: str = ""  # a layout that few tensors have, and without which it does not show
    internal: bool = False
    deprecated: bool = False


def circumstances(finding: Finding) -> Circumstances:
    """Read off what a finding is about. Data of a stranger's that makes no numbers is taken as ordinary.

    What shows at ordinary neighbours does not hang on the inputs of its smallest example, and these are left out then.
    """
    program = finding.program
    inputs = {} if finding.ordinary else program.inputs
    numbers = {name: _numbers(recipe) for name, recipe in inputs.items()}
    floating = [n for name, n in numbers.items() if inputs[name].dtype not in DISCRETE]
    moving = [n for name, n in numbers.items() if inputs[name].differentiable and n.size] or floating
    options = list(_options(program))
    said = f"{finding.verdict.symptom} {finding.verdict.actual}" if finding.kind in (STATUS, INTERNAL, CRASH) else ""
    sizes = np.abs(np.concatenate([n.ravel() for n in floating if n.size] or [np.zeros(1)]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    names = names_of(finding.target)
    return Circumstances(
        empty=finding.empty or any(recipe.elements == 0 for recipe in inputs.values()) or bool(_ABOUT_EMPTY.search(said)),
        nan=any(bool(np.isnan(n).any()) for n in floating) or any(o != o for o in options),
        index=bool(_ABOUT_INDEX.search(said)) or (finding.kind == CRASH and _beyond(inputs, numbers)),  # a death says nothing
        mixed=_mixed(inputs),
        narrow=any(t in DISCRETE or t in HALVES for t in _mixed(inputs)),
        low=_low(inputs),
        infinite=any(bool(np.isinf(n).any()) for n in floating),
        extreme=bool(((sizes < SMALLEST) | (sizes > LARGEST)).any()),
        special=bool(moving) and all(bool(((n == 0) | np.isinf(n)).all()) for n in moving),
        zeros=any(bool((n == 0).any()) or len(np.unique(n)) < n.size for n in floating),
        option=next((str(o) for o in options if _odd(o)), ""),
        endless=any(np.isinf(o) for o in options),
        norm=any(_NORM.search(word) for call in program.calls() for word in (call.func, *(name for name, _ in call.kwargs))),
        twice=any(len(set(names)) < len(names) for names in map(_passed, program.calls())),
        view=next((recipe.layout for recipe in program.inputs.values() if recipe.layout in VIEWS), ""),
        internal=names.is_internal(finding.api),
        deprecated=names.is_deprecated(finding.api),
    )


def _passed(call: Call) -> list[str]:
    """The tensors that are a call's arguments."""
    return [a.name for a in (*call.args, *(value for _, value in call.kwargs)) if isinstance(a, Ref)]


def _numbers(recipe: Tensor) -> Any:
    try:
        return materialise(recipe)
    except Exception:  # a stranger's recipe may raise anything; a finding is shown all the same
        return np.ones(recipe.shape if recipe.elements else (0,))


def _mixed(inputs: Mapping[str, Tensor]) -> tuple[str, ...]:
    """More than one floating type, or narrow integers beside one."""
    types = {recipe.dtype for recipe in inputs.values()}
    floating = sorted(types & {*FLOATS, *COMPLEXES})
    narrow = sorted(types & {*DISCRETE} - {*INDEX_TYPES})
    return tuple(floating + narrow) if len(floating) > 1 or (floating and narrow) else ()


def _low(inputs: Mapping[str, Tensor]) -> str:
    types = {recipe.dtype for recipe in inputs.values() if recipe.dtype not in DISCRETE}
    return next((t for t in sorted(types) if t not in ("float64", "complex128")), "") if len(types) == 1 else ""


def _beyond(inputs: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> bool:
    """Whether an integer is larger than any index into any of the tensors, or into as many as they have together."""
    most = sum(recipe.elements for recipe in inputs.values() if recipe.dtype not in DISCRETE)
    integers = [numbers[name] for name, recipe in inputs.items() if recipe.dtype in INDEX_TYPES and recipe.dtype != "bool"]
    return any(n.size and (int(n.max()) > most or int(n.min()) < -most) for n in integers)


def _options(program: Program) -> Iterator[Any]:
    """Numbers among the arguments of calls."""
    for call in program.calls():
        for argument in (*call.args, *(value for _, value in call.kwargs)):
            if not isinstance(argument, Call):
                yield from (
                    node for node in walk(argument) if isinstance(node, (int, float)) and not isinstance(node, bool) and _small(node)
                )


def _small(option: float) -> bool:
    """Whether it fits into a double: integers of Python do not end."""
    return isinstance(option, float) or abs(option) < 1 << 63


def _odd(option: float) -> bool:
    return bool(np.isfinite(option)) and (abs(option) > LARGEST_OPTION or 0 < abs(option) < SMALLEST_OPTION)
