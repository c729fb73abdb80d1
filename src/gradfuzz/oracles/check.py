"""All the oracles on one Program: the whole of what gradfuzz has to say about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradfuzz.oracles.gradient import check_gradient
from gradfuzz.oracles.precision import check_precision
from gradfuzz.oracles.status import check_status
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.value import check_value
from gradfuzz.oracles.variant import check_variants, due
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INTERNAL, INVALID, UNSUPPORTED, Verdict, most_interesting
from gradfuzz.program.model import COMPLEXES, FLOATS, Program
from gradfuzz.targets.protocol import MODE_NAMES, Modes, Outcome, Refusal, Target, scenario_name

LOW = tuple(d for d in FLOATS + COMPLEXES if d not in ("float64", "complex128"))


@dataclass
class Options:
    """Which derivatives to compute. Everything that changes a verdict is in here, so that a finding can be replayed."""

    order: int = 2
    scenarios: frozenset[str] | None = None
    salt: int = 0
    strict: bool = False  # the referee is asked even where the cheap rungs agree
    variants: bool = True  # a fraction of the mutants runs in another way, too

    def to_json(self) -> dict[str, Any]:
        names = None if self.scenarios is None else sorted(self.scenarios)
        return {"order": self.order, "scenarios": names, "salt": self.salt, "strict": self.strict, "variants": self.variants}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Options:
        names = data.get("scenarios")
        scenarios = None if names is None else frozenset(names)
        return Options(int(data["order"]), scenarios, int(data.get("salt", 0)), bool(data.get("strict")), bool(data.get("variants", True)))


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


def examine(target: Target, program: Program, options: Options, keep_rules: bool = False, thorough: bool = False) -> Examination:
    """Run the Program in every scenario up to the order and judge. Never raises for what the library does.

    `thorough`: in every variant of the target too, rather than in the one whose turn it is.
    """
    try:
        trial = Trial(target, program, options.salt)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return _refused(target.classify(error))
    if not trial.outputs:
        return Examination([Verdict(UNSUPPORTED, "status", reason="no floating output")], trial=trial)
    if not trial.point.names:
        return Examination([Verdict(UNSUPPORTED, "status", reason="no differentiable input")], trial=trial)
    low = any(t.dtype in LOW for t in program.inputs.values() if t.differentiable)
    verdicts: list[Verdict] = []
    failed: set[str] = set()
    for order in range(1, (1 if low else options.order) + 1):
        found = _examine_order(trial, order, options, low, failed)
        verdicts.extend(found)
        findings = [v for v in found if v.is_finding]
        if any(order > 1 or v.oracle != "status" for v in findings) or not any(v.outcome == AGREE for v in found):
            break  # derivatives of a wrong or unknown derivative say nothing new
        # Where one mode raises and the other is right, nestings of the other alone go on.
        failed |= {mode for mode, name in MODE_NAMES.items() if any(name in v.scenarios for v in findings)}
    variants = target.variants if thorough else due(target, program, options.salt)
    # With no scenario asked for, variants are none either.
    asked = options.variants and (options.scenarios is None or bool(options.scenarios))
    if variants and asked and not any(v.is_finding for v in verdicts):
        verdicts.extend(check_variants(trial, variants))
    rules = trial.point.rules() if keep_rules else []
    rule = trial.rule() if any(v.is_finding for v in verdicts) else ""
    return Examination(verdicts, rules, rule, trial=trial)


def _refused(refusal: Refusal) -> Examination:
    if refusal.kind == "internal":
        verdict = Verdict(DISAGREE, "status", INTERNAL, 0, ["direct"], refusal.message[:600], "no assertion", refusal.message[:600])
        return Examination([verdict], error=refusal)
    return Examination([Verdict(INVALID, "status", reason=refusal.message[:300])], error=refusal)


def _examine_order(trial: Trial, order: int, options: Options, low: bool, failed: set[str]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    ways: dict[Modes, Outcome] = {}
    for modes in trial.scenarios(order, options.scenarios):
        if failed.intersection(modes):
            continue
        outcome = trial.outcome(modes)
        if isinstance(outcome, Refusal):
            if outcome.kind == "gauge":
                # The library has found that the outputs are free up to a phase: no derivative of them means anything.
                return [Verdict(INCONCLUSIVE, "status", order=order, reason=f"gauge: {outcome.message[:200]}")]
            verdicts.append(check_status(trial, modes, outcome))
            continue
        ways[modes] = outcome
        if modes == ("r",):
            trial.mute(outcome.live)
        value = check_value(trial, modes, outcome)
        if value is not None:
            verdicts.append(value)
    if order == 1 and ("r",) not in ways and not any(any(w.live or [True]) for w in ways.values()):
        return [*verdicts, Verdict(UNSUPPORTED, "status", order=1, reason="declared to have no derivative")]
    if ways:
        verdicts.extend(check_precision(trial, ways) if low else check_gradient(trial, order, ways, options.strict))
    return verdicts


def summary(examination: Examination) -> list[tuple[str, str, str]]:
    """(scenario, outcome, reason) rows for people."""
    return [(", ".join(v.scenarios) or v.oracle, v.outcome, v.reason) for v in examination.verdicts]


__all__ = ["Examination", "Options", "examine", "scenario_name", "summary"]
