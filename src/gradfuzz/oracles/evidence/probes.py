"""Probes: single questions to the function along a line, at steps of another size than the ladder's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from gradfuzz.numdiff.ladder import RATIO, SMALLEST
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.evidence.rounding import rounded_lines
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import DIRECT

Array = Any

# Around a kink, slopes are sampled this far off (in units of the inputs), and then nearer: there, what curvature alone spreads comes
# together.
NEARBY = (1e-4, 1e-7)
NEARBY_IN_SINGLE = (1e-1, 1e-2)  # nearer, single precision sees nothing
SINGLE_UNIT = 2.0**-23
# All inputs moved by so much of themselves: doubles move, and what is computed in single precision does not; and by so much, it does.
STEP_OF_DOUBLES, STEP_OF_SINGLES = 2.0**-36, 2.0**-14
# Finer than the ladder's, finer and finer.
TINY_STEPS = tuple(2.0**-k for k in (26, 30, 34, 38, 42, 46))
# The first step still moves every element by many units, the other is the ladder's finest: a pole may hide behind rounding at the first.
# Over a step many times as long a continuous function moves far more.
JUMP_STEPS = (2.0**-46, 2.0**-24)
JUMP_FACTORS = (2.0**8, 2.0**2, 2.0**5)
NOISE = 256.0
# Steps from zero may be far shorter than any from elsewhere.
STEPS_FROM_ZERO = tuple(2.0**-k for k in (60, 90, 130, 180, 250, 330))
# Units in the last place: at 1e15 a remainder has a few of them between two jumps.
ULPS = (1, 2, 3, 4, 6, 8)
# Steps of an element in proportion to itself: over a thousandth a function moves far more than over its last places.
OWN_STEPS = (2.0**-10, 2.0**-14, 2.0**-18)
FRAYED = 0.1
# No weight is below the one, and nothing may exceed the other.
LIFT, LARGEST = 2.0**64, 1e290
# Where a function begins to move is looked for between these steps, from the finest on, and then to this part of itself.
TREAD_STEPS = tuple(2.0**k for k in (*range(-24, 3, 2), 8, 20, 40, 60, 80, *range(100, 331, 23)))
TREAD_KNOWN = 1.001
# What has a bend there moves over half as much again five hundred times as far as over that part.
FURTHER, JUMPED = 1.5, 0.1
# A slope nearby that rounding may have moved by more than this part of the gap says nothing about a tie.
BLURRED = 0.1
# From rung to rung the slopes of a cusp grow by more than this: those of |x|**0.99 do.
# At the element itself they may be larger than where they were seen last by so much more.
STEEPENING_RUNGS, STEEPER = 5, 1.005
CUSP = 4.0
# A direction that is shorter than others by more than this is stepped along as far as these.
MUCH_LONGER = 1e3
# What truncation does falls 256-fold from the one step to the other; a lack of additivity stays.
ADDED_STEPS, STAYS = (2.0**-10, 2.0**-14), 0.2
# A line whose slope changes by more than this from the one step to the other is not straight enough to tell.
STRAIGHT = 1e-2
# A lack that matters is as large as what is disputed, or nearly.
SHARE = 0.1
# Slopes that grow by this over NEARBY have no bound; a few points show it. So does what grows as much over the second half of so many
# halvings of the way from one of these points to the next: a root or a jump does, a bend does not.
GROWS, FEW = 10.0, 12
HALVINGS = 20


@dataclass(frozen=True)
class Slope:
    """A difference quotient and what rounding of the function may have done to it; whether its step could be seen at all; how many units
    in the last place it was, if so few."""

    value: float
    noise: float
    seen: bool = True
    units: int = 0


def slopes(line: Line, steps: Iterable[float], components: Array | None = None) -> list[Slope]:
    """Central differences at these steps, of some components alone; those where the function changes its shape are left out."""
    found = []
    with np.errstate(all="ignore"):
        wanted = ... if components is None else components
        size = float(np.abs(line.at(0.0))[line.moving if components is None else components & line.moving].sum())
        reach, lost = _reach(line), _lost(line)
        for t in steps:
            plus, minus = line.at(t), line.at(-t)
            if t != 0.0 and plus.shape == minus.shape:
                slope = float((plus - minus)[wanted].sum()) / (2 * t)
                # The ends of the step are rounded as well as what the function gives there. A step that moves another component is none
                # that vanishes.
                seen = abs(t) >= lost or not np.array_equal(plus, minus)
                found.append(Slope(slope, (4 * DOUBLE_UNIT * (size + reach * abs(slope)) + SMALLEST) / t, seen))
    return found


def are_additive(both: Line, one: Line, other: Line, gap: float) -> bool:
    """Whether the slope along the sum of two directions is the sum of theirs, as that of a function with a derivative is, up to what is
    disputed; also where the lines are not straight enough to tell."""
    told = [slopes(line, ADDED_STEPS) for line in (both, one, other)]
    if not all(len(t) == len(ADDED_STEPS) and abs(t[0].value - t[1].value) <= STRAIGHT * abs(t[1].value) + t[1].noise for t in told):
        return True
    first, last = (total.value - a.value - b.value for total, a, b in zip(*told))
    noise = sum(t[1].noise for t in told)
    return bool(abs(first - last) > STAYS * abs(last) or abs(last) <= noise + SHARE * gap)


def borne_out(found: Sequence[Slope], number: float, gap: float) -> bool:
    """Whether slopes at finer and finer steps are what AD says, where the ladder's longer ones are off by this gap.

    By chance truncation makes one step say what AD does: a feature is seen by the next finer one as well, or at the finest, unless finer
    ones move nothing: then that one is the height of a stair.
    """
    told = [s for s in found if s.seen and s.noise < 0.1 * gap]
    near = [abs(s.value - number) <= 0.2 * gap for s in told]
    return any(here and finer for here, finer in zip(near, [*near[1:], all(s.seen for s in found)]))


def _lost(line: Line) -> float:
    """Steps below this may vanish beside another input or a constant of order one: where they move nothing, nothing was seen."""
    largest = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in line.trial.inputs), default=0.0)
    longest = max((float(np.abs(d).max(initial=0.0)) for d in line.along.arrays), default=0.0)
    return 4 * DOUBLE_UNIT * max(1.0, largest) / longest if longest else 0.0


def _reach(line: Line) -> float:
    """How large the elements that move are, in units of how far they do."""
    moved = [(np.abs(x)[d != 0], np.abs(d)[d != 0]) for x, d in zip(line.trial.inputs, line.along.arrays)]
    return max((float((x / d).max()) for x, d in moved if d.size), default=0.0)


def ulp_slopes(suspect: Suspect) -> list[Slope]:
    """Differences to both sides over 1 to 8 units in the last place of an element; none for complex numbers, zeros and denormals."""
    value, step = suspect.value, suspect.step
    if np.iscomplexobj(value) or not np.isfinite(value) or abs(value) < 1e-290 or step == 0.0:
        return []
    unit = float(np.spacing(np.abs(np.float64(value)))) * (suspect.trial.epsilon / DOUBLE_UNIT)
    line, found = suspect.line, []
    with np.errstate(all="ignore"):
        here = line.at(0.0)
        for units, sign in itertools.product(ULPS, (1, -1)):
            t = sign * units * unit / step
            if t == 0.0:  # a unit of 1e-306 along a direction of 1e20
                continue
            there = line.at(t)
            if there.shape != here.shape:
                continue
            size = max(float((np.abs(here) + np.abs(there))[line.moving].sum()), line.terms)
            noise = (2 * line.epsilon * size + SMALLEST * here.size) / abs(t)
            found.append(Slope(float((there - here).sum()) / t, noise, units=units))
    return [s for s in found if np.isfinite(s.value)]


def frayed(suspect: Suspect) -> bool:
    """Whether the function moves as far over an element's last places as over a thousandth of it, and AD says farther still.

    Stairs or waves finer than any number that could be stepped to: a remainder of 3 by 1e-30. A function that is only noise has no AD
    that promises more over one unit than all it does. One that rests may show its stairs once the inputs are rounded otherwise: by
    5e-324, of which all numbers are multiples, every remainder is zero.
    """
    if np.iscomplexobj(suspect.value) or not np.isfinite(suspect.value) or abs(suspect.value) < 1e-290 or suspect.step == 0.0:
        return False
    reruns = suspect.trial.effort.reruns - 1 if suspect.line.numeric.value == 0.0 else 0
    lift = _lift(suspect.trial)
    resting = itertools.islice(rounded_lines(suspect.line, lift=lift), reruns)
    return _frays(suspect, suspect.line.at) or any(_frays(suspect, at, lift) for at in resting)


def _lift(trial: Trial) -> float:
    """A factor for the weights: what moves by the smallest number there is must not vanish when it is weighed; 1 if it overflows."""
    largest = max((float(np.abs(o).max(initial=0.0)) for o in trial.direct), default=0.0)
    return LIFT if largest < LARGEST / LIFT else 1.0


def _frays(suspect: Suspect, at: Callable[[float], Array], lift: float = 1.0) -> bool:
    value, step = suspect.value, suspect.step
    unit = float(np.spacing(np.abs(np.float64(value)))) * (suspect.trial.epsilon / DOUBLE_UNIT)
    with np.errstate(all="ignore"):
        here = at(0.0)

        def moved(distances: Iterable[float]) -> list[Array]:
            ends = [at(sign * d / step) for d, sign in itertools.product(distances, (1, -1))]
            return [np.abs(there - here) for there in ends if there.shape == here.shape]

        near, far = moved(units * unit for units in ULPS), moved(part * abs(float(value)) for part in OWN_STEPS)
        if not near or not far or not np.isfinite([*near, *far]).all():
            return False
        size = max(float(np.abs(here)[np.any([*near, *far], axis=0)].sum()), lift * suspect.line.terms)
        noise = NOISE * suspect.trial.epsilon * size
        promised, farthest = lift * abs(suspect.number) * unit / step, max(float(change.sum()) for change in far)
    return bool(np.median([change.sum() for change in near]) > max(noise, FRAYED * farthest) and promised > farthest)


@dataclass(frozen=True)
class TreadEnd:
    """Where a function that rests begins to move, in units of the line, and by how much it rises there, as the line runs.

    `jumps`: what moves there has moved at once by a good part of what it moves by further on; at a bend it would have hardly begun to.
    """

    distance: float
    rise: float
    jumps: bool


def tread(line: Line) -> list[TreadEnd]:
    """The ends of the tread on which a line rests at its point; none where it moves at once, or never."""
    with np.errstate(all="ignore"):
        return [end for end in (_tread_end(line, 1.0), _tread_end(line, -1.0)) if end is not None]


def _tread_end(line: Line, sign: float) -> TreadEnd | None:
    here = line.at(0.0)

    def rests(t: float) -> bool:
        return np.array_equal(line.at(sign * t), here)

    moving = next((k for k, t in enumerate(TREAD_STEPS) if not rests(t)), 0)
    if not moving:
        return None
    low, high = TREAD_STEPS[moving - 1], TREAD_STEPS[moving]
    while high > TREAD_KNOWN * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if rests(middle) else (low, middle)
    there, further = line.at(sign * high), line.at(sign * FURTHER * high)
    if there.shape != here.shape or further.shape != here.shape or not np.isfinite(there).all():
        return None
    moved = there != here
    jumps = float(np.abs(there - here)[moved].sum()) > JUMPED * float(np.abs(further - here)[moved].sum())
    return TreadEnd(high, sign * float((there - here).sum()), jumps)


def jumping(line: Line, from_zero: bool) -> Array:
    """Which components change over a vanishing step, and by the same over longer ones. Noise does not repeat itself.

    Output by output: beside one of 1e48 the jump of another would drown, and beside the jump of one another may be wrong.
    """
    with np.errstate(all="ignore"):
        here = line.at(0.0)
        found = np.zeros(here.shape, bool)
        noise = NOISE * line.trial.epsilon * np.abs(here)
        for sign, step in itertools.product((1, -1), (*JUMP_STEPS, *(STEPS_FROM_ZERO[1:] if from_zero else ()))):
            near = line.at(sign * step)
            if near.shape != here.shape:
                return np.ones(here.shape, bool)
            change = np.abs(near - here)
            jumped = change > noise
            for factor in JUMP_FACTORS:
                if not jumped.any():
                    break
                far = line.at(sign * step * factor)
                if far.shape != here.shape:
                    return np.ones(here.shape, bool)
                jumped = jumped & (np.abs(near - far) < 0.1 * change)
            found |= jumped
    return found


def steepening(suspect: Suspect) -> bool:
    """Whether slopes to a side keep growing so that at steps of the element's own size they would reach what AD says: a cusp."""
    line, number = suspect.line, suspect.number
    last, rungs = line.numeric.steps[-STEEPENING_RUNGS:], line.numeric.rungs[-STEEPENING_RUNGS:]
    if len(last) < STEEPENING_RUNGS or not suspect.value:
        return False
    # Of the function's values alone: so close to a cusp, what is measured as noise is the cusp.
    floors, finest = np.array([float(f.sum()) for _, f in rungs]), last[-1][0] * suspect.step / float(np.abs(suspect.value))
    with np.errstate(all="ignore"):
        here = line.at(0.0)
        for sign in (1.0, -1.0):
            ends = [line.at(sign * t) for t, *_ in last]
            if any(end.shape != here.shape for end in ends):
                continue
            slopes = np.array([float((end - here).sum()) / (sign * t) for end, (t, *_) in zip(ends, last)]) * np.sign(number)
            growth = slopes[1:] / slopes[:-1]
            reached = slopes[-1] * growth[-1] ** (np.log(finest) / np.log(RATIO))
            if (slopes > 4 * floors).all() and (growth > STEEPER).all() and slopes[-1] < abs(number) <= CUSP * reached:
                return True
    return False


def switches(line: Line) -> bool:
    """Whether an output of whole numbers changes over the ladder's finest step, or over a few units."""
    here = line.trial.choices(line.along, 0.0)
    if not here:
        return False
    there = (line.trial.choices(line.along, sign * step) for sign, step in itertools.product((1, -1), JUMP_STEPS))
    return any(not all(map(np.array_equal, here, found)) for found in there if len(found) == len(here))


def among_slopes_nearby(suspect: Suspect) -> bool:
    """Whether AD lies in the range of slopes at points around: what a generalised derivative may choose from at a kink."""
    unit = _grain(suspect.trial)
    return all(_among(suspect, distance, unit) for distance in (NEARBY if unit <= DOUBLE_UNIT else NEARBY_IN_SINGLE))


def _grain(trial: Trial) -> float:
    """The unit that the function is computed in: its types' own, or single precision's where steps far above a double's do nothing."""
    here = trial.direct

    def moves(step: float) -> bool:
        there = trial.attempt(DIRECT, (), trial.direction(0), step)
        return isinstance(there, Outcome) and not all(map(np.array_equal, here, there.outputs))

    coarse = trial.epsilon <= DOUBLE_UNIT and not moves(STEP_OF_DOUBLES) and moves(STEP_OF_SINGLES)
    return SINGLE_UNIT if coarse else trial.epsilon


def unbounded_nearby(suspect: Suspect) -> bool:
    """Whether slopes grow as the points come nearer, or have no bound between them: at the point itself none is left to choose."""
    far, near = (
        max((abs(s.value) - s.noise for s in itertools.islice(_around(suspect, distance, DOUBLE_UNIT), FEW)), default=0.0)
        for distance in NEARBY
    )
    return near > GROWS * max(far, 0.0) or _breaks_nearby(suspect)


def _breaks_nearby(suspect: Suspect) -> bool:
    """Whether the function has roots or jumps between points nearby: halving the way between two, and going on with the half over which
    it moves more, it becomes steeper and steeper.

    The eigenvalues of a matrix move by a root wherever two of them meet, and about one at which several are equal that is everywhere.
    """
    trial, distance = suspect.trial, NEARBY[0]
    if trial.epsilon > DOUBLE_UNIT:
        return False

    def value(point: list[Array]) -> Array:
        return trial.components(trial.attempt(DIRECT, (), Vec([np.asarray(distance * a) for a in point]), 1.0))

    with np.errstate(all="ignore"):
        for index in range(1, FEW):
            start, end = trial.direction(index).arrays, trial.direction(index + 1).arrays
            if _steeper_and_steeper(start, end, value):
                return True
    return False


def _steeper_and_steeper(start: list[Array], end: list[Array], value: Callable[[list[Array]], Array]) -> bool:
    ends, values, moved = [start, end], [value(start), value(end)], []
    for _ in range(HALVINGS):
        middle = [(a + b) / 2 for a, b in zip(*ends)]
        here = value(middle)
        if not values[0].shape == here.shape == values[1].shape:
            return False
        parts = [float(np.abs(here - v).sum()) for v in values]
        if not np.isfinite(parts).all():
            return False
        side = int(np.argmax(parts))
        ends, values = [ends[side], middle], [values[side], here]
        moved.append(parts[side])
    seen = moved[-1] > NOISE * DOUBLE_UNIT * float(np.abs(values[0]).sum())
    return seen and moved[-1] * 2 ** (HALVINGS // 2) > GROWS * moved[HALVINGS // 2 - 1]


def _among(suspect: Suspect, distance: float, unit: float) -> bool:
    numbers = [suspect.line.numbers[m] for m in suspect.wrong]
    seen, blurred = [], False
    for slope in _around(suspect, distance, unit):
        if slope.noise > BLURRED * suspect.gap:
            blurred = True
        elif np.isfinite(slope.value):
            seen.append(slope.value)
            slack = 1e-6 * max(map(abs, seen)) + (slope.noise if unit > DOUBLE_UNIT else 0.0)
            if any(min(seen) - slack <= number <= max(seen) + slack for number in numbers):
                return True
    return not seen and not blurred


def _around(suspect: Suspect, distance: float, unit: float) -> Iterator[Slope]:
    """Slopes along the suspect's line at points so far off; those where the function changes its shape are left out."""
    trial, along = suspect.trial, suspect.line.along
    step = distance * (1e-3 if unit <= DOUBLE_UNIT else 1e-2) * _longer(suspect)
    elements = sum(x.size for x in trial.inputs)
    for index in range(trial.effort.points(elements)):
        away = _ranked(suspect, trial.direction(index + 1).arrays, index)
        ends = []
        for t in (step, -step):
            moved = Vec([np.asarray(distance * d + t * a) for d, a in zip(away, along.arrays)])
            ends.append(trial.components(trial.attempt(DIRECT, (), moved, 1.0)))
        if ends[0].shape != ends[1].shape:
            continue
        change = ends[0] - ends[1]
        yield Slope(float(change.sum()) / (2 * step), 4 * unit * float(np.abs(ends[0])[change != 0].sum()) / step)


def _longer(suspect: Suspect) -> float:
    """How much longer steps must be at points around than along the line itself: a direction of 1e-40 is lost beside a point 1e-4 away."""
    pairs = zip(suspect.line.along.arrays, suspect.trial.direction(1).arrays)
    sizes = [(float(np.abs(a).max()), float(np.abs(d[a != 0]).max())) for a, d in pairs if a.any()]
    own, away = (max(column) for column in zip(*sizes)) if sizes else (1.0, 1.0)
    return away / own if away > MUCH_LONGER * own else 1.0


def _ranked(suspect: Suspect, away: list[Array], turn: int) -> list[Array]:
    """The direction with the element in its turn the smallest, the second, …, the largest of those that are equal to it: which of them a
    function chooses may hang on that alone, and chance would leave out a rank now and then."""
    index, flat = suspect.place
    x = suspect.trial.inputs[index].reshape(-1)
    equal = np.flatnonzero(x == x[flat])
    if equal.size < 2 or suspect.trial.point.structures[index] is not None:
        return away
    moved = np.array(away[index], order="C")
    numbers = moved.reshape(-1)
    other = equal[np.argsort(numbers[equal].real)[turn % equal.size]]
    numbers[[flat, other]] = numbers[[other, flat]]
    return [moved if i == index else a for i, a in enumerate(away)]


def at_zero(line: Line) -> bool:
    """Whether an element that moves is zero: there is no step too short for it."""
    return any(bool(((x == 0) & (d != 0)).any()) for x, d in zip(line.trial.inputs, line.along.arrays))
