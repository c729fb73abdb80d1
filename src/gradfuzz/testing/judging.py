"""The judgement of one function at its inputs, cheapest first: a look, second opinions, and the referee where a look suspects something."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.effort import LOOK
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.narrowing import Place, alike, cheaply, restricted
from gradfuzz.oracles.gradient import MODES_AGREE, STEP, SUSPECT, base_scenario, check_gradient
from gradfuzz.oracles.trial import Noise, Trial, start_of
from gradfuzz.oracles.verdict import AGREE, INCONCLUSIVE, Verdict
from gradfuzz.oracles.ways import check_ways
from gradfuzz.program.model import Program
from gradfuzz.targets.base.functions import BESIDE
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario
from gradfuzz.testing.function import FunctionTarget
from gradfuzz.testing.meter import Spent

# A second opinion weighs outputs by their own slopes, but a slope this many times smaller than its output is mostly rounding.
STEEP = 500.0
# So many groups of inputs are heard alone: what is wrong with one of them may be small beside the others.
GROUPS = 2
# So many elements are looked at alone before a direction is judged as a whole.
ELEMENTS = 2


@dataclass
class Suspicion:
    """What a look could not settle: the scenarios of an order, on a trial with directions of its own."""

    trial: Trial
    order: int
    scenarios: list[Scenario]

    def case(self, trial: Trial | None = None) -> Case | None:
        """What differences can be asked, on this trial or on one of a smaller example; None where there is nothing to difference."""
        trial = trial or self.trial
        base = base_scenario(trial, self.order)
        return None if base is None else Case(trial, self.order, base, self.scenarios)


class Judge:
    """Examines a function as deep as the options say, and no dearer than its meter allows."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def look(self, target: FunctionTarget, program: Program) -> tuple[Examination, Suspicion | None]:
        """What the cheap rungs say, with the first suspicion if there is one."""
        cheap = replace(LOOK, rtol=self.options.effort.rtol, atol=self.options.effort.atol)
        found = examine(target.as_target, program, replace(self.options, effort=cheap))
        for verdict in found.verdicts:
            if verdict.reason == SUSPECT and found.trial is not None:
                return found, Suspicion(found.trial, verdict.order, verdict.scenarios)
        if not self.options.own_rule and found.trial is not None and not found.findings:
            return found, self._further(found)
        return found, None

    def settle(
        self, target: FunctionTarget, program: Program, looked: tuple[Examination, Suspicion | None] | None = None,
        place: Place | None = None,
    ) -> Examination:  # fmt: skip
        """The look, and the referee's word on what it suspects. What is not settled within the limits is inconclusive.

        `place`: the element at fault, where it is known already.
        """
        found, suspicion = looked or self.look(target, program)
        if suspicion is None:
            return found
        target.subject.meter.phase = "measuring"
        try:
            for focused in _elements(suspicion, place):
                findings = [v for v in self._asked(focused) if v.is_finding]
                if findings:
                    return Examination(findings, trial=focused.trial)
            if suspicion.trial is found.trial:
                return examine(target.as_target, program, self.options)
            return self._opinion_settled(found, suspicion)
        except Spent as limit:
            reason = f"limit: it looked wrong and could not be settled within {limit}"
            verdict = Verdict(INCONCLUSIVE, "gradient", order=suspicion.order, reason=reason, detail={"excuses": ["limit"]})
            return Examination([v for v in found.verdicts if v.reason != SUSPECT] + [verdict], trial=suspicion.trial)

    def _asked(self, suspicion: Suspicion) -> list[Verdict]:
        """The referee's word."""
        suspicion.trial.effort = self.options.effort
        ran = {s: suspicion.trial.outcome(s) for s in suspicion.scenarios}
        return check_gradient(suspicion.trial, suspicion.order, {s: o for s, o in ran.items() if isinstance(o, Outcome)})

    def _opinion_settled(self, found: Examination, suspicion: Suspicion) -> Examination:
        verdicts = self._asked(suspicion)
        findings = [v for v in verdicts if v.is_finding]
        if findings:
            return Examination(findings, trial=suspicion.trial)
        numbers = [suspicion.trial.number(o) for o in map(suspicion.trial.outcome, suspicion.scenarios) if isinstance(o, Outcome)]
        if len(numbers) < 2 or max(numbers) - min(numbers) > MODES_AGREE * max(map(abs, numbers)):
            # Two modes that agree bear each other out where differences drown; one alone has nobody.
            found.verdicts.extend(v for v in verdicts if v.outcome == INCONCLUSIVE)
        return found

    def _further(self, found: Examination) -> Suspicion | None:
        """Second opinions where order one agrees: they see what is small beside something large."""
        trial = found.trial
        assert trial is not None
        if any(v.oracle == "precision" for v in found.verdicts) or not any(v.outcome == AGREE and v.order == 1 for v in found.verdicts):
            return None
        nested = self.options.order > 1
        if nested and isinstance(trial.outcomes.get(FORWARD), Outcome):
            found.verdicts.extend(v for v in check_ways(trial, (BESIDE,), 1, only=self.options.scenarios) if v.is_finding)
        if found.findings:
            return None
        ran = [s for s in (REVERSE, FORWARD) if isinstance(trial.outcomes.get(s), Outcome)]
        for position, group in enumerate(_groups(len(trial.inputs), 1 if nested else GROUPS)):
            other = opinion(trial, position + 1, group)
            outcomes = {s: other.outcome(s) for s in (ran[:1] if nested else ran)}
            told = check_gradient(other, 1, {s: o for s, o in outcomes.items() if isinstance(o, Outcome)})
            if any(v.reason == SUSPECT for v in told):
                return Suspicion(other, 1, list(outcomes))
        return None


def _elements(suspicion: Suspicion, place: Place | None) -> Iterator[Suspicion]:
    """The suspicion along single elements, those first that differ most: where one is excused, the next one may not be."""
    case, aside = suspicion.case(), set[Place]()
    along = suspicion.trial.direction(suspicion.order - 1)
    for _ in range(ELEMENTS if case is not None else 0):
        if place is None:
            assert case is not None
            spot = cheaply(case, along, case.scenarios, aside)
            if spot is None:
                return
            place = spot[0]
        yield _focused(suspicion, place)
        aside, place = aside | alike(suspicion.trial, place), None


def _focused(suspicion: Suspicion, place: Place) -> Suspicion:
    """The same suspicion along one element alone."""
    trial = copy.copy(suspicion.trial)
    trial.outcomes = {s: o for s, o in trial.outcomes.items() if s.order < suspicion.order}
    trial._directions = list(trial._directions)
    along = trial._directions[suspicion.order - 1]
    trial._directions[suspicion.order - 1] = restricted(trial, along, [(place[0], place[1], place[1] + 1)], set())
    return Suspicion(trial, suspicion.order, suspicion.scenarios)


def opinion(trial: Trial, number: int, moving: Sequence[int]) -> Trial:
    """Another look at the same point: other directions, of some inputs alone, and outputs weighed so that none drowns beside another."""
    other = copy.copy(trial)
    other.salt = trial.salt + number
    other.noise, other.outcomes, other._directions = Noise(start_of(other.salt)).like, {}, []
    other.v = Vec([_balanced(other.noise(o.shape, o.dtype), o, slope) for o, slope in zip(trial.direct, _slopes(trial))])
    other.held = frozenset(range(len(trial.inputs))) - frozenset(moving)
    return other


def _slopes(trial: Trial) -> Iterator[np.ndarray | None]:
    forward = trial.outcomes.get(FORWARD)
    yield from forward.result if isinstance(forward, Outcome) else [None] * len(trial.direct)


def _balanced(weights: np.ndarray, output: np.ndarray, slope: np.ndarray | None) -> np.ndarray:
    with np.errstate(all="ignore"):
        size = np.abs(output) / STEEP
        size = size if slope is None or slope.shape != output.shape else np.maximum(np.abs(slope), size)
        balanced = weights / size
    return np.asarray(np.where(np.isfinite(balanced) & (size > STEP), balanced, weights), weights.dtype)


def _groups(count: int, most: int) -> list[list[int]]:
    """The inputs in so many groups at most, one after the other."""
    parts = min(count, most)
    return [list(range(k * count // parts, (k + 1) * count // parts)) for k in range(parts)]
