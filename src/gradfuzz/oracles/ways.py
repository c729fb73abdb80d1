"""Ways: a scenario run in another way (compiled or not, batched, linearised) gives what the plain one gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles import referee
from gradfuzz.oracles.status import check_status
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.value import check_value
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, WAY, Verdict
from gradfuzz.targets.base.protocol import Outcome, Refusal
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Scenario

# Another order of the same sums: this many units of the largest term, and this many times what a rounding of the inputs does.
UNITS = 4096.0
JITTER = 64.0
# Lower precisions than float32 round their intermediates too coarsely to be told apart from a mistake.
TOO_COARSE = 2.0**-20

# The derivatives first: their directions serve the direct run too.
COMPARED = (REVERSE, FORWARD, DIRECT)


def check_ways(trial: Trial, ways: Sequence[str]) -> list[Verdict]:
    """A verdict for each scenario that says something else in its way; AGREE if none does, and nothing where nothing could be compared."""
    pairs = [scenario.in_way(way) for way in ways for scenario in COMPARED]
    found = [verdict for scenario in pairs for verdict in _check(trial, scenario)]
    compared = any(s.modes and isinstance(trial.outcome(s), Outcome) and isinstance(trial.outcome(s.plain), Outcome) for s in pairs)
    return found or ([Verdict(AGREE, "way", WAY, 1)] if compared else [])


def _check(trial: Trial, scenario: Scenario) -> list[Verdict]:
    plain = trial.outcome(scenario.plain)
    if isinstance(plain, Refusal):
        return []
    outcome = trial.outcome(scenario)
    if isinstance(outcome, Refusal):
        verdict = check_status(trial, scenario, outcome)
        return [verdict] if verdict.is_finding else []
    value = check_value(trial, scenario, outcome)
    if value is not None and value.outcome != AGREE:
        # Outside the domain one way may well say infinity and another that there is no number; vectors may be free up to their sign.
        return [value] if trial.finite and not _same_but_for_signs(trial, outcome) else []
    return _compare(trial, scenario, plain, outcome) if scenario.modes else []


def _same_but_for_signs(trial: Trial, outcome: Outcome) -> bool:
    """Whether the factors of a decomposition differ by their signs alone. One output by itself has its sign and no other."""
    pairs = list(zip(trial.direct, outcome.outputs))
    return len(pairs) > 1 and all(
        a.shape == b.shape and np.allclose(np.abs(a), np.abs(b), UNITS * trial.epsilon, UNITS * trial.epsilon) for a, b in pairs
    )


def _compare(trial: Trial, scenario: Scenario, plain: Outcome, outcome: Outcome) -> list[Verdict]:
    expected, actual = trial.number(plain), trial.number(outcome)
    if expected == actual or (not np.isfinite(expected) and not np.isfinite(actual)):
        return []
    bar = _bar(trial, scenario.plain, expected)
    if abs(actual - expected) <= bar:
        return []
    if not np.isfinite(bar) or not trial.finite or trial.epsilon > TOO_COARSE:
        return [Verdict(INCONCLUSIVE, "way", WAY, 1, [scenario], "ill-conditioned: rounding the inputs changes as much")]
    if not referee.smooth(trial, 1):
        return [Verdict(INCONCLUSIVE, "way", WAY, 1, [scenario], "kink: each way may choose another slope")]
    reason = f"{scenario.name} differs from {scenario.plain.name} by more than rounding explains"
    detail = {"numbers": {scenario.plain.name: expected, scenario.name: actual}}
    return [Verdict(DISAGREE, "way", WAY, 1, [scenario], reason, expected, actual, bar, detail)]


def _bar(trial: Trial, plain: Scenario, expected: float) -> float:
    """How far the plain scenario moves under roundings of its inputs, and what its own sums may lose."""
    moved, direction = 0.0, trial.direction(0)
    for index in range(3):
        jitter = trial.jitter(index + 1)
        for sign in (-2, 2):
            outcome = trial.attempt(plain, [direction], jitter, sign * trial.epsilon)
            moved = max(moved, abs(trial.number(outcome) - expected)) if isinstance(outcome, Outcome) else moved
    forward = trial.outcome(FORWARD)
    terms = float(sum(np.abs(c).sum() for c in trial.weighted(forward))) if isinstance(forward, Outcome) else 0.0
    size = max(abs(expected), terms) if np.isfinite(terms) else abs(expected)
    return JITTER * moved + UNITS * trial.epsilon * size
