"""All the oracles on one Program: the whole of what gradfuzz has to say about it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any, cast

from gradfuzz.errors import Through
from gradfuzz.oracles.effort import FULL, Effort
from gradfuzz.oracles.gauge import check_defined
from gradfuzz.oracles.gradient import check_gradient
from gradfuzz.oracles.precision import check_precision
from gradfuzz.oracles.refused import check_refused, check_unseen
from gradfuzz.oracles.second_in_low import check_second
from gradfuzz.oracles.status import check_status
from gradfuzz.oracles.trial import Familiar, Trial, never
from gradfuzz.oracles.value import check_value
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INTERNAL, INVALID, MISTAKE, UNSUPPORTED, Verdict, most_interesting
from gradfuzz.oracles.ways import check_ways
from gradfuzz.program.model import COMPLEXES, FLOATS, Program
from gradfuzz.targets.base.protocol import Locating, Outcome, Refusal, Target
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, Modes, Scenario, pure

NO_OUTPUT = "no floating output"
LOW = tuple(d for d in FLOATS + COMPLEXES if d not in ("float64", "complex128"))


@dataclass(frozen=True)
class Options:
    """How deep and in which ways to look. Everything that changes a verdict is in here, so that a finding can be replayed."""

    order: int = 2
    scenarios: frozenset[Scenario] | None = None  # plain ones; None: all of them
    salt: int = 0  # chooses the directions
    strict: bool = False  # the referee is asked even where the cheap rungs agree
    ways: tuple[str, ...] | None = ()  # beside the plain one; None: all that the target has
    device: str = ""  # beside the one that is used where nobody names one
    refused: bool = False  # what the direct run refuses, or what has no floating output, is run under differentiation all the same
    own_rule: bool = False  # the derivative is what a user's own rule says: ways are compared with each other, and with nothing else
    effort: Effort = FULL  # whoever replays a finding spares none, so nothing of it is written down

    def to_json(self) -> dict[str, Any]:
        names = None if self.scenarios is None else sorted(s.name for s in self.scenarios)
        ways = None if self.ways is None else list(self.ways)
        return {
            "order": self.order, "scenarios": names, "salt": self.salt, "strict": self.strict, "ways": ways, "device": self.device,
            "refused": self.refused, "own_rule": self.own_rule,
        }  # fmt: skip

    @staticmethod
    def from_json(data: dict[str, Any]) -> Options:
        names, ways = data.get("scenarios"), data.get("ways", ())
        scenarios = None if names is None else frozenset(map(Scenario.named, names))
        return Options(
            int(data["order"]), scenarios, int(data.get("salt", 0)), bool(data.get("strict")), None if ways is None else tuple(ways),
            str(data.get("device", "")), bool(data.get("refused")), bool(data.get("own_rule")),
        )  # fmt: skip


@dataclass
class Examination:
    """Everything seen on one Program."""

    verdicts: list[Verdict]
    rules: list[str] = field(default_factory=list)
    rule: str = ""
    error: Refusal | None = None
    trial: Trial | None = None

    @property
    def outcome(self) -> str:
        return most_interesting(self.verdicts)

    @property
    def findings(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.is_finding]

    def rule_of(self, verdict: Verdict) -> str:
        """What a verdict is about: where its scenario raised, if that is known; else the one rule at work. Others may raise elsewhere."""
        point = self.trial.point if self.trial is not None else None
        raised = verdict.oracle == "status" and verdict.scenarios and hasattr(point, "raised_at")  # see Locating
        return (str(cast(Locating, point).raised_at(verdict.scenarios[0])) if raised else "") or self.rule


def examine(
    target: Target, program: Program, options: Options, keep_rules: bool = False, familiar: Familiar = never
) -> Examination:  # fmt: skip
    """Run the Program in every scenario up to the order and judge. Never raises for what the library does, nor for an oracle's mistake:
    what was said before it stands, and it is told by a verdict of its own. What is `familiar` need not be excluded once more."""
    try:
        trial = Trial(target, program, options.salt, effort=options.effort, known=familiar)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return _refused(target, program, target.classify(error), options)
    if not trial.outputs and trial.point.names:
        found = check_unseen(target, program, options.scenarios) if options.refused else []
        return Examination(found or [Verdict(UNSUPPORTED, "status", reason=NO_OUTPUT)], trial=trial)
    if not trial.point.names:
        return Examination([Verdict(UNSUPPORTED, "status", reason="no differentiable input")], trial=trial)
    seen = Examination([], trial=trial)
    try:
        _judge(seen, trial, options)
        seen.rules = trial.point.rules() if keep_rules else []
        seen.rule = trial.rule() if seen.findings else ""
    except Through:
        raise
    except Exception as error:
        seen.verdicts.append(_mistake(error))
    return seen


def _judge(seen: Examination, trial: Trial, options: Options) -> None:
    """Every order, and the ways, as far as what was seen below allows."""
    verdicts = seen.verdicts
    low = any(t.dtype in LOW for t in trial.program.inputs.values() if t.differentiable)
    failed: set[str] = set()
    spoilt: set[Modes] = set()
    orders = range(1, (1 if low else options.order) + 1) if not options.own_rule else ()
    for order in orders:
        found = _examine_order(trial, order, options, low, failed, spoilt)
        verdicts.extend(found)
        findings = [v for v in found if v.is_finding]
        if not _goes_on(found, findings, order):
            break  # derivatives of a wrong or unknown derivative say nothing new
        if all(v.oracle == "status" for v in findings):
            trial.agreed.add(order)
        # Where one mode raises and the other is right, nestings of the other alone go on.
        failed |= {s.modes[0] for v in findings for s in v.scenarios if s.order == 1 and v.oracle == "status"}
        # So do those that are built on what is right, where another nesting is wrong: it must not hide what they do higher up.
        spoilt |= {s.modes for v in findings for s in v.scenarios}
    if low and options.order > 1 and verdicts and all(v.outcome == AGREE for v in verdicts):
        verdicts.extend(check_second(trial, options.scenarios))
    ways = tuple(trial.target.ways) if options.ways is None else options.ways
    if ways or options.device:
        verdicts.extend(_examine_ways(trial, ways, options, verdicts))


def _mistake(error: Exception) -> Verdict:
    """What went wrong, and in which function, so that mistakes of one kind are counted as one."""
    where = traceback.extract_tb(error.__traceback__)[-1].name
    what = f"{type(error).__name__} in {where}"
    return Verdict(INCONCLUSIVE, "status", reason=f"{MISTAKE}: {what}: {error}"[:600], detail={"excuses": [f"{MISTAKE}, {what}"]})


def _goes_on(found: list[Verdict], findings: list[Verdict], order: int) -> bool:
    """Whether an order is right, or wrong in some nestings alone and not in nested reverse mode, which the next one is held against."""
    if any(v.oracle not in ("gradient", "status") for v in findings):
        return False
    at_fault = {s for v in findings for s in v.scenarios}
    return any(v.outcome == AGREE for v in found) or (bool(findings) and pure("r", order) not in at_fault)


def _examine_ways(trial: Trial, ways: tuple[str, ...], options: Options, verdicts: list[Verdict]) -> list[Verdict]:
    """What the ways say of derivatives that are right plainly: a wrong second derivative must not hide what they do to others."""
    findings = [v for v in verdicts if v.is_finding]
    settled = options.order if options.own_rule else max((v.order for v in verdicts if v.outcome == AGREE), default=1)
    if not findings:
        return check_ways(trial, ways, settled, options.device, options.own_rule, options.scenarios)
    first = [v for v in findings if v.order < 2]
    if any(v.oracle != "status" or not v.order for v in first) or not any(v.outcome == AGREE for v in verdicts):
        return []
    # Where one mode raises and the other is right, the other's ways are compared all the same.
    failed = {s.modes[0] for v in first for s in v.scenarios if s.order == 1}
    order = max(v.order for v in findings)
    at_fault = {scenario for v in findings for scenario in v.scenarios}
    plain = (s for n in range(1, order + 1) for s in trial.scenarios(n, options.scenarios))
    right = frozenset(s for s in plain if s not in at_fault and not failed.intersection(s.modes))
    found = check_ways(trial, ways, order, options.device, options.own_rule, right)
    return [v for v in found if v.is_finding]


def _refused(target: Target, program: Program, refusal: Refusal, options: Options) -> Examination:
    if refusal.kind == "internal":
        verdict = Verdict(DISAGREE, "status", INTERNAL, 0, [DIRECT], refusal.message[:600], "no assertion", refusal.message[:600])
        verdict.symptom, verdict.subject = refusal.symptom, "any"
        return Examination([verdict], error=refusal)
    found = check_refused(target, program, refusal, options.scenarios) if options.refused else []
    return Examination(found or [Verdict(INVALID, "status", reason=refusal.message[:300])], error=refusal)


def _examine_order(
    trial: Trial, order: int, options: Options, low: bool, failed: set[str], spoilt: set[Modes]
) -> list[Verdict]:  # fmt: skip
    verdicts: list[Verdict] = []
    ran: dict[Scenario, Outcome] = {}
    for scenario in trial.scenarios(order, options.scenarios):
        if failed.intersection(scenario.modes) or any(scenario.modes[:n] in spoilt for n in range(1, order)):
            continue
        outcome = trial.outcome(scenario)
        if isinstance(outcome, Refusal):
            if outcome.kind == "gauge":
                # The library has found that the outputs are free up to a phase: no derivative of the vectors themselves means anything.
                if order == 1 and not low:
                    return check_defined(trial, outcome.message[:200])
                return [Verdict(INCONCLUSIVE, "status", order=order, reason=f"gauge: {outcome.message[:200]}")]
            verdicts.append(check_status(trial, scenario, outcome))
            continue
        ran[scenario] = outcome
        if scenario == REVERSE or (scenario == FORWARD and isinstance(trial.outcomes.get(REVERSE), Refusal)):
            trial.mute(outcome.live)  # reverse mode knows best, and forward mode where that is refused
        value = check_value(trial, scenario, outcome) if outcome.outputs or order == 1 else None
        if value is not None:
            verdicts.append(value)
    if order == 1 and REVERSE not in ran and not any(any(o.live or [True]) for o in ran.values()):
        return [*verdicts, Verdict(UNSUPPORTED, "status", order=1, reason="declared to have no derivative")]
    if ran:
        verdicts.extend(check_precision(trial, ran) if low else check_gradient(trial, order, ran, options.strict))
    return verdicts
