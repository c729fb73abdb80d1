"""What a fresh process does for one suspicion: see it again, make it small, measure it once more, look at its neighbours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Optional

import numpy as np

from gradfuzz.findings.inside.documented import documented, undocumented
from gradfuzz.findings.inside.given import by_itself
from gradfuzz.findings.inside.neighbours import is_ordinary, neighbours, shares_of_one
from gradfuzz.findings.inside.presentable import presentable
from gradfuzz.findings.inside.public import public
from gradfuzz.findings.inside.same import mark
from gradfuzz.findings.inside.shrink import shrink_edits, shrink_program, tried
from gradfuzz.findings.inside.stages import at_its_stage
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Examination, examine
from gradfuzz.oracles.effort import FULL, THRIFTY, Effort
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Outcome, Target
from gradfuzz.targets.base.scenario import DIRECT

# Where every candidate costs a compilation, shrinking takes longer.
COMPILED_FACTOR = 3
# Two direct runs may differ by so much and are the same.
SAME_OUTPUT = 1e-9
MOST_RULES = 64  # that are kept of one finding: a sampler in primitives has forty
Sight = tuple[Examination, Optional[Verdict]]
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
        )  # fmt: skip


def confirm(target: Target, suspicion: Suspicion, seconds: float) -> Confirmed | None:
    """The suspicion confirmed and shrunk; None if it was not seen again. Shrinking takes so many seconds of the processor at most;
    with none at all nothing is run but the mutant itself."""
    if seconds:
        suspicion = at_its_stage(target, suspicion)
    # Higher orders than that of the suspicion would only cost time, and so would ways that it is not about.
    options = replace(suspicion.options, order=min(suspicion.options.order, max(1, suspicion.verdict.order)))
    if not any(s.way or s.device for s in suspicion.verdict.scenarios):
        options = replace(options, ways=(), device="")
    suspicion = replace(suspicion, options=options)
    if seconds:
        suspicion = _at_its_order(target, suspicion)
    options, wanted = suspicion.options, mark(suspicion.verdict)
    # The processor's time: what else the computer does must not change which Program is the smallest.
    compiles = any(target.ways[s.way].compiles for s in suspicion.verdict.scenarios if s.way in target.ways)
    deadline = time.process_time() + seconds * (COMPILED_FACTOR if compiles else 1)

    known: dict[tuple[str, Effort], bool] = {}  # shrinking comes back to what it has tried
    last: dict[str, Sight] = {}  # the Program that showed it last with all effort

    def seen(program: Program, effort: Effort = FULL) -> Sight:
        text = repr(program)  # tells -0.0 and True from 0.0 and 1
        if effort == FULL and text in last:
            return last[text]
        examination = examine(target, program, replace(options, effort=effort))
        verdict = next((v for v in examination.findings if mark(v) == wanted and sound(examination)), None)
        known[text, effort] = verdict is not None
        if effort == FULL and verdict is not None:
            last.clear()
            last[text] = examination, verdict
        return examination, verdict

    def shows(program: Program, effort: Effort = FULL) -> bool:
        shown = known.get((repr(program), effort))
        return seen(program, effort)[1] is not None if shown is None else shown

    def smaller(program: Program, api: str = suspicion.api) -> Program:
        """Thriftily first: a candidate that shows the bug costs most, and all that counts is whether the last one does."""
        for effort in (THRIFTY, FULL):
            found = shrink_program(program, partial(shows, effort=effort), lambda: time.process_time() < deadline, api)
            if found == program or tried(found, shows):
                return found
        return program

    edits = list(suspicion.edits)
    _, first = seen(apply_all(suspicion.seed, edits))
    if first is None:
        return None
    began = time.process_time()
    kept, near = edits, None
    smallest, api = apply_all(suspicion.seed, edits), suspicion.api
    if seconds:
        kept = shrink_edits(suspicion.seed, edits, shows)
        smallest = smaller(apply_all(suspicion.seed, kept))
        near = next(filter(shows, neighbours(smallest, shares_of_one(target, smallest))), None)
        if near is not None and not is_ordinary(smallest):
            smallest = smaller(near)  # it shows at what people compute with: that is the example
        api, named = by_itself(target, *public(target, api, smallest, shows), shows)
        smallest = presentable(target, api, smaller(named, api) if named != smallest else smallest, shows)
    shrinking = time.process_time() - began
    examination, verdict = seen(smallest)
    point = examination.trial.point if examination.trial is not None else None
    outputs = examination.trial.direct if examination.trial is not None else []
    return Confirmed(
        smallest, tuple(kept), verdict or first, examination.rule, point is not None and point.mutates, point is not None and point.random,
        options.salt, None if point is None else tuple(point.made), shrinking, near is not None if seconds else None,
        bool(outputs) and not any(o.size for o in outputs), _rules(examination),
        tuple(undocumented(target, api, smallest)), tuple(documented(target, api, examination.rule)), api if api != suspicion.api else "",
    )  # fmt: skip


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
    if examination.rule or examination.trial is None:
        return ()
    try:
        return without_tables(examination.trial.point.rules())
    except Exception:  # a look at what was recorded, for people; whatever the library makes of it
        return ()


def without_tables(rules: Sequence[str]) -> tuple[str, ...]:
    """Rules by their names alone, each once."""
    return tuple(dict.fromkeys(rule.partition(":")[2] for rule in rules))[:MOST_RULES]


def _explains(lower: Verdict, higher: Verdict) -> bool:
    """Whether what is wrong at the order below may be why: an error says the same at any, a wrong number spoils what is built on it."""
    wrong = {s.modes for s in lower.scenarios}
    return higher.oracle == "status" or any(s.modes[: lower.order] in wrong for s in higher.scenarios)


def _at_its_order(target: Target, suspicion: Suspicion) -> Suspicion:
    """The suspicion at the order below, where what is wrong in it shows there at ordinary numbers: nobody needs a third derivative then."""
    verdict = suspicion.verdict
    if verdict.order < LOWEST_HIGH or any(s.way for s in verdict.scenarios):
        return suspicion
    below = replace(suspicion.options, order=verdict.order - 1)
    for program in neighbours(suspicion.mutant, shares_of_one(target, suspicion.mutant)):
        for found in examine(target, program, below).findings:
            if found.kind == verdict.kind and _explains(found, verdict):
                return replace(suspicion, seed=program, edits=(), options=below, verdict=found)
    return suspicion
