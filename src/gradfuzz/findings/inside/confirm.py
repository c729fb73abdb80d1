"""What a fresh process does for one suspicion: see it again, make it small, measure it once more, look at its neighbours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.findings.inside.documented import documented, undocumented
from gradfuzz.findings.inside.given import by_itself
from gradfuzz.findings.inside.neighbours import is_ordinary, neighbours, shares_of_one
from gradfuzz.findings.inside.presentable import presentable
from gradfuzz.findings.inside.public import public
from gradfuzz.findings.inside.same import mark
from gradfuzz.findings.inside.shrink import shrink_edits, shrink_program, singles, tried
from gradfuzz.findings.inside.stages import at_its_stage
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.effort import SEARCHING
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Outcome, Target
from gradfuzz.targets.base.scenario import DIRECT, Scenario, pure

# Where every candidate costs a compilation, shrinking takes longer.
COMPILED_FACTOR = 3
# Two direct runs may differ by so much and are the same.
SAME_OUTPUT = 1e-9
MOST_RULES = 64  # that are kept of one finding: a sampler in primitives has forty
# From this order on there are more nestings than are needed to see one of them.
LOWEST_NARROWED = 2
# From this order on it is tried whether the one below shows it.
LOWEST_HIGH = 3


@dataclass(frozen=True)
class Confirmed:
    """The suspicion where it is smallest, as a fresh process saw it."""

    program: Program
    edits: tuple[Edit, ...]
    verdict: Verdict
    rule: str = ""
    mutates: bool = False  # the Program writes to its inputs
    random: bool = False  # it draws random numbers
    salt: int = 0  # where the directions begin along which it was seen
    made: tuple[str, ...] | None = None  # what the Program makes once, outside the function; None where nobody has looked
    shrinking: float = 0.0  # seconds of the processor that making it small took
    ordinary: bool | None = None  # whether it shows at ordinary numbers, too; None where nobody has looked
    empty: bool = False  # the direct run gives no number at all
    rules: tuple[str, ...] = ()  # derivative rules at work, where there are several
    hidden: tuple[str, ...] = ()  # options that no docstring mentions
    documented: tuple[str, ...] | None = None  # what docstrings say about such things; None where nobody has looked
    api: str = ""  # a public name for what was suspected under an internal one
    helpers: tuple[tuple[str, int], ...] = ()  # functions that the rule calls, and how many rules do

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self), "program": to_json(self.program), "edits": [e.to_json() for e in self.edits], "verdict": self.verdict.to_json(),
        }  # fmt: skip

    @staticmethod
    def from_json(data: dict[str, Any]) -> Confirmed:
        return Confirmed(
            from_json(data["program"]), tuple(Edit.from_json(e) for e in data["edits"]), Verdict.from_json(data["verdict"]), data["rule"],
            data["mutates"], data["random"], int(data.get("salt", 0)), None if data.get("made") is None else tuple(data["made"]),
            data["shrinking"], data.get("ordinary"), bool(data.get("empty")), tuple(data.get("rules", ())),
            tuple(data.get("hidden", ())),
            None if data.get("documented") is None else tuple(data["documented"]), str(data.get("api", "")),
            tuple((str(name), int(count)) for name, count in data.get("helpers", ())),
        )  # fmt: skip


@dataclass(frozen=True)
class Smallest:
    """What shrinking has come to."""

    program: Program
    edits: tuple[Edit, ...]
    api: str
    ordinary: bool | None = None  # whether it shows at ordinary numbers, too; None where nobody has looked


def confirm(target: Target, suspicion: Suspicion, seconds: float) -> Confirmed | None:
    """The suspicion confirmed and shrunk; None if it was not seen again. Shrinking takes so many seconds of the processor at most;
    with none at all nothing is run but the mutant itself."""
    if seconds:
        suspicion = at_its_stage(target, suspicion)
    suspicion = replace(suspicion, options=_needed(suspicion))
    if seconds:
        suspicion = _at_its_order(target, suspicion)
    options, wanted = suspicion.options, mark(suspicion.verdict)
    # The processor's time: what else the computer does must not change which Program is the smallest.
    compiles = any(target.ways[s.way].compiles for s in suspicion.verdict.scenarios if s.way in target.ways)
    deadline = time.process_time() + seconds * (COMPILED_FACTOR if compiles else 1)

    def seen(program: Program, how: Options = options) -> tuple[Examination, Verdict | None]:
        examination = examine(target, program, how)
        return examination, next((v for v in examination.findings if mark(v) == wanted and sound(examination)), None)

    def shrunk(how: Options) -> Smallest:
        """The suspicion made small, where every candidate is examined so."""

        known: dict[str, bool] = {}  # what one round of shrinking has tried the next one comes back to

        def shows(program: Program) -> bool:
            text = repr(program)  # tells -0.0 and True from 0.0 and 1
            if text not in known:
                known[text] = seen(program, how)[1] is not None
            return known[text]

        def through(program: Program) -> bool:
            """Whether it shows by the rule that was suspected, where one was: a function that calls another may be wrong by itself."""
            examination, verdict = seen(program, how) if time.process_time() < deadline else (None, None)
            if examination is None or verdict is None or not suspicion.rule:
                return verdict is not None
            return suspicion.rule in (examination.rule_of(verdict), *_rules(examination))

        def smaller(program: Program, api: str = suspicion.api) -> Program:
            return shrink_program(program, shows, lambda: time.process_time() < deadline, api)

        kept = list(suspicion.edits)
        # Where another shape costs a compilation, as most steps do, the boldest is the first.
        alone = singles(suspicion.mutant, suspicion.verdict.detail.get("element")) if target.family > 1 else ()
        single = next((program for program in alone if tried(program, shows)), None)
        if single is not None:
            smallest = smaller(single)
        else:
            kept = shrink_edits(suspicion.seed, kept, shows)
            smallest = smaller(apply_all(suspicion.seed, kept))
        near = next(filter(shows, neighbours(smallest, shares_of_one(target, smallest))), None)
        if near is not None and not is_ordinary(smallest):
            smallest = smaller(near)  # it shows at what people compute with: that is the example
        api, named = by_itself(target, *public(target, suspicion.api, smallest, shows, through), shows)
        smallest = presentable(target, api, smaller(named, api) if named != smallest else smallest, shows)
        return Smallest(smallest, tuple(kept), api, near is not None)

    judged: dict[str, tuple[Examination, Verdict | None]] = {}

    def wholly(program: Program) -> tuple[Examination, Verdict | None]:
        """A Program judged with all effort and in all scenarios, once."""
        text = repr(program)
        if text not in judged:
            judged[text] = seen(program)
        return judged[text]

    # All effort at first, too, but in the scenarios that show it: the others are asked where it is smallest.
    narrow = replace(_cheaper(options, suspicion.verdict), effort=options.effort) if seconds else options
    again = wholly(suspicion.mutant) if narrow == options else seen(suspicion.mutant, narrow)
    if again[1] is None and wholly(suspicion.mutant)[1] is None:
        return None
    began, found = time.process_time(), Smallest(suspicion.mutant, suspicion.edits, suspicion.api)
    # What little effort makes small may turn out to be nothing when all is asked: then it takes all of it from the start.
    for how in (_cheaper(options, suspicion.verdict), options) if seconds else ():
        smallest = shrunk(how)
        if wholly(smallest.program)[1] is not None:
            found = smallest
            break
    shrinking = time.process_time() - began
    examination, verdict = wholly(found.program)
    if verdict is None:
        return None
    point = examination.trial.point if examination.trial is not None else None
    outputs = examination.trial.direct if examination.trial is not None else []
    rule = examination.rule_of(verdict)
    return Confirmed(
        found.program, found.edits, verdict, rule, point is not None and point.mutates, point is not None and point.random,
        options.salt, None if point is None else tuple(point.made), shrinking, found.ordinary,
        bool(outputs) and not any(o.size for o in outputs), () if rule else _rules(examination),
        tuple(undocumented(target, found.api, found.program)), tuple(documented(target, found.api, rule)),
        found.api if found.api != suspicion.api else "",
        tuple(target.helpers(rule)) if hasattr(target, "helpers") else (),  # see Formulating
    )  # fmt: skip


def _cheaper(options: Options, verdict: Verdict) -> Options:
    """Less effort, and of the scenarios the one that shows it, those that it begins with, and nested reverse mode below it, which the
    numeric side stands on: of order three there are eight nestings."""
    cheaper = replace(options, effort=SEARCHING)
    plainly = not (options.ways or options.device or options.scenarios) and verdict.oracle in ("gradient", "status")
    if not plainly or verdict.order < LOWEST_NARROWED or not verdict.scenarios:
        return cheaper
    modes = verdict.scenarios[0].modes
    needed = {Scenario(modes[:n]) for n in range(1, len(modes) + 1)} | {pure("r", n) for n in range(1, len(modes))}
    return replace(cheaper, scenarios=frozenset(needed))


def _needed(suspicion: Suspicion) -> Options:
    """What shows it: higher orders than its own would only cost time, and so would ways and devices that have no part in it."""
    options, scenarios = suspicion.options, suspicion.verdict.scenarios
    order = min(options.order, max(1, suspicion.verdict.order))
    elsewhere = any(s.way or s.device for s in scenarios)
    return replace(options, order=order) if elsewhere else replace(options, order=order, ways=(), device="")


def sound(examination: Examination) -> bool:
    """Whether what a derivative is held against stands by itself: where it raises, the direct run gives the same output again."""
    trial = examination.trial
    if trial is None or trial.point.random or all(v.oracle != "status" for v in examination.findings):
        return True
    again = trial.attempt(DIRECT, ())
    return isinstance(again, Outcome) and same_outputs(trial.direct, again.outputs)


def same_outputs(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Whether two runs of one function gave the same numbers, NaN included, up to what threads do to sums."""
    return len(ours) == len(theirs) and all(
        a.shape == b.shape and np.allclose(a, b, SAME_OUTPUT, SAME_OUTPUT, equal_nan=True) for a, b in zip(ours, theirs)
    )


def _rules(examination: Examination) -> tuple[str, ...]:
    """The rules behind an API that has no one rule of its own, without their tables."""
    return () if examination.trial is None else rules_at_work(examination.trial)


def rules_at_work(trial: Trial) -> tuple[str, ...]:
    """The rules that a Program's derivatives went through, without their tables."""
    try:
        return without_tables(trial.point.rules())
    except Exception:  # a look at what was recorded, for people; whatever the library makes of it
        return ()


def without_tables(rules: Sequence[str]) -> tuple[str, ...]:
    """Rules by their names alone, each once."""
    return tuple(dict.fromkeys(rule.partition(":")[2] for rule in rules))[:MOST_RULES]


def _explains(lower: Verdict, higher: Verdict) -> bool:
    """Whether what is wrong at the order below may be why: an error says the same at any, a wrong number spoils what is built on it."""
    wrong = {s.modes for s in lower.scenarios}
    return higher.oracle == "status" or any(s.modes[: lower.order] in wrong for s in higher.scenarios)


def _beneath(options: Options, verdict: Verdict) -> Options:
    """Little effort, in the scenarios that may be why a number is wrong above and those that they stand on (see `_explains`)."""
    cheaper = replace(options, effort=SEARCHING)
    if options.scenarios is not None or verdict.oracle == "status":
        return cheaper
    explaining = {Scenario(s.modes[:n]) for s in verdict.scenarios for n in range(1, verdict.order)}
    return replace(cheaper, scenarios=frozenset(explaining | {pure("r", n) for n in range(1, options.order)}))


def _at_its_order(target: Target, suspicion: Suspicion) -> Suspicion:
    """The suspicion at the order below, where what is wrong in it shows there at ordinary numbers: nobody needs a third derivative then."""
    verdict = suspicion.verdict
    if verdict.order < LOWEST_HIGH or any(s.way for s in verdict.scenarios):
        return suspicion
    below = replace(suspicion.options, order=verdict.order - 1)

    def explaining(program: Program, how: Options) -> Verdict | None:
        found = examine(target, program, how).findings
        return next((v for v in found if v.kind == verdict.kind and _explains(v, verdict)), None)

    for program in neighbours(suspicion.mutant, shares_of_one(target, suspicion.mutant)):
        # What it is called hangs on all scenarios that show it.
        found = explaining(program, _beneath(below, verdict)) and explaining(program, replace(below, effort=SEARCHING))
        if found is not None:
            return replace(suspicion, seed=program, edits=(), options=below, verdict=found)
    return suspicion
