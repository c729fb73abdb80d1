"""What rounding does: to the inputs, all of them, and inside a function, whose runs at points close by scatter about a smooth curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Callable

import numpy as np

from gradfuzz.numdiff.ladder import SMALLEST, TOO_NOISY, noise_level
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.program.model import Program, Values
from gradfuzz.program.values import materialise, project
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import DIRECT, Scenario

Array = Any
Numbers = Callable[[float], Array]

# Inputs are moved by so many units, in so many patterns of signs and to both sides.
UNITS = (1.0, 2.0, 4.0)
PATTERNS = 2
# Inputs that are not differentiated move too, unless they have more elements than this.
MOST_FIXED = 4096
# A slope may be read off a step at which rounding and truncation are this part of what is disputed.
CLEAR = 0.1
# An error of one evaluation is one-sigma-like; a kernel against another differs by two of them, in the worst of many components.
SCATTER_BARS = 8.0


class Rounded:
    """The same Program with its inputs rounded otherwise, those that are not differentiated included."""

    def __init__(self, trial: Trial, pattern: int, units: float, lift: float = 1.0) -> None:
        """Raises what the library does where a fixed input may not be moved. `lift`: a factor for the weights of the outputs."""
        jitter = zip(trial.jitter(pattern + 1).arrays, trial.inputs)
        self._moved = [_by_units(units * trial.epsilon * j, units, x, units * j < 0) for j, x in jitter]
        moved = _fixed_moved(trial, pattern, units)
        self._trial = trial if moved is None else Trial(trial.target, moved, trial.salt, trial.inputs, trial.effort)
        self._v = Vec([np.asarray(lift * w) for w in trial.v.arrays])

    def components(self, scenario: Scenario, us: Sequence[Vec], along: Vec, t: float) -> Array:
        """The weighted components of a scenario at t·along from here."""
        step = Vec([np.asarray(t * d + moved) for d, moved in zip(along.arrays, self._moved)])
        return self._trial.components(self._trial.attempt(scenario, us, step, 1.0, self._v), self._v)


def _by_units(moved: Array, units: float, x: Array, back: Array) -> Array:
    """A move by a few units. Below the normal numbers one unit is the same for all, and 5e-324 is known to no better than itself; it is
    moved away from zero, which no rounding crosses. What would move `back` moves twice as far instead: else equal numbers would stay equal,
    and what cancels between them would be steady."""
    away = np.where(back, 2 * units, units) * SMALLEST
    return np.where((moved == 0) & (x != 0), np.copysign(away, np.real(x)), moved)


def _fixed_moved(trial: Trial, pattern: int, units: float) -> Program | None:
    """The Program with what is not differentiated moved by so many units; None where nothing is there to move."""
    rng = np.random.default_rng(pattern)
    moved = {}
    for name, recipe in trial.program.inputs.items():
        if recipe.differentiable or recipe.discrete or recipe.structure == "constant" or not 0 < recipe.elements <= MOST_FIXED:
            continue
        numbers = materialise(recipe)
        signs = np.sign(project(rng.standard_normal(recipe.shape), recipe.kept))
        numbers = numbers.astype(np.complex128 if numbers.dtype.kind == "c" else np.float64)
        numbers = numbers + _by_units(units * trial.epsilon * np.abs(numbers) * signs, units, numbers, units * signs < 0)
        moved[name] = replace(recipe, values=Values("listed", (tuple(numbers.ravel().tolist()),)))
    return trial.program.with_inputs(moved) if moved else None


def slope_spread(line: Line, gap: float) -> float:
    """How far the slope along a line moves from one rounding of the inputs to the next; 0 where no step shows it clearly.

    Neighbours are held against each other, never against the point itself: a tie that any rounding breaks moves them all alike.
    """
    numeric = line.numeric
    # Of the steps that see neither rounding nor truncation the longest: at another rounding the function may be blurred more.
    clear = [t for t, slope, floor in numeric.steps if max(floor, abs(slope - numeric.value)) <= CLEAR * gap]
    if not clear:
        return 0.0
    step, spread = max(clear), 0.0
    for pattern, sign in product(range(min(PATTERNS, line.trial.effort.reruns)), (1.0, -1.0)):
        found = [s for s in _slopes(line, pattern, sign, step) if np.isfinite(s)]
        spread = max(spread, max(found, default=0.0) - min(found, default=0.0))
    return spread


def _slopes(line: Line, pattern: int, sign: float, step: float) -> Iterator[float]:
    for at in rounded_lines(line, pattern, sign):
        ahead, behind = at(step), at(-step)
        if ahead.shape == behind.shape:
            yield float((ahead - behind).sum()) / (2 * step)


def rounded_lines(line: Line, pattern: int = 0, sign: float = 1.0, lift: float = 1.0) -> Iterator[Numbers]:
    """The line at other roundings of all inputs, those that it does not move included."""
    us = line.trial.directions(line.base.order)
    for units in UNITS:
        try:
            there = Rounded(line.trial, pattern, sign * units, lift)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # outside the domain, most likely
            line.trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
            continue
        yield partial(there.components, line.base, us, line.along)


def output_scatter(trial: Trial) -> float:
    """By which part of the largest output a run may be off: inputs that differ by a millionth of a millionth lie on a smooth curve.

    A root of a thousandth power amplifies one rounding inside the function a thousandfold, which no rounding of its inputs shows.
    """
    scales = [float(np.abs(o[np.isfinite(o)]).max(initial=0.0)) or 1.0 for o in trial.direct]
    along = trial.jitter(0)

    def relative(outputs: Sequence[Array]) -> Array:
        parts = [np.asarray(o, np.complex128 if o.dtype.kind == "c" else np.float64).ravel() / s for o, s in zip(outputs, scales)]
        return np.concatenate([np.concatenate([p.real, p.imag]) if p.dtype.kind == "c" else p for p in parts] or [np.zeros(0)])

    def at(t: float) -> Array:
        return _or_nan(trial.attempt(DIRECT, (), along, t), lambda outcome: relative(outcome.outputs))

    return _scatter(trial, at, relative(trial.direct), 1.0)


def number_scatter(trial: Trial, scenario: Scenario, number: float) -> float:
    """The same of the number that a scenario gives."""
    us, along = trial.directions(scenario.order), trial.jitter(0)

    def at(t: float) -> Array:
        return _or_nan(trial.attempt(scenario, us, along, t), lambda outcome: np.array([trial.number(outcome)]))

    return _scatter(trial, at, np.array([number]), abs(number))


def _or_nan(outcome: Outcome | Refusal, read: Callable[[Outcome], Array]) -> Array:
    return read(outcome) if isinstance(outcome, Outcome) else np.array([np.nan])


def _scatter(trial: Trial, at: Numbers, here: Array, size: float) -> float:
    """Several errors of one evaluation; nothing where what moves is no rounding, or where the function changes its shape."""
    stretch = (trial.epsilon / DOUBLE_UNIT) ** 0.5  # the coarser the type, the longer the steps that it can tell apart
    with np.errstate(all="ignore"):
        try:
            noise = float(noise_level(at, here, stretch).max(initial=0.0))
        except ValueError:
            return 0.0
    return SCATTER_BARS * noise if noise <= TOO_NOISY * stretch * size else 0.0
