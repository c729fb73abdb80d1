"""The referee: called when the cheap rungs disagree. Decides between a bug, a kink, noise and an edge of the domain."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import Estimate, estimate
from gradfuzz.numdiff.vote import recount
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.oracles.verdict import ACCURACY, AGREE, DISAGREE, GRADIENT, INCONCLUSIVE, KINK, NONFINITE, Verdict
from gradfuzz.program.values import project
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import DIRECT, Scenario, pure

Array = Any

# A difference counts if it exceeds both error bars by these factors: bars are one-sigma-like, and the ladder picks its best
# entry out of many, which flatters it.
NUMERIC_BARS = 8.0
AD_JITTER = 64.0
AD_UNITS = 256.0
# An answer whose own error bar is a thousandth of it or more settles nothing.
CONCLUSIVE = 1e-3
# A formula that is wrong is wrong by more than this; below, digits were lost.
FEW_DIGITS = 1e-4
KINK_PROBES = 12
# Around a kink, slopes are sampled this far off (in units of the inputs): near enough for curvature not to matter much.
NEARBY = 1e-4
NEARBY_POINTS = 96
# Ties make differences of order one; a smaller gap is not one, and nearby slopes of a smooth function vary by less.
TIE = 1e-2
# A choice at a kink is wrong by the size of its slopes. One that is this many times larger has met something steep and narrow.
FAR = 1e3
# Derivatives of a function that is constant as far as can be seen: this many units of its terms may be left over.
BELOW_ROUNDING = 2.0**14
# And below these a result of that rounding unit underflows.
SMALLEST = {2.0**-52: 1e-300, 2.0**-23: 1e-36}
# From here on a double has no fraction: rounding and truncation look like the identity.
WHOLE = 2.0**51
LARGE_STEPS = tuple(2.0**k for k in (2, 8, 20, 40, 60, 80, *range(100, 331, 23)))
LARGEST = 1e300
# The first step still moves every element by many units, the other is the ladder's finest: a pole may hide behind rounding at the first.
# Over a step many times as long a continuous function moves far more.
JUMP_STEPS = (2.0**-46, 2.0**-24)
JUMP_FACTOR = 2.0**8
NOISE = 256.0
FINEST = 5
TINY_STEPS = tuple(2.0**-k for k in (26, 30, 34, 38, 42, 46))
# Steps from zero may be far shorter.
STEPS_FROM_ZERO = tuple(2.0**-k for k in (60, 90, 130, 180, 250, 330))


@dataclass
class Line:
    """The problem restricted to one direction: what AD says and what the ladder says."""

    along: Vec
    numbers: dict[Scenario, float]
    numeric: Estimate
    bars: dict[Scenario, float]

    def wrong(self) -> list[Scenario]:
        """Scenarios that differ from the numeric derivative by more than both error bars."""
        if not self.numeric.usable:
            return []
        found = []
        for scenario, number in self.numbers.items():
            if not np.isfinite(number):
                found.append(scenario)
                continue
            gap = abs(number - self.numeric.value)
            if gap > NUMERIC_BARS * self.numeric.error + self.bars[scenario] and self.numeric.matches(number, gap) < 2:
                found.append(scenario)
        return found


def judge(trial: Trial, order: int, numbers: dict[Scenario, float], base: Scenario) -> list[Verdict]:
    """The verdict on an order whose quick comparison failed."""
    line = _measure(trial, trial.direction(order - 1), base, list(numbers))
    if not line.numeric.usable or line.numeric.one_sided:
        # Perhaps the step left the domain for some element: move each in proportion to itself.
        relative = _measure(trial, trial.relative_direction(), base, list(numbers))
        if not relative.numeric.usable or relative.numeric.one_sided:
            return [_inconclusive(order, line, "domain edge" if line.numeric.one_sided else "the numeric derivative does not settle")]
        if not all(np.isfinite(n) for n in relative.numbers.values()):
            # An element at the edge itself does not move, and an infinite slope times no step is NaN.
            return [_inconclusive(order, line, "domain edge")]
        line = relative
    again = trial.attempt(base, trial.directions(base.order))
    first = trial.outcome(base)
    if isinstance(again, Outcome) and isinstance(first, Outcome) and not _equal(again.outputs, first.outputs):
        return [_inconclusive(order, line, "nondeterministic: two runs differ")]
    wrong = line.wrong()
    if not wrong:
        size = max(map(abs, [*line.numbers.values(), line.numeric.magnitude]))
        if NUMERIC_BARS * line.numeric.error <= CONCLUSIVE * size or size == 0:
            return [Verdict(AGREE, "gradient", order=order, reason=f"after {len(line.numeric.steps)} steps")]
        return [_inconclusive(order, line, "noisy or ill-conditioned")]
    broken = [m for m in wrong if not np.isfinite(line.numbers[m])]
    if broken:
        # Other nestings may be finite and wrong: that is another bug.
        finite = [m for m in wrong if m not in broken]
        verdicts = [_judge_nonfinite(trial, order, line, broken, base)]
        if finite and not line.numeric.kink:
            verdicts += [v for v in [_judge_wrong(trial, order, line, finite, base)] if v.is_finding]
        return verdicts
    if line.numeric.kink and (order > 1 or not _outside(line)):
        return [_inconclusive(order, line, "kink: inside the one-sided derivatives")]
    return [_judge_wrong(trial, order, line, wrong, base)]


def smooth(trial: Trial, order: int) -> bool:
    """Whether a numeric derivative of this order settles at the point, on both sides of it and to the same."""
    base = pure("r", order - 1)
    if base.modes and isinstance(trial.outcome(base), Refusal):
        return True  # nothing can be said against it
    line = _measure(trial, trial.direction(order - 1), base, [])
    numeric = line.numeric
    return numeric.usable and not numeric.one_sided and not numeric.kink and NUMERIC_BARS * numeric.error <= _enough(trial, line)


def _enough(trial: Trial, line: Line) -> float:
    """How large an error bar may be for the derivative to have been seen at all."""
    return 0.1 * abs(line.numeric.value) or CONCLUSIVE * _sizes(trial, line.along)


def _measure(trial: Trial, along: Vec, base: Scenario, scenarios: Sequence[Scenario]) -> Line:
    """AD and the ladder along one direction. Inner directions stay those of the trial."""
    us = trial.directions(base.order)
    numbers, bars = {}, {}
    for scenario in scenarios:
        outcome = trial.attempt(scenario, [*us, along])
        numbers[scenario] = float("nan") if isinstance(outcome, Refusal) else trial.number(outcome)
    at_zero = trial.components(trial.attempt(base, us))
    numeric = estimate(trial.line(base, us, along), at_zero, max(trial.epsilon, DOUBLE_UNIT * (8 if base.modes else 1)))
    scale = max(numeric.magnitude, max((abs(n) for n in numbers.values() if np.isfinite(n)), default=0.0))
    jitter = Vec([np.asarray(np.abs(x) * np.sign(d)) for x, d in zip(trial.inputs, along.arrays)])
    for scenario, number in numbers.items():
        shift = 0.0
        for sign in (-2, 2):
            moved = trial.attempt(scenario, [*us, along], jitter, sign * trial.epsilon)
            change = 0.0 if isinstance(moved, Refusal) else abs(trial.number(moved) - number)
            shift = max(shift, change if np.isfinite(change) else 0.0)
        bars[scenario] = AD_JITTER * shift + AD_UNITS * trial.epsilon * scale
    return Line(along, numbers, numeric, bars)


def _judge_wrong(trial: Trial, order: int, line: Line, wrong: list[Scenario], base: Scenario) -> Verdict:
    """Narrow a disagreement down to one element; a bug survives that, a kink hidden by the direction does not."""
    at_kink = line.numeric.kink
    spot = _localise(trial, line, wrong, base)
    if spot is None:
        return _inconclusive(order, line, "kink: no single element disagrees by itself")
    element, line = spot
    wrong = [m for m in line.wrong() if np.isfinite(line.numbers[m])]
    if not wrong:
        return _inconclusive(order, line, "not finite along single elements")
    if line.numeric.one_sided:
        return _inconclusive(order, line, "domain edge")
    if line.numeric.kink:
        low, high = line.numeric.interval()
        wrong = [m for m in wrong if not low - line.bars[m] <= line.numbers[m] <= high + line.bars[m]]
        if not wrong or order > 1:
            return _inconclusive(order, line, "kink: inside the one-sided derivatives")
    number = line.numbers[wrong[0]]
    gap = abs(number - line.numeric.value)
    if _unsettled(line, number):
        return _inconclusive(order, line, "a feature smaller than the steps: the finer ones contradict the coarser")
    if _jumps(trial, line, base):
        return _inconclusive(order, line, "jump: the function is not continuous here")
    if _out_of_range(trial, order):
        return _inconclusive(order, line, "overflow: powers of the inputs leave the range of a double")
    if _agrees_at_its_own_scale(trial, line, wrong, base):
        return _inconclusive(order, line, "a feature smaller than the steps: the element is much smaller than its tensor")
    leftover = max(BELOW_ROUNDING * trial.epsilon * _sizes(trial, line.along), SMALLEST.get(trial.epsilon, 1e-4))
    if line.numeric.value == 0.0 and abs(number) < leftover:
        return _inconclusive(order, line, "below rounding: the function is constant as far as can be seen")
    whole = [o[o != 0] for o in trial.direct] if number == 0.0 else _moved(trial, line) if line.numeric.value == 0.0 else []
    if _all_whole(whole):
        return _inconclusive(order, line, "absorbed: numbers so large that steps of one cannot be seen")
    if line.numeric.value == 0.0 and _seen_at_large_steps(trial, line, number, base):
        return _inconclusive(order, line, "absorbed: the steps are lost beside much larger numbers")
    if _seen_at_tiny_steps(trial, line, number, base):
        return _inconclusive(order, line, "a feature smaller than the steps")
    perhaps_tied = at_kink or line.numeric.kink or (order == 1 and gap > TIE * max(abs(number), abs(line.numeric.value)))
    if perhaps_tied and _among_slopes_nearby(trial, line.along, [line.numbers[m] for m in wrong]):
        return _inconclusive(order, line, "kink: among the slopes of the points nearby")
    if line.numeric.kink and abs(number) > FAR * max(map(abs, line.numeric.interval())):
        return _inconclusive(order, line, "ill-conditioned: what looks like a kink is a feature smaller than the steps")
    if at_kink or line.numeric.kink:
        return _finding(KINK, order, line, wrong, element, "outside the one-sided derivatives at a kink")
    kind, reason = GRADIENT, "differs from the numeric derivative"
    if gap < FEW_DIGITS * abs(line.numeric.value):
        kind, reason = ACCURACY, "has lost digits against the numeric derivative"
    return _by_majority(trial, _finding(kind, order, line, wrong, element, reason), line, base)


def _by_majority(trial: Trial, finding: Verdict, line: Line, base: Scenario) -> Verdict:
    """The finding with the recount that confirms it; inconclusive if most finite-difference checks do not."""
    us = trial.directions(base.order)
    vote = recount(trial.line(base, us, line.along), float(finding.actual), line.numeric.value, line.numeric.error)
    # Where single precision is at work inside, noise alone exceeds a bar now and then: most checks must contradict.
    if not vote.majority or (trial.epsilon > DOUBLE_UNIT and 2 * vote.against <= vote.checks):
        return _inconclusive(finding.order, line, f"no majority: {vote}")
    finding.detail["vote"] = vote.to_json()
    finding.reason += f"; {vote}"
    return finding


def _judge_nonfinite(trial: Trial, order: int, line: Line, broken: list[Scenario], base: Scenario) -> Verdict:
    """NaN cannot be narrowed down by contraction, so the numeric side is: every probed element must be smooth."""
    if line.numeric.kink and order > 1:
        return _inconclusive(order, line, "kink")
    if not trial.finite_inputs:
        return _inconclusive(order, line, "domain: an input is not finite itself")
    if NUMERIC_BARS * line.numeric.error > _enough(trial, line):
        return _inconclusive(order, line, "noisy or ill-conditioned")
    if line.numeric.magnitude > LARGEST * min(trial.point.scales, default=1.0):
        # Directions are as long as the inputs; per unit of a tiny input the derivative itself is beyond the range.
        return _inconclusive(order, line, "overflow: the derivative is larger than its type can hold")
    if _out_of_range(trial, order):
        return _inconclusive(order, line, "overflow: powers of the inputs leave the range of a double")
    if line.numeric.value == 0.0 and any(_all_whole([a]) for a in _moved(trial, line)):
        return _inconclusive(order, line, "absorbed: between whole numbers this large there is nothing to see")
    us = trial.directions(base.order)
    at_zero = trial.components(trial.attempt(base, us))
    for along in _element_directions(trial, KINK_PROBES):
        numeric = estimate(trial.line(base, us, along), at_zero, max(trial.epsilon, DOUBLE_UNIT))
        if numeric.one_sided or not numeric.usable:
            return _inconclusive(order, line, "domain edge")
        if numeric.kink and order > 1:
            return _inconclusive(order, line, "kink")
    what = "is not finite at a kink" if line.numeric.kink else "is not finite where the numeric derivative is"
    return _by_majority(trial, _finding(NONFINITE, order, line, broken, None, what), line, base)


def _moved(trial: Trial, line: Line) -> list[Array]:
    """The numbers of the inputs that the direction moves."""
    return [x[d != 0] for x, d in zip(trial.inputs, line.along.arrays)]


def _all_whole(arrays: list[Array]) -> bool:
    """Whether all of these numbers are too large to have a fraction."""
    return any(a.size for a in arrays) and all(bool((np.abs(a) >= WHOLE).all()) for a in arrays)


def _sizes(trial: Trial, along: Vec) -> float:
    """The size of a contracted derivative whose entries are of order one."""
    largest = max((float(np.abs(w).max()) for w in trial.v.arrays if w.size), default=1.0)
    return largest * max((float(np.abs(a).max()) for a in along.arrays if a.size), default=1.0)


def _out_of_range(trial: Trial, order: int) -> bool:
    """Whether the powers that an order's formulas take of their inputs overflow or vanish, so that no formula could be right."""
    limit = 1e300 ** (1 / (2 * order))
    sizes = [np.abs(x[x != 0]) for x in trial.inputs if x.size]
    return any(s.size and (float(s.max()) > limit or float(s.min()) < 1 / limit) for s in sizes)


def _unsettled(line: Line, number: float) -> bool:
    """Whether most of the finest steps say something else than the estimate, by far more than their rounding."""
    size = max(abs(number), abs(line.numeric.value))
    finest = line.numeric.steps[-FINEST:]
    gaps = [(abs(slope - line.numeric.value), floor) for _, slope, floor in finest]
    against = sum(1 for gap, floor in gaps if gap > NUMERIC_BARS * floor + TIE * size)
    # What looks like noise may be such a feature too: then the slopes grow beyond anything that either side says.
    wild = sum(1 for gap, _ in gaps if gap > 10 * abs(line.numeric.value) + 0.1 * abs(number))
    return len(finest) == FINEST and max(against, wild) > FINEST // 2


def _own_steps(trial: Trial, line: Line) -> tuple[float, ...]:
    """Steps in proportion to an element that moves alone and is much smaller than its tensor."""
    for x, d in zip(trial.inputs, line.along.arrays):
        moved = np.flatnonzero(d)
        if moved.size == 1:
            ratio = float(np.abs(x.reshape(-1)[moved[0]]) / np.abs(d.reshape(-1)[moved[0]]))
            return tuple(ratio * t for t in TINY_STEPS) if 0 < ratio < 1e-3 else ()
    return ()


def _at_zero(trial: Trial, line: Line) -> bool:
    """Whether an element that moves is zero: there is no step too short for it."""
    return any(bool(((x == 0) & (d != 0)).any()) for x, d in zip(trial.inputs, line.along.arrays))


def _jumps(trial: Trial, line: Line, base: Scenario) -> bool:
    """Whether the function changes over a vanishing step, and by the same over one many times as long. Noise does not repeat itself."""
    us = trial.directions(base.order)
    along = trial.line(base, us, line.along)
    at_zero = trial.components(trial.attempt(base, us))
    with np.errstate(all="ignore"):
        noise = NOISE * trial.epsilon * float(np.abs(at_zero).sum())
        for sign, step in itertools.product((1, -1), (*JUMP_STEPS, *(STEPS_FROM_ZERO[1:] if _at_zero(trial, line) else ()))):
            near, far = along(sign * step), along(sign * step * JUMP_FACTOR)
            if near.shape != at_zero.shape or far.shape != at_zero.shape:
                return True
            change = float(np.abs(near - at_zero).sum())
            if change > noise and float(np.abs(near - far).sum()) < 0.1 * change:
                return True
    return False


def _agrees_at_its_own_scale(trial: Trial, line: Line, wrong: list[Scenario], base: Scenario) -> bool:
    """Steps go with the largest element of a tensor. One element alone may be stepped by its own size, or by one."""
    for index, array in enumerate(line.along.arrays):
        moved = np.flatnonzero(array)
        if moved.size != 1:
            continue
        flat = int(moved[0])
        own, step = float(np.abs(trial.inputs[index].reshape(-1)[flat])), float(np.abs(array.reshape(-1)[flat]))
        for size in {own, 1.0} - {0.0}:
            if 1e-3 < size / step < 1e3:
                continue
            arrays = [np.zeros(a.shape, a.dtype) for a in line.along.arrays]
            arrays[index].reshape(-1)[flat] = size
            closer = _measure(trial, Vec(arrays), base, wrong)
            if closer.numeric.usable and not closer.numeric.one_sided and not closer.wrong():
                return True
    return False


def _seen_at_large_steps(trial: Trial, line: Line, number: float, base: Scenario) -> bool:
    """Whether a function that did not move at all does move as AD says once the step is large enough to count."""
    us = trial.directions(base.order)
    along = trial.line(base, us, line.along)
    with np.errstate(all="ignore"):
        here = along(0.0)
        for t in LARGE_STEPS:
            plus, minus = along(t), along(-t)
            if plus.shape != minus.shape or plus.shape != here.shape:
                continue
            # A large step may cross a kink: then one side of it shows the slope.
            slopes = [float(d.sum()) / w for d, w in ((plus - minus, 2 * t), (plus - here, t), (here - minus, t))]
            if any(abs(slope - number) <= 0.5 * abs(number) for slope in slopes):
                return True
    return False


def _seen_at_tiny_steps(trial: Trial, line: Line, number: float, base: Scenario) -> bool:
    """Whether AD is right about something finer than the ladder's steps, or about something too fine to be seen at all."""
    us = trial.directions(base.order)
    along = trial.line(base, us, line.along)
    at_zero = trial.components(trial.attempt(base, us))
    size = float(np.abs(at_zero).sum())
    gap = abs(number - line.numeric.value)
    with np.errstate(all="ignore"):
        for t in TINY_STEPS + _own_steps(trial, line) + (STEPS_FROM_ZERO if _at_zero(trial, line) else ()):
            plus, minus = along(t), along(-t)
            if plus.shape != minus.shape:
                return False
            slope = float((plus - minus).sum()) / (2 * t)
            noise = 4 * DOUBLE_UNIT * size / t
            if noise < 0.1 * gap and abs(slope - number) <= 0.2 * gap:
                return True
        # At the finest step that the inputs can take, AD promises a change far beyond anything that was ever seen.
        seen = max(size, max((abs(slope) * t for t, slope, _ in line.numeric.steps), default=0.0))
        return abs(number) * 64 * DOUBLE_UNIT > 16 * seen > 0


def _among_slopes_nearby(trial: Trial, along: Vec, numbers: list[float]) -> bool:
    """Whether one of the numbers lies in the range of slopes at points around a kink: what a generalised derivative may choose from."""
    slopes: list[float] = []
    step = NEARBY * 1e-3
    for index in range(NEARBY_POINTS):
        away = trial.direction(index + 1).arrays
        ends = []
        for t in (step, -step):
            moved = Vec([np.asarray(NEARBY * d + t * a) for d, a in zip(away, along.arrays)])
            ends.append(trial.components(trial.attempt(DIRECT, (), moved, 1.0)).sum())
        slope = float((ends[0] - ends[1]) / (2 * step))
        if np.isfinite(slope):
            slopes.append(slope)
            slack = 1e-6 * max(map(abs, slopes))
            if any(min(slopes) - slack <= number <= max(slopes) + slack for number in numbers):
                return True
    return not slopes


def _localise(trial: Trial, line: Line, wrong: list[Scenario], base: Scenario) -> tuple[str, Line] | None:
    """Halve the direction's support while a half still disagrees."""
    spans = [(i, 0, x.size) for i, x in enumerate(trial.inputs) if x.size]
    current = line
    while True:
        if len(spans) == 1 and spans[0][2] - spans[0][1] == 1:
            return _element_name(trial, spans[0][0], spans[0][1]), current
        for half in _halves(spans):
            candidate = _measure(trial, _restricted(trial, line.along, half), base, wrong)
            if candidate.wrong() or (candidate.numeric.kink and _outside(candidate)):
                spans, current = half, candidate
                break
        else:
            return None


def _outside(line: Line) -> bool:
    low, high = line.numeric.interval()
    return any(not low - line.bars[m] <= n <= high + line.bars[m] for m, n in line.numbers.items())


def _halves(spans: list[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    if len(spans) > 1:
        middle = len(spans) // 2
        return [spans[:middle], spans[middle:]]
    index, start, stop = spans[0]
    middle = (start + stop) // 2
    return [[(index, start, middle)], [(index, middle, stop)]]


def _restricted(trial: Trial, along: Vec, spans: list[tuple[int, int, int]]) -> Vec:
    arrays = [np.zeros(a.shape, a.dtype) for a in along.arrays]
    for index, start, stop in spans:
        arrays[index].reshape(-1)[start:stop] = along.arrays[index].reshape(-1)[start:stop]
    return Vec([project(a, s) if s else a for a, s in zip(arrays, trial.point.structures)])


def _element_directions(trial: Trial, most: int) -> list[Vec]:
    """Single-element directions spread over the inputs."""
    places = [(i, j) for i, x in enumerate(trial.inputs) for j in range(min(x.size, 4096))]
    stride = max(1, len(places) // most)
    found = []
    for index, flat in places[::stride][:most]:
        base = Vec([np.zeros(x.shape, np.complex128 if x.dtype.kind == "c" else np.float64) for x in trial.inputs])
        base.arrays[index].reshape(-1)[flat] = trial.point.scales[index]
        found.append(Vec([project(a, s) if s else a for a, s in zip(base.arrays, trial.point.structures)]))
    return found


def _element_name(trial: Trial, index: int, flat: int) -> str:
    where = np.unravel_index(flat, trial.inputs[index].shape) if trial.inputs[index].ndim else ()
    return f"{trial.point.names[index]}[{', '.join(str(int(i)) for i in where)}]"


def _equal(ours: list[Array], theirs: list[Array]) -> bool:
    return all(a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(ours, theirs))


def _inconclusive(order: int, line: Line, reason: str) -> Verdict:
    return Verdict(INCONCLUSIVE, "gradient", order=order, reason=reason, error_bar=line.numeric.error)


def _finding(kind: str, order: int, line: Line, wrong: list[Scenario], element: str | None, reason: str) -> Verdict:
    numeric = line.numeric
    number = line.numbers[wrong[0]]
    agreeing = sum(1 for _, slope, floor in numeric.steps if abs(slope - number) <= 4 * floor + line.bars[wrong[0]])
    detail = {
        "element": element,
        "numbers": {s.name: n for s, n in line.numbers.items()},
        "numeric": numeric.value,
        "numeric_error": numeric.error,
        "steps": len(numeric.steps),
        "ladder": [[t, slope] for t, slope, _ in numeric.steps],
        "steps_agreeing_with_ad": agreeing,
        "one_sided": None if numeric.left is None or numeric.right is None
        else [float(numeric.left.value.sum()), float(numeric.right.value.sum())],
    }  # fmt: skip
    where = f" along {element}" if element else ""
    return Verdict(
        DISAGREE, "gradient", kind, order, list(wrong), f"{wrong[0].name}{where} {reason}",
        numeric.value, number, NUMERIC_BARS * numeric.error + line.bars[wrong[0]], detail,
    )  # fmt: skip
