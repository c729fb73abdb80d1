"""Variants: a scenario run in another way (compiled or not, batched, linearised) gives what the plain one gives."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles import referee
from gradfuzz.oracles.status import check_status
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.value import check_value
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, VARIANT, Verdict
from gradfuzz.program.model import Program
from gradfuzz.targets.protocol import Modes, Outcome, Refusal, Target, scenario_name

# Each variant costs as much as the plain scenarios together, so a fraction of the mutants is examined, each in one of them.
EVERY = 8
# A variant may cost a compilation, so it keeps its turn for so many mutants.
TURN = 64
# Another order of the same sums: this many units of the largest term, and this many times what a rounding of the inputs does.
UNITS = 4096.0
JITTER = 64.0

# The derivatives first: their directions serve the direct run too.
SCENARIOS: tuple[Modes, ...] = (("r",), ("f",), ())


def due(target: Target, program: Program, salt: int) -> tuple[str, ...]:
    """The variant that is this mutant's turn, if it is any's. What shrinking changes does not change the turn."""
    if not target.variants or salt % EVERY:
        return ()
    calls = zlib.crc32(" ".join(call.func for call in program.calls()).encode())
    return (target.variants[(calls + salt // TURN) % len(target.variants)],)


def check_variants(trial: Trial, variants: Sequence[str]) -> list[Verdict]:
    """A verdict for each variant that says something else, or AGREE."""
    found = [verdict for name in variants for modes in SCENARIOS for verdict in _check(trial, name, modes)]
    return found or [Verdict(AGREE, "variant", VARIANT, 1)]


def _check(trial: Trial, variant: str, modes: Modes) -> list[Verdict]:
    plain = trial.outcome(modes)
    if isinstance(plain, Refusal):
        return []
    name = f"{variant} {scenario_name(modes)}"
    outcome = trial.variant(variant, modes)
    if isinstance(outcome, Refusal):
        verdict = check_status(trial, modes, outcome)
        verdict.scenarios = [name]
        return [verdict] if verdict.is_finding else []
    value = check_value(trial, modes, outcome, name)
    if value is not None and value.outcome != AGREE:
        # Outside the domain one way may well say infinity and another that there is no number; vectors may be free up to their sign.
        return [value] if trial.finite and not _same_but_for_signs(trial, outcome) else []
    return _compare(trial, name, modes, plain, outcome) if modes else []


def _same_but_for_signs(trial: Trial, outcome: Outcome) -> bool:
    """Whether the factors of a decomposition differ by their signs alone. One output by itself has its sign and no other."""
    pairs = list(zip(trial.direct, outcome.outputs))
    return len(pairs) > 1 and all(
        a.shape == b.shape and np.allclose(np.abs(a), np.abs(b), UNITS * trial.epsilon, UNITS * trial.epsilon) for a, b in pairs
    )


def _compare(trial: Trial, name: str, modes: Modes, plain: Outcome, outcome: Outcome) -> list[Verdict]:
    expected, actual = trial.number(plain), trial.number(outcome)
    if expected == actual or (not np.isfinite(expected) and not np.isfinite(actual)):
        return []
    bar = _bar(trial, modes, expected)
    if abs(actual - expected) <= bar:
        return []
    if not np.isfinite(bar) or not trial.finite or _low(trial):
        return [Verdict(INCONCLUSIVE, "variant", VARIANT, 1, [name], "ill-conditioned: rounding the inputs changes as much")]
    if not referee.smooth(trial, 1):
        return [Verdict(INCONCLUSIVE, "variant", VARIANT, 1, [name], "kink: each way may choose another slope")]
    reason = f"{name} differs from {scenario_name(modes)} by more than rounding explains"
    detail = {"numbers": {scenario_name(modes): expected, name: actual}}
    return [Verdict(DISAGREE, "variant", VARIANT, 1, [name], reason, expected, actual, bar, detail)]


def _bar(trial: Trial, modes: Modes, expected: float) -> float:
    """How far the plain scenario moves under roundings of its inputs, and what its own sums may lose."""
    moved, direction = 0.0, trial.direction(0)
    for index in range(3):
        jitter = trial.jitter(index + 1)
        for sign in (-2, 2):
            outcome = trial.attempt(modes, [direction], jitter, sign * trial.epsilon)
            moved = max(moved, abs(trial.number(outcome) - expected)) if isinstance(outcome, Outcome) else moved
    forward = trial.outcome(("f",))
    terms = float(sum(np.abs(c).sum() for c in trial.weighted(forward))) if isinstance(forward, Outcome) else 0.0
    size = max(abs(expected), terms) if np.isfinite(terms) else abs(expected)
    return JITTER * moved + UNITS * trial.epsilon * size


def _low(trial: Trial) -> bool:
    """Lower precisions than float32 round their intermediates too coarsely to be told apart from a mistake."""
    return trial.epsilon > 2.0**-20
