"""The other direction: what the direct run refuses, no derivative accepts; and no assertion fails under differentiation alone.

Nothing is measured here. A Program is run op by op, directly and under each mode, with nothing run before it, and only whether it
runs is compared: so a library that checks less while it traces, or refuses more while it compiles, is not held against itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.errors import Poisoned
from gradfuzz.oracles.verdict import DISAGREE, INTERNAL, STATUS, Verdict
from gradfuzz.program.model import Program
from gradfuzz.targets.base.errors import normalised
from gradfuzz.targets.base.protocol import Refusal, Target
from gradfuzz.targets.base.refusals import OUTSIDE, symptom_of
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Scenario

# What says nothing about the arguments: our own bounds, the computer's, and what a library declares not to have, which another kernel,
# taken for the sake of a derivative, may have. An assertion is a finding already.
NOT_ASKED = (OUTSIDE, "unsupported", "memory", "poisoned", "internal")


def check_refused(target: Target, program: Program, refusal: Refusal, only: frozenset[Scenario] | None) -> list[Verdict]:
    """Verdicts on a Program that the direct run refuses: none where every mode refuses it, too."""
    if refusal.kind in NOT_ASKED:
        return []
    tried = {scenario: _bare(target, program, scenario) for scenario in _modes(only)}
    accepting = [scenario for scenario, found in tried.items() if isinstance(found, str)]
    if not accepting:
        return _assertions(tried, refusal.message)
    again = _bare(target, program, DIRECT)
    if not isinstance(again, Refusal) or normalised(again.message) != normalised(refusal.message):
        return []  # it is compiling that refuses it, or the refusal comes and goes
    message = refusal.message[:300]
    names = " and ".join(s.name for s in accepting)
    return [
        Verdict(
            DISAGREE, "status", STATUS, 1, accepting, f"{names} accepts what the direct run refuses: {message}",
            expected=f"refused, as directly: {message}", actual=f"runs: {tried[accepting[0]]}", detail={"direct": message},
            symptom=f"accepted {symptom_of(refusal.message)}",
        )
    ]  # fmt: skip


def check_unseen(target: Target, program: Program, only: frozenset[Scenario] | None) -> list[Verdict]:
    """Verdicts on a Program that has no floating output: nothing is differentiated, and all the same no assertion may fail."""
    return _assertions({scenario: _bare(target, program, scenario) for scenario in _modes(only)}, "")


def _modes(only: frozenset[Scenario] | None) -> Sequence[Scenario]:
    return [s for s in (REVERSE, FORWARD) if only is None or s in only]


def _assertions(tried: dict[Scenario, str | Refusal], direct: str) -> list[Verdict]:
    """Assertions of the library's own that fail under some mode; `direct`: how the direct run refuses the Program, if it does."""
    failed = [(s, found) for s, found in tried.items() if isinstance(found, Refusal) and found.kind == "internal"]
    return [
        Verdict(
            DISAGREE, "status", INTERNAL, 1, [scenario], found.message[:600], "no assertion", found.message[:600],
            detail={"direct": direct[:300]}, symptom=found.symptom, subject="any",
        )
        for scenario, found in failed
    ]  # fmt: skip


def _bare(target: Target, program: Program, scenario: Scenario) -> str | Refusal:
    try:
        return target.bare(program, scenario)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        refusal = target.classify(error)
        if refusal.kind == "poisoned":
            raise Poisoned from error
        return refusal
