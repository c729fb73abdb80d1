"""Blame: which call of a Program makes it disagree, or which few of them together.

Every call is examined alone, at the numbers that reach it. Where one disagrees by itself the bug is that op's. Where none does, the
smallest run of calls that still disagrees is the composition at fault, provided each of its calls is fine by itself: a call
that sits at an edge of its domain explains what a composition does there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np

from gradfuzz.numdiff.ladder import FIRST_STEP
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.gradient import STEP
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, INCONCLUSIVE, UNSUPPORTED, Verdict
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Attr, Call, Item, Let, Program, Ref, Tensor, Values, walk
from gradfuzz.targets.base.protocol import Outcome, Target, Vec
from gradfuzz.targets.base.scenario import Scenario, pure

Array = Any

# A composition is wrong by more than this many roundings of each intermediate result.
INNER_ROUNDINGS = 64.0
# A derivative that a difference can see to fewer than four digits vouches for nothing.
SATURATED = 1e-4

LONGEST_NAME = 4

OP, COMPOSITION, UNCLEAR = "op", "composition", "unclear"


@dataclass
class Blame:
    """`program` is the smallest that disagrees, `verdict` what it shows; UNCLEAR: why nothing can be said."""

    kind: str
    program: Program
    api: str
    verdict: Verdict | None = None
    rule: str = ""
    reason: str = ""
    strict: bool = False  # it takes the referee to see it; see Options


def blame(target: Target, program: Program, options: Options, wanted: Verdict, more_time: Callable[[], bool] = lambda: True) -> Blame:
    """Narrow a disagreement down. The Program is known to show `wanted`."""
    program, wanted = _one_output(target, program, options, wanted)
    pinned = Pinned(target, program)
    calls = pinned.calls
    if len(calls) <= 1:
        return Blame(OP, program, program.api, wanted)
    overflown = next((i for i in calls[:-1] if pinned.broken(i)), None)
    if overflown is not None:
        reason = f"overflow or outside the domain inside: {_short(pinned.api(overflown))} gives numbers that are not finite"
        return Blame(UNCLEAR, program, program.api, wanted, reason=reason)
    coarse = next((i for i in calls[:-1] if pinned.coarse(i)), None)
    if coarse is not None:
        return Blame(UNCLEAR, program, program.api, wanted, reason=f"a lower precision inside: {_short(pinned.api(coarse))}")
    whole = Options(max(1, wanted.order), options.scenarios, options.salt)
    strict = replace(whole, strict=True)  # what a call loses by itself may be less than the cheap rungs see, and more together
    reasons: dict[int, str] = {}
    for position in calls:
        part = pinned.part({position})
        seen = examine(target, part, strict)
        if seen.findings:
            return Blame(OP, part, pinned.api(position), seen.findings[0], seen.rule_of(seen.findings[0]), strict=True)
        doubt = _doubt(seen, whole.order)
        if doubt:
            reasons[position] = f"{_short(pinned.api(position))}: {doubt}"
    for chosen in pinned.windows():
        if not more_time():
            break
        part = pinned.part(chosen)
        seen = examine(target, part, whole)
        match = next((v for v in seen.findings if v.order == wanted.order or v.kind == wanted.kind), None)
        if match is not None:
            return _composition(pinned, part, chosen, match, seen, reasons, options.salt)
    chosen = set(calls)
    return _composition(pinned, program, chosen, wanted, None, reasons, options.salt)


def _one_output(target: Target, program: Program, options: Options, wanted: Verdict) -> tuple[Program, Verdict]:
    """The part that leads to one of several outputs, if it shows the same by itself."""
    last = program.statements[-1]
    if not isinstance(last.value, tuple):
        return program, wanted
    for end in last.value:
        if not isinstance(end, Ref) or isinstance(program.statements[_maker(program, end)].value, Tensor):
            continue
        part = Program(tuple(needed(list(program.statements[: _maker(program, end) + 1]))))
        seen = next((v for v in examine(target, part, options).findings if v.order == wanted.order), None)
        if seen is not None:
            return part, seen
    return program, wanted


def _maker(program: Program, variable: Ref) -> int:
    return next(i for i, s in enumerate(program.statements) if variable.name in s.names)


def needed(statements: list[Let]) -> list[Let]:
    """The statements that the last one depends on."""
    wanted = {node.name for node in walk(statements[-1].value) if isinstance(node, Ref)}
    kept = [statements[-1]]
    for statement in reversed(statements[:-1]):
        if set(statement.names) & wanted:
            kept.append(statement)
            if not isinstance(statement.value, Tensor):
                wanted |= {node.name for node in walk(statement.value) if isinstance(node, Ref)}
    return kept[::-1]


def _composition(
    pinned: Pinned, part: Program, chosen: set[int], verdict: Verdict, seen: Examination | None, reasons: dict[int, str], salt: int
) -> Blame:
    names = [_short(pinned.api(i)) for i in sorted(chosen, reverse=True)]
    name = " of ".join(names[:LONGEST_NAME]) + (f" of {len(names) - LONGEST_NAME} more" if len(names) > LONGEST_NAME else "")
    doubts = [reasons[i] for i in sorted(chosen) if i in reasons]
    if doubts:
        return Blame(UNCLEAR, part, name, verdict, reason=f"a call inside settles nothing by itself: {doubts[0]}")
    if _lost_inside(pinned.target, part, verdict, salt):
        return Blame(UNCLEAR, part, name, verdict, reason="below rounding: what differs is lost in the rounding of an intermediate result")
    return Blame(COMPOSITION, part, name, verdict, seen.rule if seen is not None else "")


def _lost_inside(target: Target, program: Program, verdict: Verdict, salt: int) -> bool:
    """Whether even the longest step moves the output by less than a few roundings of intermediate results do.

    A Program's own rounding is not its output's alone: a sum that ends near zero carries the rounding of its terms.
    """
    if not isinstance(verdict.expected, float) or not isinstance(verdict.actual, float) or not np.isfinite(verdict.actual):
        return False
    pinned = Pinned(target, program)
    noise = 0.0
    try:
        trial = Trial(target, program, salt)
        for position in pinned.calls[:-1]:
            noise += _moved_by_rounding(pinned, position, trial, max(1, verdict.order))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False
    return abs(verdict.actual - verdict.expected) * FIRST_STEP <= INNER_ROUNDINGS * noise


def _moved_by_rounding(pinned: Pinned, position: int, trial: Trial, order: int) -> float:
    """How far a rounding of one intermediate result moves what is differenced: the weighted output, or its derivative below."""
    array, let = pinned.value(position), pinned.statements[position]
    if array is None or array.dtype.kind != "f":
        return 0.0
    base = pure("r", order - 1)
    us = trial.directions(base.order)
    here = _number(trial, base, us, trial)
    exact, worst = f"{let.names[0]}_exact", 0.0
    for sign in (-1.0, 1.0):
        rounded = Let(let.names, Call("*", (Ref(exact), 1.0 + sign * 2.0 * float(np.finfo(array.dtype).eps))))
        statements = pinned.statements
        moved = Program((*statements[:position], Let((exact,), let.value), rounded, *statements[position + 1 :]))
        worst = max(worst, abs(_number(Trial(pinned.target, moved, trial.salt), base, us, trial) - here))
    return worst


def _number(trial: Trial, base: Scenario, us: list[Vec], weights: Trial) -> float:
    outcome = trial.attempt(base, us, v=weights.v)
    return trial.number(outcome, weights.v) if isinstance(outcome, Outcome) else 0.0


def _doubt(seen: Examination, order: int) -> str:
    """Why a call says nothing by itself, or little; empty if it is fine, or has no derivative to speak of."""
    if seen.outcome == UNSUPPORTED:
        return ""
    if seen.outcome != AGREE or seen.trial is None:
        return next((v.reason for v in seen.verdicts if v.outcome == INCONCLUSIVE), "it does not run by itself")
    trial = seen.trial
    for k in range(1, order + 1):
        outcome, below = trial.outcome(pure("r", k)), trial.outcome(pure("r", k - 1))
        if isinstance(outcome, Outcome) and isinstance(below, Outcome):
            lost = float(np.abs(trial.components(below)).sum()) * trial.epsilon / STEP
            if lost > SATURATED * abs(trial.number(outcome)) > 0:
                return "saturated: its derivative is lost beside its value"
    return ""


def _short(api: str) -> str:
    return api.rsplit(".", 1)[-1]


class Pinned:
    """A Program whose intermediate numbers are known, so that any part of it can be cut out and run alone."""

    def __init__(self, target: Target, program: Program) -> None:
        self.target, self.program = target, program
        self.statements = program.statements
        self.calls = [i for i, s in enumerate(self.statements) if isinstance(s.value, (Call, Item, Attr))]
        self.maker = {name: i for i, s in enumerate(self.statements) for name in s.names}
        self._values: dict[int, Array | None] = {}

    def api(self, position: int) -> str:
        statement = self.statements[position]
        return "index" if isinstance(statement.value, Item) else Program((statement,)).api

    def value(self, position: int) -> Array | None:
        """The number that a call gives, if it is one floating tensor."""
        if position not in self._values:
            self._values[position] = self._evaluate(position)
        return self._values[position]

    def broken(self, position: int) -> bool:
        """Whether a call gives numbers that are not finite."""
        array = self.value(position)
        return array is not None and not bool(np.isfinite(array).all())

    def coarse(self, position: int) -> bool:
        """Whether a call gives a lower precision than the Program's inputs have."""
        array = self.value(position)
        inputs = [r.dtype for r in self.program.inputs.values() if r.differentiable]
        return array is not None and array.dtype.itemsize <= 4 and "float64" in inputs

    def _evaluate(self, position: int) -> Array | None:
        if len(self.statements[position].names) != 1:
            return None
        try:
            outputs = self.target.point(Program(self.statements[: position + 1])).first()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None
        return outputs[0] if len(outputs) == 1 and outputs[0].size <= MAX_ELEMENTS else None

    def part(self, chosen: set[int]) -> Program:
        """The chosen calls alone. What reaches them from outside is an input; what cannot be one is computed inside."""
        kept = set(chosen)
        inputs: dict[str, Tensor] = {}
        queue = sorted(kept)
        while queue:
            for name in self._names(queue.pop()):
                maker = self.maker[name]
                if maker in kept or name in inputs:
                    continue
                recipe = self._recipe(name, maker)
                if recipe is None:
                    kept.add(maker)
                    queue.append(maker)
                else:
                    inputs[name] = recipe
        calls = [self.statements[i] for i in sorted(kept)]
        return Program((*(Let((name,), recipe) for name, recipe in inputs.items()), *calls))

    def _names(self, position: int) -> list[str]:
        return [node.name for node in walk(self.statements[position].value) if isinstance(node, Ref)]

    def _recipe(self, name: str, maker: int) -> Tensor | None:
        value = self.statements[maker].value
        if isinstance(value, Tensor):
            return value
        array = self.value(maker)
        if array is None or array.dtype.kind not in "fc":
            return None
        return Tensor(tuple(array.shape), str(array.dtype), Values("listed", (tuple(array.ravel().tolist()),)))

    def windows(self) -> list[set[int]]:
        """Runs of calls that feed each other, smallest first: a call and the producers nearest to it."""
        found: list[set[int]] = []
        for size in range(2, len(self.calls)):
            for position in self.calls:
                cone = self._cone(position, size)
                if len(cone) == size and cone not in found:
                    found.append(cone)
        return found

    def _cone(self, position: int, size: int) -> set[int]:
        cone, queue = {position}, [position]
        while queue and len(cone) < size:
            for name in self._names(queue.pop(0)):
                maker = self.maker[name]
                if maker not in cone and not isinstance(self.statements[maker].value, Tensor) and len(cone) < size:
                    cone.add(maker)
                    queue.append(maker)
        return cone
