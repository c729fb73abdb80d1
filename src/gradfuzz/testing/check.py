"""One call for people's own functions: every way of differentiating must agree, or it raises with the evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INVALID, Verdict
from gradfuzz.program.model import Program
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.functions import Functions
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.scenario import REVERSE, Scenario, nestings
from gradfuzz.testing import message
from gradfuzz.testing.evidence import Evidence, gather
from gradfuzz.testing.function import FunctionTarget, Subject, subject_of
from gradfuzz.testing.library import pick
from gradfuzz.testing.smallest import smallest


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

    def __init__(self, verdict: Verdict, measure: Callable[[], Details]) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict
        self._measure = measure

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
    """What a check that passed has seen."""

    verdicts: tuple[Verdict, ...]

    @property
    def conclusive(self) -> bool:
        return not self.reasons

    @property
    def reasons(self) -> list[str]:
        """Why something could not be judged."""
        return [f"order {v.order}: {v.reason}" for v in self.verdicts if v.outcome == INCONCLUSIVE]


def check_gradients(
    f: Callable[..., Any],
    *inputs: Any,
    order: int = 1,
    modes: Sequence[str] | None = None,
    library: Any = None,
    structure: str | Sequence[str | None] | None = None,
    ways: Sequence[str] = (),
    own_rule: bool = False,
    seed: int = 0,
    shrink: bool = True,
) -> Agreement:
    """Check that reverse mode, forward mode and the numeric derivative of `f` agree at the inputs, up to `order`.

    `f` takes and returns tensors of a library that gradfuzz knows, or tensors of your own (`library=Adapter(…)`).
    Inputs are tensors or NumPy arrays, also inside lists and dicts; floating ones are differentiated, others are passed on.

    - `modes`: only these ways, as in `("reverse",)` or `("forward-over-reverse",)`;
    - `library`: its name or an Adapter, where the inputs do not tell;
    - `structure`: what the inputs are, so that steps stay inside: "symmetric", "positive_definite", "simplex", "lower", "upper",
      one for all or one for each differentiated input;
    - `ways`: further ways of running that must give the same derivatives: `"aot_eager"`, `"batched"`, `"checkpointed"`, …, as
      `gradfuzz targets` lists them, and `"jit"` or `"graph"` for libraries that compile whatever they are run on;
    - `own_rule=True`: the derivative of `f` is not the true one, on purpose (a straight-through estimator, a clipped gradient): it is
      compared with nothing but itself, in these ways;
    - `seed`: chooses the random directions; `shrink=False` skips the search for a smaller example.

    The cost is a few evaluations of `f`, whatever the number of inputs. There is no tolerance to choose: a difference counts if it
    exceeds the error bars of both sides. Raises GradientMismatch; warns where nothing can be said (at a kink, at an edge of the domain).
    """
    chosen = pick(library, inputs)
    f, inputs = chosen.opened(f, inputs)
    with chosen.session(), np.errstate(all="ignore"):
        subject = subject_of(f, inputs, chosen, structure)
        options = Options(order, _scenarios(modes, order, chosen), seed, ways=_ways(ways, own_rule, chosen), own_rule=own_rule)
        target = FunctionTarget(subject)
        examination = examine(target.as_target, target.own_program, options)
        if examination.outcome == DISAGREE:
            raise _mismatch(target, options, examination, shrink)
        examination.verdicts.extend(_not_run(options, examination.trial))
    return _agreement(subject, examination, target.error)


def gradients_agree(f: Callable[..., Any], *inputs: Any, **options: Any) -> bool:
    """`check_gradients` as a yes or no; takes the same arguments."""
    try:
        check_gradients(f, *inputs, **{"shrink": False, **options})
    except GradientMismatch:
        return False
    return True


def _scenarios(modes: Sequence[str] | None, order: int, library: Functions) -> frozenset[Scenario] | None:
    if order < 1:
        raise GradfuzzError(f"order={order}: derivatives start at order 1")
    if order > library.highest_order:
        raise GradfuzzError(f"order={order}: {library.name} is differentiated up to order {library.highest_order} here; use a lower order")
    if modes is None:
        return None if library.forward_mode else frozenset({REVERSE})
    known = {s.name: s for k in range(1, order + 1) for s in nestings(k)}
    names = [modes] if isinstance(modes, str) else modes
    for name in names:
        if name not in known:
            raise GradfuzzError(f"unknown mode {name!r} at order {order}; known: {', '.join(known)}")
    return frozenset(known[name] for name in names)


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


def _agreement(subject: Subject, examination: Examination, error: BaseException | None) -> Agreement:
    if examination.outcome == INVALID:
        raise GradfuzzError(f"{subject.title} itself fails at these inputs: {error!r}") from error
    if not any(v.outcome in (AGREE, INCONCLUSIVE) for v in examination.verdicts):
        reasons = "; ".join(dict.fromkeys(v.reason for v in examination.verdicts)) or "no way of differentiating it was asked for"
        raise GradfuzzError(f"{subject.title} cannot be checked: {reasons}")
    found = Agreement(tuple(examination.verdicts))
    if not found.conclusive:
        warnings.warn(
            f"the gradient of {subject.title} could not be judged ({'; '.join(found.reasons)})", InconclusiveWarning, stacklevel=3
        )
    return found


def _mismatch(target: FunctionTarget, options: Options, examination: Examination, shrink: bool) -> GradientMismatch:
    program, first = target.subject.program(listed=True), examination.findings[0]
    if not shrink:
        return GradientMismatch(first, lambda: _details(target, options, program, first, first, examination.trial))
    program = smallest(target, options, program, first)
    again = examine(target.as_target, program, options)
    verdict = next((v for v in again.findings if v.kind == first.kind), first)
    details = _details(target, options, program, first, verdict, again.trial)
    return GradientMismatch(verdict, lambda: details)


def _details(
    target: FunctionTarget, options: Options, program: Program, first: Verdict, verdict: Verdict, trial: Trial | None
) -> Details:  # fmt: skip
    evidence = None
    if trial is not None and verdict.oracle == "gradient":
        with target.subject.library.session(), np.errstate(all="ignore"):
            ran = [s for s in trial.scenarios(verdict.order, options.scenarios) if not isinstance(trial.outcome(s), Refusal)]
            evidence = gather(trial, verdict.order, ran, verdict.detail.get("element"))
    example = {name: materialise(recipe) for name, recipe in program.inputs.items()}
    fixed = [name for name, recipe in program.inputs.items() if not recipe.differentiable]
    script = message.reproducer(target.subject, program, options)
    return Details(message.mismatch(target.subject, first, verdict, evidence, script, fixed), evidence, example, script)


__all__ = ["Agreement", "GradientMismatch", "InconclusiveWarning", "check_gradients", "gradients_agree"]
