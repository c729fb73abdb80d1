"""The referee: called when the cheap rungs do not agree. First evidence, then excuses; only then is a disagreement a finding.

Each scenario is judged by itself. It is right if it agrees with the numeric derivative and both error bars are narrow; wrong if it differs
by more than both, along an element for which no excuse speaks, and a recount with steps of its own says so too. All else is
inconclusive, with the names of all excuses that have spoken: evidence that sees nothing acquits nobody. Whoever looks at many mutants may
call a finding familiar: then it is told without excuses and recount, which cost ten times as much as seeing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradfuzz.numdiff.vote import recount
from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import NUMERIC_BARS, Line
from gradfuzz.oracles.evidence.narrowing import Place, Suspect, alike, localise, restricted, whole
from gradfuzz.oracles.evidence.probes import are_additive
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Heard, hear, names
from gradfuzz.oracles.excuses.noisy import enough
from gradfuzz.oracles.trial import DOUBLE_UNIT, Trial
from gradfuzz.oracles.verdict import ACCURACY, AGREE, DISAGREE, GRADIENT, INCONCLUSIVE, KINK, NONFINITE, Verdict
from gradfuzz.targets.base.protocol import Refusal, Vec
from gradfuzz.targets.base.scenario import Scenario, pure

# A formula that is wrong is wrong by more than this; below, digits were lost.
FEW_DIGITS = 1e-4
# Elements that are excused are set aside, with those that hold the same number, and the rest is looked at again: so often at most.
MOST_ASIDE = 3

NOISY = Excuse("noisy", "the error bars are as wide as what is compared")
NO_ELEMENT = Excuse("no element", "no single element disagrees by itself")
NOT_FINITE = Excuse("not finite", "AD is not finite along single elements")
NOT_UNANIMOUS = Excuse("no majority", "most finite-difference checks do not contradict AD")
BELOW = Excuse("order below", "the derivative that is differenced could not be checked itself")


def judge(trial: Trial, order: int, numbers: dict[Scenario, float], base: Scenario) -> list[Verdict]:
    """The verdicts on an order whose quick comparison failed: findings, or else one that says how it went."""
    case = Case(trial, order, base, list(numbers))
    if case.repeats and _all_right(case.first):
        return [_agreement(order, case.first)]  # nobody asks for excuses
    heard = hear("line", "", case, case.first)
    if case.repeats:
        for line in _lines(case):
            if line is case.relative and case.moves_all and _all_right(line):
                return [_agreement(order, line)]
            findings = _judge_line(case, line, heard)
            if findings:
                return findings
        if edge := _judge_edge(case):
            return [edge]
    return [inconclusive(order, case.first, heard or [Heard(NOISY, BLIND)])]


def _all_right(line: Line) -> bool:
    return all(map(line.right, line.scenarios))


def _agreement(order: int, line: Line) -> Verdict:
    return Verdict(AGREE, "gradient", order=order, reason=f"after {len(line.numeric.steps)} steps")


def _lines(case: Case) -> Iterator[Line]:
    """Where to look: the trial's own direction; where that settles nothing, directions that keep away from edges and special points."""
    yield case.first
    numeric = case.first.numeric
    lost = not numeric.usable or numeric.one_sided
    if lost or not (numeric.kink or case.first.wrong()):
        # Perhaps the step left the domain for some element, or is far too long for it: move each in proportion to itself.
        yield case.relative
    if (lost or numeric.kink) and case.ordinary is not None:
        yield case.ordinary


def _judge_line(case: Case, line: Line, heard: list[Heard]) -> list[Verdict]:
    """Findings along one direction; what speaks against others is added to `heard`."""
    numeric = line.numeric
    if not numeric.usable or numeric.one_sided:
        return []
    wrong = line.wrong()
    broken = [s for s in wrong if not np.isfinite(line.numbers[s])]
    wrong = [s for s in wrong if s not in broken]
    found = []
    if broken and (line is not case.relative or case.moves_all):
        # An element at the edge itself does not move in proportion to itself, and an infinite slope times no step is NaN.
        found += _judge_broken(case, line, broken, heard)
    if wrong and (not numeric.kink or (case.order == 1 and any(map(line.outside, wrong)))):
        # Other nestings may be finite and wrong: that is another bug.
        found += _judge_wrong(case, line, wrong, heard)
    return found


def smooth(trial: Trial, order: int) -> bool:
    """Whether a numeric derivative of this order settles at the point, on both sides of it and to the same."""
    base = pure("r", order - 1)
    if base.modes and isinstance(trial.outcome(base), Refusal):
        return True  # nothing can be said against it
    line = Line(trial, base, trial.direction(order - 1), ())
    numeric = line.ladder
    return numeric.usable and not numeric.one_sided and not numeric.kink and NUMERIC_BARS * numeric.error <= enough(line)


def additive(trial: Trial, order: int, gap: float) -> bool:
    """Whether slopes of two directions add up at the point, up to what is disputed: where entries tie they do not, along any direction."""
    base = pure("r", order - 1)
    if base.modes and isinstance(trial.outcome(base), Refusal):
        return True  # nothing can be said against it
    one, other = trial.direction(order - 1), trial.direction(order)
    both = Vec([a + b for a, b in zip(one.arrays, other.arrays)])
    total, first, second = (Line(trial, base, along, ()) for along in (both, one, other))
    return are_additive(total, first, second, gap)


def _judge_wrong(case: Case, line: Line, wrong: Sequence[Scenario], heard: list[Heard]) -> list[Verdict]:
    """Narrow a disagreement down to one element that nothing excuses; elements that are excused are set aside, with those like them."""
    at_kink, current, aside = line.numeric.kink, line, set[Place]()
    for _ in range(MOST_ASIDE):
        spot = localise(case, current, wrong, aside)
        if spot is None:
            heard.append(Heard(NO_ELEMENT, BLIND))
            return []
        place, narrow = spot
        left = [s for s in narrow.wrong() if np.isfinite(narrow.numbers[s])]
        if narrow.numeric.kink:
            left = [s for s in left if narrow.outside(s)] or left
        if left:
            suspect = Suspect(case, narrow, place, left, at_kink)
            finding = _told(suspect)
            if case.trial.familiar(finding):
                return [finding]
            excuses = hear("element", suspect.name, suspect)
            if not excuses:
                return _reported(suspect, finding, heard)
            heard += excuses
            aside |= alike(case.trial, place)
        else:
            heard.append(Heard(NOT_FINITE, BLIND))
            aside.add(place)
        current = case.line(restricted(case.trial, line.along, whole(case.trial), aside), wrong)
        if not any(a.any() for a in current.along.arrays) or not current.wrong():
            return []
    return []


def _told(suspect: Suspect) -> Verdict:
    """What there is to report of an element, if nothing speaks against it."""
    case, line, numeric = suspect.case, suspect.line, suspect.line.numeric
    if suspect.at_kink or numeric.kink:
        return _finding(KINK, case.order, line, suspect.wrong, suspect.name, "outside the one-sided derivatives at a kink")
    kind, reason = GRADIENT, "differs from the numeric derivative"
    if suspect.gap < FEW_DIGITS * abs(numeric.value):
        kind, reason = ACCURACY, "has lost digits against the numeric derivative"
    return _finding(kind, case.order, line, suspect.wrong, suspect.name, reason)


def _reported(suspect: Suspect, finding: Verdict, heard: list[Heard]) -> list[Verdict]:
    """The finding, if what it stands on bears it: the order below, and a recount."""
    below = _order_below(suspect.case)
    if below is not None:
        if not below:
            heard.append(Heard(BELOW, BLIND))
        return below
    return [finding] if finding.kind == KINK else _by_majority(finding, suspect.case, suspect.line, heard)


def _order_below(case: Case) -> list[Verdict] | None:
    """What is differenced at order two and up is AD's own derivative. None if that is right; else what is known to be wrong with it."""
    order = case.base.order
    if not order or order in case.trial.agreed:
        return None
    below = pure(case.base.modes[-1], order - 1)
    if isinstance(case.trial.outcome(below), Refusal):
        return None
    verdicts = judge(case.trial, order, {case.base: 0.0}, below)
    return None if any(v.outcome == AGREE for v in verdicts) else [v for v in verdicts if v.is_finding]


def _by_majority(finding: Verdict, case: Case, line: Line, heard: list[Heard]) -> list[Verdict]:
    """The finding with the recount that confirms it; nothing if most finite-difference checks do not."""
    vote = recount(line.at, float(finding.actual), line.numeric, case.trial.effort.reruns)
    # Where single precision is at work inside, noise alone exceeds a bar now and then: most checks must contradict.
    if not vote.majority or (case.trial.epsilon > DOUBLE_UNIT and 2 * vote.against <= vote.checks):
        heard.append(Heard(NOT_UNANIMOUS, BLIND))
        return []
    finding.detail["vote"] = vote.to_json()
    finding.reason += f"; {vote}"
    if not vote.unanimous:
        finding.expected = None  # AD is wrong; by how much, the checks do not agree on
    return [finding]


def _judge_broken(case: Case, line: Line, scenarios: list[Scenario], heard: list[Heard]) -> list[Verdict]:
    """A derivative that is not finite where the numeric one is, and for which no excuse speaks."""
    what = "is not finite at a kink" if line.numeric.kink else "is not finite where the numeric derivative is"
    finding = _finding(NONFINITE, case.order, line, scenarios, None, what)
    if case.trial.familiar(finding):
        return [finding]
    broken = Broken(case, line, scenarios)
    excuses = hear("broken", "", broken)
    if excuses:
        heard += excuses
        return []
    below = _order_below(case)
    if below is not None and not below:
        heard.append(Heard(BELOW, BLIND))
    if below is not None:
        return below
    if line.numeric.kink:
        finding = _finding(NONFINITE, case.order, line, broken.owing, None, what)
    return _by_majority(finding, case, line, heard)


def _judge_edge(case: Case) -> Verdict | None:
    """A first derivative that is no number at the ends of the domain, though the slopes to the inside are known: NaN is none of them.

    Infinity may stand for a slope that grows without end, and is not looked at. Of a composition AD promises the product of derivatives,
    and an infinite one times nothing is no number: there nobody owes one.
    """
    scenarios = [s for s in case.first.scenarios if np.isnan(case.first.numbers[s])]
    if case.base.modes or not scenarios or len(list(case.trial.program.calls())) > 1 or not case.trial.finite_inputs:
        return None
    broken = Broken(case, case.first, scenarios)
    edges = {place: line for place, line in broken.probed if line.ladder.one_sided}
    sure = all(line.ladder.inside.known if line.ladder.inside else line.ladder.usable for _, line in broken.probed)
    if not edges or not sure or not broken.due_to(edges):
        return None
    for place, probe in edges.items():
        line, side = case.line(probe.along, scenarios), probe.ladder.inside
        wrong = [s for s in scenarios if np.isnan(line.numbers[s])]
        if wrong and side is not None:
            name = Suspect(case, line, place, wrong, False).name
            finding = _finding(
                NONFINITE, case.order, line, wrong, name, "is no number at the edge of the domain, and the slope inside is known"
            )
            finding.expected, finding.error_bar = float(side.value.sum()), float(side.error.sum())
            finding.detail["inside"] = 1 if side is probe.ladder.right else -1
            return finding
    return None


def inconclusive(order: int, line: Line, heard: Sequence[Heard]) -> Verdict:
    """Nothing is known, and why: every excuse that has spoken."""
    reason = "; ".join(dict.fromkeys(map(str, heard)))
    detail = {"excuses": names(heard)}
    return Verdict(INCONCLUSIVE, "gradient", order=order, reason=reason, error_bar=line.numeric.error, detail=detail)


def _finding(kind: str, order: int, line: Line, wrong: list[Scenario], element: str | None, reason: str) -> Verdict:
    numeric = line.numeric
    number = line.numbers[wrong[0]]
    agreeing = sum(1 for _, slope, floor in numeric.steps if abs(slope - number) <= 4 * floor + line.ad_bar(wrong[0]))
    detail = {
        "element": element,
        "along": line.entries(),
        "base": list(line.base.modes),
        "numbers": {s.name: n for s, n in line.numbers.items()},
        "bars": {s.name: bar for s, bar in line.bars.items()},
        "numeric": numeric.value,
        "numeric_error": numeric.error,
        "steps": len(numeric.steps),
        "first_step": numeric.first_step,
        "ladder": [[t, slope] for t, slope, _ in numeric.steps],
        "steps_agreeing_with_ad": agreeing,
        "one_sided": None if numeric.left is None or numeric.right is None
        else [float(numeric.left.value.sum()), float(numeric.right.value.sum())],
    }  # fmt: skip
    if line.trial.resting:
        detail["resting"] = True
    where = f" along {element}" if element else ""
    return Verdict(
        DISAGREE, "gradient", kind, order, list(wrong), f"{wrong[0].name}{where} {reason}",
        numeric.value, number, line.bar(wrong[0]), detail,
    )  # fmt: skip
