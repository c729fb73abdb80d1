"""One call for people's own functions: every way of differentiating must agree, or it raises with the evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.check import Examination, Options
from gradfuzz.oracles.effort import FULL, THRIFTY
from gradfuzz.oracles.evidence.narrowing import element_name
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import ACCURACY, AGREE, DISAGREE, INCONCLUSIVE, INVALID, UNSUPPORTED, Verdict
from gradfuzz.program.model import Program
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.functions import Functions
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.testing import message
from gradfuzz.testing.evidence import Evidence, gather, told
from gradfuzz.testing.function import FunctionTarget, Subject, filled, subject_of
from gradfuzz.testing.judging import Judge
from gradfuzz.testing.library import pick
from gradfuzz.testing.meter import EVALUATIONS, SECONDS, Meter, Spent
from gradfuzz.testing.modes import scenarios
from gradfuzz.testing.smallest import smallest, smallest_error


@dataclass(frozen=True)
class Details:
    """What a mismatch has to say."""

    text: str
    evidence: Evidence | None
    example: dict[str, Any]
    reproducer: str


class GradientMismatch(AssertionError):
    """The ways of differentiating a function disagree beyond their error bars. The message is the evidence.

    `verdict` is the oracle's word, `evidence` the table, `example` the smallest failing inputs by name, `reproducer` a script.
    The table is measured when it is first asked for: a shrinker meets hundreds of mismatches and reads one.
    """

    def __init__(self, verdict: Verdict, evaluations: int, measure: Callable[[], Details]) -> None:
        super().__init__(verdict.reason)
        self.verdict, self.evaluations = verdict, evaluations
        self._measure = measure

    @property
    def digits(self) -> int | None:
        """How many digits of the derivative are right, if it is merely inaccurate; None if it is wrong altogether."""
        return message.digits(self.verdict) if self.verdict.kind == ACCURACY else None

    @cached_property
    def details(self) -> Details:
        return self._measure()

    @property
    def evidence(self) -> Evidence | None:
        return self.details.evidence

    @property
    def example(self) -> dict[str, Any]:
        return self.details.example

    @property
    def reproducer(self) -> str:
        return self.details.reproducer

    def __str__(self) -> str:
        return self.details.text


class InconclusiveWarning(UserWarning):
    """Nothing is known to be wrong, and the derivative could not be judged either."""


@dataclass(frozen=True)
class Agreement:
    """What a check that passed has seen, and what it cost."""

    verdicts: tuple[Verdict, ...]
    evaluations: int = 0

    @property
    def conclusive(self) -> bool:
        return not self.reasons

    @property
    def reasons(self) -> list[str]:
        """Why something could not be judged."""
        return [f"order {v.order}: {v.reason}" for v in self.verdicts if v.outcome == INCONCLUSIVE]

    @property
    def not_run(self) -> dict[str, str]:
        """Modes that the library says it does not have for this function, and how it says so."""
        return {s.name: v.reason for v in self.verdicts if v.outcome == UNSUPPORTED for s in v.scenarios}


def check_gradients(
    f: Callable[..., Any],
    *inputs: Any,
    order: int = 1,
    modes: Sequence[str] | None = None,
    library: Any = None,
    wrt: str | int | Sequence[str | int] | None = None,
    structure: str | Sequence[str | None] | None = None,
    domain: Any = None,
    ways: Sequence[str] = (),
    own_rule: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    seconds: float = SECONDS,
    thorough: bool = False,
    seed: int = 0,
    shrink: bool = True,
) -> Agreement:
    """Check that reverse mode, forward mode and the numeric derivative of `f` agree at the inputs, up to `order`.

    `f` takes and returns tensors of a library that gradfuzz knows, or tensors of your own (`library=Adapter(…)`).
    Inputs are tensors or NumPy arrays, also inside lists and dicts; floating ones are differentiated, others are passed on.

    - `modes`: only these, as in `("reverse",)` or `("forward-over-reverse",)`, with what they stand on;
    - `library`: its name or an Adapter, where the inputs do not tell;
    - `wrt`: only these inputs are differentiated, by name or place;
    - `structure`: what the inputs are, so that steps stay inside: "symmetric", "positive_definite", "simplex", "lower", "upper",
      one for all or one for each differentiated input;
    - `domain`: where `f` is defined: an interval such as `(0, 1)`, a predicate of the inputs, or one of these for each floating
      input; no step and no smaller example leaves it;
    - `ways`: further ways of running that must give the same derivatives: `"aot_eager"`, `"batched"`, `"checkpointed"`, …, as
      `gradfuzz targets` lists them, and `"jit"` or `"graph"` for libraries that compile whatever they are run on;
    - `own_rule=True`: the derivative of `f` is not the true one, on purpose (a straight-through estimator, a clipped gradient): it is
      compared with nothing but itself, in these ways;
    - `rtol`, `atol`: how far the derivative may be off by design (an ODE's adjoint, an implicit layer's solver). Leave them at
      zero otherwise: error bars are measured, and a derivative that is nearly right is told apart from one that is wrong;
    - `seconds`: how long the check may take; `thorough=True` lifts the limit of 300 evaluations that a failing check may cost;
    - `seed`: chooses the random directions; `shrink=False` skips the search for a smaller example.

    The cost is about a dozen evaluations of `f` where it agrees, whatever the number of inputs. Raises GradientMismatch; warns where
    nothing can be said (at a kink, at an edge of the domain, at a limit).
    """
    chosen = pick(library, inputs)
    f, inputs = chosen.opened(f, inputs)
    with running(chosen):
        effort = replace(FULL if thorough else THRIFTY, rtol=_tolerance("rtol", rtol), atol=_tolerance("atol", atol))
        plain = scenarios(modes, order, chosen)
        options = Options(order, plain, seed, ways=_ways(ways, own_rule, chosen), own_rule=own_rule, effort=effort)
        meter: Meter | None = None
        for function in filter(None, (f, chosen.recording(f))):
            subject = subject_of(function, inputs, chosen, structure, wrt, domain)
            subject.meter = meter = meter or Meter(subject.title, None if thorough else EVALUATIONS, seconds)
            check = _Check(subject, options, modes, thorough)
            try:
                found = check.run(shrink)
            finally:
                subject.meter.done()
            if not isinstance(found, GradientMismatch) and found.outcome == AGREE and subject.coarse:
                # That a lower precision gives what double precision gives says nothing of a rule that is wrong in both.
                check = _Check(subject.widened(), options, modes, thorough)
                found = _both(found, check.run(shrink))
            if isinstance(found, GradientMismatch):
                raise found
            examination = found
            if examination.outcome != INVALID:
                examination.verdicts.extend(_not_run(options, examination.trial))
                examination.verdicts.extend(_asides(subject, examination))
                break
    return _agreement(subject, examination, check.target.error)


def gradients_agree(f: Callable[..., Any], *inputs: Any, **options: Any) -> bool:
    """`check_gradients` as a yes or no; takes the same arguments."""
    try:
        check_gradients(f, *inputs, **{"shrink": False, **options})
    except GradientMismatch:
        return False
    return True


class _Check:
    """One check: judged where it stands, or on a smaller example that stands for it."""

    def __init__(self, subject: Subject, options: Options, modes: Sequence[str] | None, thorough: bool) -> None:
        self.subject, self.options, self.modes, self.thorough = subject, options, modes, thorough
        self.judge = Judge(options)
        self.target = FunctionTarget(subject)

    def run(self, shrink: bool) -> Examination | GradientMismatch:
        subject, meter = self.subject, self.subject.meter
        listed = subject.program(listed=True)
        try:
            found, suspicion = self.judge.look(self.target, self.target.own_program)
            if suspicion is not None:
                smaller, place = listed, None
                if shrink:
                    smaller, place = smallest(self.target, self.judge, listed, suspicion, meter, self.thorough)
                element = "" if place is None else element_name(suspicion.trial, *place)
                example = self._example(smaller, element) if smaller is not listed else None
                if example is not None:
                    return example
                found = self.judge.settle(self.target, self.target.own_program, (found, suspicion), place)
            elif found.findings and shrink:
                example = self._example(smallest_error(self.target, self.judge, listed, found.findings[0], meter, self.thorough))
                if example is not None:
                    return example
        except Spent as limit:
            verdict = Verdict(INCONCLUSIVE, "gradient", order=1, reason=f"limit: it could not be judged within {limit}")
            return Examination([verdict])
        return self._mismatch(self.target, found, listed) if found.outcome == DISAGREE else found

    def _example(self, program: Program, element: str = "") -> GradientMismatch | None:
        """The check once more, of the very arguments that would be printed; None if they do not show it."""
        subject = self.subject
        arrays = [np.array(materialise(r)) for r in program.inputs.values()]
        moving = [name for name, recipe in program.inputs.items() if recipe.differentiable]
        arguments = [filled(part, arrays) for part in subject.template]
        structures = [s for s, r in zip(subject.structures, program.inputs.values()) if r.differentiable]
        again = subject_of(subject.function, arguments, subject.library, structures, moving)
        again.domain, again.meter = subject.domain, subject.meter
        target = FunctionTarget(again)
        try:
            found = self.judge.settle(target, target.own_program)
        except Spent:
            return None
        return self._mismatch(target, found, program, element) if found.outcome == DISAGREE else None

    def _mismatch(self, target: FunctionTarget, found: Examination, program: Program, element: str = "") -> GradientMismatch:
        verdict, trial = found.findings[0], found.trial
        spent = self.subject.meter.evaluations
        return GradientMismatch(verdict, spent, lambda: self._details(target, program, found.findings, trial, element))

    def _details(
        self, target: FunctionTarget, program: Program, findings: Sequence[Verdict], trial: Trial | None, element: str
    ) -> Details:  # fmt: skip
        verdict, evidence = findings[0], None
        if trial is not None and verdict.oracle == "gradient":
            with running(target.subject.library):
                evidence = self._measured(trial, verdict)
        example = {name: materialise(recipe) for name, recipe in program.inputs.items()}
        script = message.reproducer(target.subject, program, self.options, self.modes)
        text = message.mismatch(self.subject, verdict, findings, evidence, script, target.causes, element)
        return Details(text, evidence, example, script)

    def _measured(self, trial: Trial, verdict: Verdict) -> Evidence | None:
        """The table, as far as the limits allow."""
        known = told(trial, verdict)
        if known is not None and verdict.order == 1 and sum(o.size for o in trial.outputs) == 1:
            return known
        try:
            ran = [s for s in trial.scenarios(verdict.order, self.options.scenarios) if not isinstance(trial.outcome(s), Refusal)]
            return gather(trial, verdict.order, ran, verdict.detail.get("element"))
        except Spent:
            return known


@contextmanager
def running(library: Functions) -> Iterator[None]:
    """The library's settings for a check; and warnings that a project has made errors are warnings again: they are no failures."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filters[:] = [("default", *rest) if action == "error" else (action, *rest) for action, *rest in warnings.filters]  # type: ignore[index]
        stack.enter_context(library.session())
        stack.enter_context(np.errstate(all="ignore"))
        yield


def _both(low: Examination, wide: Examination | GradientMismatch) -> Examination | GradientMismatch:
    """What was seen in a lower precision, and in double precision."""
    if isinstance(wide, GradientMismatch) or wide.outcome == INVALID:
        return wide
    return replace(wide, verdicts=[*low.verdicts, *wide.verdicts])


def _tolerance(name: str, value: float) -> float:
    if not (isinstance(value, (int, float)) and 0 <= value < 1):
        raise GradfuzzError(f"{name}={value!r}: a tolerance is a number from 0 up to 1")
    return float(value)


def _ways(names: Sequence[str], own_rule: bool, library: Functions) -> tuple[str, ...]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        if name not in library.ways:
            raise GradfuzzError(f"ways: {library.name} has no way {name!r}; it has {', '.join(library.ways) or 'none'}")
    if own_rule and not wanted:
        raise GradfuzzError("own_rule=True compares the rule in further ways of running: name some with ways=[...]")
    return wanted


def _not_run(options: Options, trial: Trial | None) -> list[Verdict]:
    """A word on each way that was asked for and could not be run at all."""
    if trial is None:
        return []
    found = []
    for name in options.ways or ():
        seen = [o for s, o in trial.outcomes.items() if s.way == name]
        refused = [o for o in seen if isinstance(o, Refusal)]
        if refused and len(refused) == len(seen):
            found.append(Verdict(INCONCLUSIVE, "way", order=1, reason=f"{name} could not be run: {refused[0].message[:200]}"))
    return found


def _asides(subject: Subject, examination: Examination) -> list[Verdict]:
    """A word on what is wrong beside derivatives that are right."""
    if any(v.outcome not in (AGREE, UNSUPPORTED) for v in examination.verdicts):
        return []
    return [Verdict(INCONCLUSIVE, "aside", order=1, reason=text) for text in subject.asides or ()]


def _agreement(subject: Subject, examination: Examination, error: BaseException | None) -> Agreement:
    if examination.outcome == INVALID:
        raise GradfuzzError(f"{subject.title} itself fails at these inputs: {error!r}") from error
    if not any(v.outcome in (AGREE, INCONCLUSIVE) for v in examination.verdicts):
        reasons = "; ".join(dict.fromkeys(v.reason for v in examination.verdicts)) or "no way of differentiating it was asked for"
        raise GradfuzzError(f"{subject.title} cannot be checked: {reasons}")
    found = Agreement(tuple(examination.verdicts), subject.meter.evaluations)
    if not found.conclusive:
        warnings.warn(
            f"the gradient of {subject.title} could not be judged ({'; '.join(found.reasons)})", InconclusiveWarning, stacklevel=3
        )
    return found


__all__ = ["Agreement", "GradientMismatch", "InconclusiveWarning", "check_gradients", "gradients_agree"]
