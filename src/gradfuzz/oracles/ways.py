"""Ways: a scenario run in another way (compiled or not, batched, checkpointed) or on another device gives what the plain one gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.numdiff.ladder import SMALLEST
from gradfuzz.oracles import referee
from gradfuzz.oracles.evidence.rounding import number_scatter
from gradfuzz.oracles.gauge import draws, same_up_to_gauge
from gradfuzz.oracles.status import check_status
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.value import check_value
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INTERNAL, WAY, Verdict
from gradfuzz.program.model import DISCRETE
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.dtypes import UNITS as UNITS_OF_TYPES
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, Scenario, nestings
from gradfuzz.targets.base.ways import USUAL, Way
from gradfuzz.targets.homes import homes

# Another order of the same sums: this many units of the largest term, and this many times what a rounding of the inputs does.
UNITS = 4096.0
JITTER = 64.0
# Where a derivative is zero, so is everything that could be measured of it; what is left of larger numbers that cancel is not. They are as
# large as the order below, of which this many roundings stay.
LEFT_UNITS = 8.0
# Two numbers that are both no more than this many of these roundings say the same: there is no slope.
NONE_UNITS = 64.0
# A way in a lower precision rounds every intermediate, of which there are few: it loses a few of its units, or it is wrong.
LOW_UNITS = 32.0
LOW_JITTER = 8.0
# Lower precisions than float32 round their intermediates too coarsely to be told apart from a mistake.
TOO_COARSE = 2.0**-20
# So often a call is repeated that may read what others have left in memory: what it reads may well be the same once more.
AGAIN = 4
# By these the weights are multiplied: a kernel that takes their logarithm rounds other numbers then.
WEIGHTS = (1.25, 0.625, 1.75)
# What a way computes with that computes, by its precision: neither these nor their derivatives leave the range when they are multiplied.
LARGEST = {"": 1e30, "float32": 1e9}
# Whose fault it is where a way answers for itself.
ANY = "any"
# The way in which a device gives the same numbers each time.
DETERMINISTIC = "deterministic"
# A device is another library underneath: all nestings up to this order are compared.
DEVICE_ORDER = 2


def check_ways(
    trial: Trial, ways: Sequence[str], order: int = 1, device: str = "", own_rule: bool = False, only: frozenset[Scenario] | None = None
) -> list[Verdict]:  # fmt: skip
    """A verdict for each scenario that says something else in its way; AGREE if none does, and nothing where nothing could be compared.

    `only`: derivatives of these plain scenarios. `own_rule`: the derivative is what a user's rule says, whatever the function does there;
    a kink excuses nobody.
    """
    pairs = [s for s in (*_pairs(trial, ways, order), *_on(device, order)) if only is None or not s.modes or s.plain in only]
    found: list[Verdict] = []
    differing: set[tuple[str, str]] = set()
    wrong: set[tuple[str, str]] = set()
    for scenario in pairs:
        # A derivative of what differs already says nothing new, and neither do the outputs where the derivative is another.
        where = scenario.way, scenario.device
        if where not in (differing if scenario.order > 1 else wrong if not scenario.order else ()):
            found += (verdicts := _check(trial, scenario, own_rule))
            if verdicts:
                differing.add(where)
            if any(verdict.is_finding and verdict.kind == WAY for verdict in verdicts):
                wrong.add(where)
    compared = any(s.modes and isinstance(trial.outcome(s), Outcome) and isinstance(trial.outcome(s.plain), Outcome) for s in pairs)
    return found or ([Verdict(AGREE, "way", WAY, 1)] if compared else [])


def blamed(target: str, verdict: Verdict) -> str:
    """The name of what is at fault where a way answers for itself, whichever API shows it; else nothing."""
    if verdict.subject != ANY or not verdict.scenarios:
        return ""
    ways = homes()[target].data("ways").get("ways", {}) if target in homes() else {}
    return str(ways.get(verdict.scenarios[0].way, {}).get("blames", ""))


def _pairs(trial: Trial, ways: Sequence[str], order: int) -> Iterator[Scenario]:
    for name in ways:
        way = trial.target.ways.get(name) or Way(name)
        yield from (scenario.in_way(name) for scenario in way.scenarios if scenario.order <= order)


def _on(device: str, order: int) -> Iterator[Scenario]:
    if device:
        yield from (Scenario(s.modes, device=device) for s in (*USUAL, *(nestings(2) if order >= DEVICE_ORDER else ())))


def _check(trial: Trial, scenario: Scenario, own_rule: bool) -> list[Verdict]:
    plain = trial.outcome(scenario.plain)
    if isinstance(plain, Refusal):
        return []
    outcome, way = trial.outcome(scenario), trial.target.ways.get(scenario.way) or Way(scenario.way)
    if isinstance(outcome, Refusal):
        # What may be another function may refuse what the plain one takes; only an assertion is never right.
        verdict = check_status(trial, scenario, outcome)
        verdict.subject = ANY if way.of_its_own else verdict.subject
        return [verdict] if verdict.is_finding and not (way.loose and verdict.kind != INTERNAL) else []
    if way.computes and not _ordinary(trial, LARGEST.get(way.precision, LARGEST[""])):
        return []
    value = check_value(trial, scenario, outcome) if outcome.outputs and not way.precision else None
    if value is not None and value.outcome != AGREE:
        # Outside the domain one way may well say infinity and another that there is no number; vectors may be free up to a phase,
        # and what is drawn at random is drawn anew.
        excused = way.loose or not trial.finite or same_up_to_gauge(trial.direct, outcome.outputs, trial.epsilon) or draws(trial)
        if excused:
            return []
    found = _compare(trial, scenario, plain, outcome, way, own_rule) if scenario.modes else []
    if value is not None and value.outcome != AGREE:
        # Another function has another derivative as a rule, and who differentiates it wants to know of that first.
        found = [
            replace(verdict, reason=f"{verdict.reason}, and so do its outputs", detail={**verdict.detail, "outputs": True})
            for verdict in found if verdict.is_finding
        ]  # fmt: skip
        if not found:
            return [value]
    return [replace(verdict, subject=ANY) for verdict in found] if way.of_its_own else found


def _ordinary(trial: Trial, largest: float) -> bool:
    """Whether numbers can be added and multiplied without leaving the range."""
    given = [materialise(recipe) for recipe in trial.program.inputs.values() if recipe.dtype not in DISCRETE]
    sizes = np.abs(np.concatenate([a.ravel() for a in (*given, *trial.direct)] or [np.zeros(1)]))
    return bool(((sizes == 0) | ((sizes > 1 / largest) & (sizes < largest))).all())


def _compare(trial: Trial, scenario: Scenario, plain: Outcome, outcome: Outcome, way: Way, own_rule: bool) -> list[Verdict]:
    order = scenario.order
    unit = UNITS_OF_TYPES.get(way.precision, 0.0)  # of the precision that the way itself computes in, where that is a lower one
    expected, actual = trial.number(plain), trial.number(outcome)
    if expected == actual or (not np.isfinite(expected) and not np.isfinite(actual)):
        return []
    bar, nothing = _bar(trial, scenario.plain, expected, unit), NONE_UNITS * max(trial.epsilon, unit) * _below(trial, order)
    if max(abs(expected), abs(actual)) <= nothing:
        return []
    if abs(actual - expected) <= bar or abs(actual - expected) <= bar + number_scatter(trial, scenario.plain, expected):
        return []
    if unit and not _stands(trial, scenario.plain, way.precision):
        return [
            Verdict(
                INCONCLUSIVE, "way", WAY, order, [scenario], "ill-conditioned: the inputs in the way's own precision have no derivative"
            )
        ]
    # The way rounds elsewhere: what is steady in the plain scenario may not be so in it. But rounding does not change from call to call.
    shaky = np.isfinite(actual) and not way.same_rounding
    shaky = shaky and abs(actual - expected) <= JITTER * _moved(trial, scenario, actual, max(trial.epsilon, unit))
    shaky = shaky and not (_repeats(trial, scenario.plain, expected, bar, AGAIN) and not _repeats(trial, scenario, actual, bar, AGAIN))
    if shaky or not np.isfinite(bar) or not trial.finite or trial.epsilon > TOO_COARSE:
        return [Verdict(INCONCLUSIVE, "way", WAY, order, [scenario], "ill-conditioned: rounding the inputs changes as much")]
    if draws(trial) and not (way.same_draws and _repeats(trial, scenario.plain, expected, bar)):
        return [Verdict(INCONCLUSIVE, "way", WAY, order, [scenario], "random: each way may draw other numbers")]
    if not own_rule and not (referee.smooth(trial, order) and referee.additive(trial, order, abs(actual - expected))):
        return [Verdict(INCONCLUSIVE, "way", WAY, order, [scenario], "kink: each way may choose another slope")]
    detail = {"numbers": {scenario.plain.name: expected, scenario.name: actual}}
    if scenario.device:
        settled = _again(trial, scenario, actual, bar)
        if settled is None:
            return [Verdict(INCONCLUSIVE, "way", WAY, order, [scenario], "nondeterministic: two runs on the device differ")]
        detail["numbers"].update(settled)
    reason = f"{scenario.name} differs from {scenario.plain.name} by more than rounding explains"
    return [Verdict(DISAGREE, "way", WAY, order, [scenario], reason, expected, actual, bar, detail)]


def _stands(trial: Trial, plain: Scenario, precision: str) -> bool:
    """Whether the plain scenario has a number at the inputs as a lower precision holds them: there 1 + 2e-16 is 1, and 1 may be a pole."""
    types = {"f": precision, "c": {"float32": "complex64"}.get(precision, "")}
    if not types["c"]:
        return True  # there is none of that precision
    with np.errstate(all="ignore"):
        rounded = [x.astype(types[x.dtype.kind]).astype(x.dtype) if x.dtype.kind in types else x for x in trial.inputs]
    try:
        outcome = Trial(trial.target, trial.program, trial.salt, rounded).outcome(plain)
    except Exception:  # the library takes none of these
        return False
    return isinstance(outcome, Outcome) and bool(np.isfinite(trial.number(outcome)))


def _again(trial: Trial, scenario: Scenario, actual: float, bar: float) -> dict[str, float] | None:
    """What a device says the second time, and with deterministic algorithms where the target has them; None if that is something else."""
    if not _repeats(trial, scenario, actual, bar):
        return None
    fixed = scenario.in_way(DETERMINISTIC)
    outcome = trial.outcome(fixed) if DETERMINISTIC in trial.target.ways else None
    return {fixed.name: trial.number(outcome)} if isinstance(outcome, Outcome) else {}


def _repeats(trial: Trial, scenario: Scenario, number: float, bar: float, times: int = 1) -> bool:
    """Whether the same call again gives the same number, up to the bar."""
    us = trial.directions(scenario.order)
    outcomes = (trial.attempt(scenario, us) for _ in range(times))
    return all(isinstance(again, Outcome) and abs(trial.number(again) - number) <= bar for again in outcomes)


def _bar(trial: Trial, plain: Scenario, expected: float, unit: float) -> float:
    """How far the plain scenario moves under roundings of its inputs, and what its own sums may lose."""
    step = max(trial.epsilon, unit)
    moved = _moved(trial, plain, expected, step)
    forward = trial.outcome(FORWARD if plain.order == 1 else plain)
    terms = float(sum(np.abs(c).sum() for c in trial.weighted(forward))) if isinstance(forward, Outcome) else 0.0
    size = max(abs(expected), terms) if np.isfinite(terms) else abs(expected)
    left = LEFT_UNITS * step * _below(trial, plain.order)
    # Below the normal numbers a rounding is one unit, however small the number.
    return (LOW_JITTER if unit else JITTER) * moved + (LOW_UNITS if unit else UNITS) * (step * size + SMALLEST) + left


def _moved(trial: Trial, scenario: Scenario, number: float, step: float) -> float:
    """How far a scenario moves when its inputs move by two units, under other weights too: reverse mode is linear in them."""
    moved, us = 0.0, trial.directions(scenario.order)
    for index, factor in enumerate(WEIGHTS):
        jitter, weights = trial.jitter(index + 1), Vec([a * factor for a in trial.v.arrays])
        for sign in (-2, 2):
            outcome = trial.attempt(scenario, us, jitter, sign * step, weights)
            if isinstance(outcome, Outcome):
                given = trial.number(outcome)
                moved = max(moved, abs((given / factor if outcome.contracted else given) - number))
    return moved


def _below(trial: Trial, order: int) -> float:
    """How large the order below is: the outputs, or the first derivative, weighted alike. Directions are as large as the inputs."""
    outcome = trial.outcome(FORWARD if order > 1 else DIRECT)
    size = float(sum(np.abs(c).sum() for c in trial.weighted(outcome))) if isinstance(outcome, Outcome) else 0.0
    return size if np.isfinite(size) else 0.0
