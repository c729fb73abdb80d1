"""The smallest failing example: crop to the element at fault, then make numbers round. Candidates cost a few evaluations each.

What is taken here is not believed: the example is judged as a whole before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.same import mark
from gradfuzz.oracles.check import Examination
from gradfuzz.oracles.evidence.narrowing import Place, cheaply
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.model import DISCRETE, Program, Tensor, Values
from gradfuzz.program.values import materialise
from gradfuzz.testing.domain import kept
from gradfuzz.testing.function import FunctionTarget
from gradfuzz.testing.judging import Judge, Suspicion, opinion
from gradfuzz.testing.meter import Meter, Spent

# Of the 300 evaluations that a failing check may cost, so many find a smaller example; the judgement needs the rest.
EVALUATIONS = 100
THOROUGH = 2000
# A candidate is as wrong as the original if it is off by this part of what that was.
AS_WRONG = 0.1
# Arrays of more numbers are not made round: nobody reads them.
LISTED = 64

Shows = Callable[[Program], "Place | None"]


def smallest(
    target: FunctionTarget, judge: Judge, program: Program, suspicion: Suspicion, meter: Meter, thorough: bool
) -> tuple[Program, Place | None]:  # fmt: skip
    """A smaller Program on which the suspicion stands, as far as a few evaluations can tell; the same one where nothing is smaller.

    With it comes the element at fault in the original, where one is found.
    """
    search, place = _Search(target, judge, suspicion), None
    with meter.within(THOROUGH if thorough else EVALUATIONS, "making it smaller"):
        try:
            place = search.begin()
            return program if place is None else _shrunk(program, place, search.shows, _keeper(program, target)), place
        except Spent:
            return search.best or program, place


def smallest_error(target: FunctionTarget, judge: Judge, program: Program, wanted: Verdict, meter: Meter, thorough: bool) -> Program:
    """The same for what shows at a look (a mode that raises, an output that changes): there is no element to crop to."""
    keeps, best = _keeper(program, target), program

    def shows(candidate: Program) -> bool:
        found: Examination = judge.look(target, candidate)[0]
        return any(mark(v) == mark(wanted) for v in found.findings)

    with meter.within(THOROUGH if thorough else EVALUATIONS, "making it smaller"):
        try:
            changed = True
            while changed:
                changed = False
                for candidate in _halved(best):
                    if keeps(candidate) and _try(candidate, shows):
                        best, changed = candidate, True
                        break
        except Spent:
            pass
    return best


class _Search:
    """Looks at candidates along the direction that was suspected."""

    def __init__(self, target: FunctionTarget, judge: Judge, suspicion: Suspicion) -> None:
        self.target, self.judge, self.suspicion = target, judge, suspicion
        self.least = 0.0
        self.best: Program | None = None

    def begin(self) -> Place | None:
        """The element at fault; None where one difference cannot tell, as at a kink."""
        trial, order = self.suspicion.trial, self.suspicion.order
        case = self.suspicion.case()
        if case is None:
            return None
        spot = cheaply(case, trial.direction(order - 1), case.scenarios, set())
        if spot is None:
            return None
        self.least = AS_WRONG * spot[1]
        return spot[0]

    def shows(self, candidate: Program) -> Place | None:
        """Where a candidate is as wrong as the original was; None if nowhere."""
        trial = Trial(self.target.as_target, candidate, self.judge.options.salt)
        further = self.suspicion.trial.salt - self.judge.options.salt
        if further:
            trial = opinion(trial, further, range(len(trial.inputs)))
        case = self.suspicion.case(trial) if trial.outputs and trial.finite else None
        spot = None if case is None else cheaply(case, trial.direction(self.suspicion.order - 1), case.scenarios, set())
        if spot is None or spot[1] <= self.least:
            return None
        self.best = candidate
        return spot[0]


def _shrunk(program: Program, place: Place, shows: Shows, keeps: Callable[[Program], bool]) -> Program:
    """First crops, for as long as one is as wrong; then one pass over everything else."""
    found = True
    while found:
        found = False
        for candidate in _crops(program, place):
            where = _place(candidate, shows) if keeps(candidate) else None
            if where is not None:
                program, place, found = candidate, where, True
                break
    for candidates in (_fewer_axes, _fewer_moving, _rounder):
        for candidate in candidates(program):
            if keeps(candidate) and _place(candidate, shows) is not None:
                program = candidate
                break
    return program


def _place(candidate: Program, shows: Shows) -> Place | None:
    try:
        return shows(candidate.check())
    except (Spent, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the function does not take it
        return None


def _try(candidate: Program, shows: Callable[[Program], bool]) -> bool:
    try:
        return shows(candidate.check())
    except ProgramError:
        return False


def _keeper(program: Program, target: FunctionTarget) -> Callable[[Program], bool]:
    """Whether a candidate's numbers are of the kind that the original's are, and inside the domain where one was given."""
    rules = {name: kept(materialise(recipe)) for name, recipe in program.inputs.items()}

    def keeps(candidate: Program) -> bool:
        arrays = {name: materialise(recipe) for name, recipe in candidate.inputs.items()}
        domain = target.subject.domain
        return all(rules[name](array) for name, array in arrays.items()) and (domain is None or domain(list(arrays.values())))

    return keeps


def _crops(program: Program, place: Place) -> Iterator[Program]:
    """Axes cut down to the place of the element, with whatever is broadcast against it, and then alone."""
    moving = [name for name, recipe in program.inputs.items() if recipe.differentiable]
    name = moving[place[0]]
    shape = program.inputs[name].shape
    index = np.unravel_index(place[1], shape) if shape else ()
    square = program.inputs[name].structure is not None
    for axis, (where, size) in enumerate(zip(index, shape)):
        if size > 1 and not square:
            yield _crop(program, axis - len(shape), int(where), size)
            yield _crop(program, axis - len(shape), int(where), size, only=name)


def _crop(program: Program, from_right: int, place: int, size: int, only: str | None = None) -> Program:
    changes = {}
    for name, recipe in program.inputs.items():
        fits = len(recipe.shape) >= -from_right and recipe.shape[from_right] == size
        if (only is None or name == only) and fits and recipe.structure is None:
            changes[name] = _holding(recipe, np.take(materialise(recipe), [place], axis=from_right))
    return program.with_inputs(changes)


def _halved(program: Program) -> Iterator[Program]:
    """Every size cut to one or to its half, in all inputs that have it; then rounder numbers."""
    sizes = sorted({n for r in program.inputs.values() if r.structure is None for n in r.shape if n > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, size // 2)):
            changes = {}
            for name, recipe in program.inputs.items():
                if size in recipe.shape and recipe.structure is None:
                    cut = materialise(recipe)[tuple(slice(0, smaller if n == size else n) for n in recipe.shape)]
                    changes[name] = _holding(recipe, cut)
            yield program.with_inputs(changes)
    yield from _rounder(program)


def _fewer_axes(program: Program) -> Iterator[Program]:
    """All inputs without their leading axes of length one, as many as can go."""
    recipes = [r for r in program.inputs.values() if r.structure is None]
    most = max((len(r.shape) for r in recipes), default=0)
    for axes in range(most):
        changes = {}
        for name, recipe in program.inputs.items():
            array = materialise(recipe)
            while recipe.structure is None and array.ndim > axes and array.shape[0] == 1:
                array = array[0]
            if array.shape != recipe.shape:
                changes[name] = _holding(recipe, array)
        if changes:
            yield program.with_inputs(changes)


def _fewer_moving(program: Program) -> Iterator[Program]:
    """One input alone is differentiated."""
    moving = [name for name, recipe in program.inputs.items() if recipe.differentiable]
    for name in moving if len(moving) > 1 else ():
        yield program.with_inputs({n: replace(program.inputs[n], grad=n == name) for n in moving})


def _rounder(program: Program) -> Iterator[Program]:
    """All numbers with fewer digits; one for each, or few digits at most."""
    for change in (_ones, *(_digits(k) for k in (0, 1, 2))):
        changes = {}
        for name, recipe in program.inputs.items():
            if recipe.dtype in DISCRETE or recipe.structure is not None or not 0 < recipe.elements <= LISTED:
                continue
            array = materialise(recipe)
            if array.dtype.kind == "f" and np.isfinite(array).all() and not np.array_equal(change(array), array):
                changes[name] = _holding(recipe, change(array))
        if changes:
            yield program.with_inputs(changes)


def _ones(array: Any) -> Any:
    return np.ones_like(array) if array.size == 1 else _digits(0)(array)


def _digits(count: int) -> Callable[[Any], Any]:
    """So many significant digits after the first."""
    return lambda array: np.array([float(f"{x:.{count}e}") for x in array.ravel()]).reshape(array.shape)


def _holding(recipe: Tensor, array: Any) -> Tensor:
    return replace(recipe, shape=array.shape, values=Values("listed", (tuple(array.ravel().tolist()),)))
