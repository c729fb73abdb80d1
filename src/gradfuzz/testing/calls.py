"""A function fuzzed by calls that were heard of it, in this process: for libraries that campaigns do not know."""

from __future__ import annotations

import functools
import random
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.mutate.draw import draw_edits
from gradfuzz.mutate.edits import apply_all
from gradfuzz.program.model import Call, Let, Program, Ref
from gradfuzz.program.values import materialise
from gradfuzz.testing.check import GradientMismatch, InconclusiveWarning, check_gradients
from gradfuzz.testing.modules import NOT_CHECKED, RIGHT, UNKNOWN, WRONG, Line

# Mutants of one function: about what its turn in a short campaign would bring.
MUTANTS = 40
# Edits of numbers and sizes. Types, layouts and what is differentiated mean nothing for plain arrays in double precision.
KINDS = ("values", "size", "shape", "batch", "unbatch")


def fuzz_calls(
    name: str, function: Callable[..., Any], calls: Sequence[Program], library: str, order: int = 2, seconds: float = 30.0, seed: int = 0
) -> Line:
    """Check a function at every call that was heard of it, then at mutants of those; the first that is wrong ends it.

    A mutant that the function itself refuses is no concern of its derivative's, and is left out.
    """
    rng, end, judged, unsettled, evaluations = random.Random(seed), time.monotonic() + seconds, 0, "", 0
    for k in range(len(calls) + MUTANTS):
        left = end - time.monotonic()
        if left <= 0:
            break
        program = calls[k] if k < len(calls) else mutant(rng.choice(list(calls)), rng)
        arguments, named, differentiated = arguments_of(program)
        called = functools.partial(function, **named) if named else function
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InconclusiveWarning)
                found = check_gradients(called, *arguments, wrt=differentiated, library=library, order=order, seconds=left)
        except GradientMismatch as error:
            return Line(name, WRONG, evaluations + error.evaluations, str(error).splitlines()[2].strip(), error)
        except GradfuzzError as error:
            unsettled = unsettled or str(error)
            continue
        evaluations += found.evaluations
        judged += found.conclusive
        unsettled = unsettled or "; ".join(found.reasons)
    if judged:
        return Line(name, RIGHT, evaluations, f"{judged} calls")
    return Line(name, UNKNOWN if evaluations else NOT_CHECKED, evaluations, unsettled or "no time was left")


def mutant(program: Program, rng: random.Random) -> Program:
    """The call with other numbers, and perhaps of another size."""
    edits = [edit for edit in draw_edits(program, rng) if edit.kind in KINDS]
    return apply_all(program, edits)


def arguments_of(program: Program) -> tuple[list[Any], dict[str, Any], list[int]]:
    """The last call's arguments by place and by name, and the places that are differentiated."""
    let = program.statements[-1]
    assert isinstance(let, Let)
    call = let.value
    assert isinstance(call, Call)
    recipes = program.inputs

    def made(part: Any) -> Any:
        if isinstance(part, Ref):
            return materialise(recipes[part.name]).copy()
        return type(part)(made(p) for p in part) if isinstance(part, (list, tuple)) else part

    places = [k for k, part in enumerate(call.args) if isinstance(part, Ref) and recipes[part.name].differentiable]
    return [made(part) for part in call.args], {name: made(part) for name, part in call.kwargs}, places
