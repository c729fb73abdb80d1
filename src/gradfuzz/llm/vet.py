"""The gate of a round: what a model wrote becomes a Program within the limits that the library runs, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.llm.limits import Limits, check_types
from gradfuzz.llm.parameters import apply_set
from gradfuzz.llm.reading import read_program
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.refused import DIED, LIBRARY, NO_DERIVATIVE, RELEASE, Refused, classified
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import INVALID, UNSUPPORTED
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.program import Program, to_json
from gradfuzz.targets.base.errors import error_kind

# A Program that kills its process by a signal of these is a finding to be: the campaign looks into it.
FATAL = ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGBUS", "SIGILL")


@dataclass(frozen=True)
class Valid:
    """A Program that runs, with the derivative rules that it reaches."""

    program: Program
    rules: tuple[str, ...] = ()
    outcome: str = ""


def program_of(text: str, idioms: Idioms, limits: Limits) -> Program:
    """A model's text as a Program within the limits. Refused with the reason for anything else."""
    try:
        program = read_program(text, idioms)
    except ProgramError as error:
        raise classified(error) from None
    limits.check(program)
    return program


def forms_of(text: str, idioms: Idioms, limits: Limits) -> list[Program]:
    """The Program in double precision and differentiated by everything; then, where they are others, in the precision that is written, and
    differentiated by what the text differentiates by.

    Some functions work in single precision alone, or have no derivative by some argument.
    """
    forms: list[Program] = []
    for wide, bold in ((True, True), (False, True), (True, False), (False, False)):
        form = program_of(text, replace(idioms, wide=wide, bold=bold), limits)
        if form not in forms:
            forms.append(form)
    return forms


def changed(program: Program, data: Any, idioms: Idioms, limits: Limits) -> Program:
    """A Program with a model's parameter set in it, within the limits."""
    found = apply_set(program, data, idioms.language)
    check_types(program, found)
    limits.check(found)
    return found


def try_out(pool: Executor, programs: list[Program], tick: Callable[[], None] = lambda: None) -> list[Valid | Refused]:
    """Each Program run once, at order one, in the order given. Behind the workers' walls, like everything."""
    options = Options(1).to_json()
    jobs = {pool.submit("examine", program=to_json(program), options=options): index for index, program in enumerate(programs)}
    found: list[Valid | Refused | None] = [None] * len(programs)
    while any(result is None for result in found):
        for event in pool.poll():
            index = jobs.get(event.job["id"])
            if index is not None and event.kind in ("done", "died"):
                found[index] = _judged(programs[index], event)
                tick()
    return [result for result in found if result is not None]


def try_forms(pool: Executor, forms: list[list[Program]]) -> list[Valid | Refused]:
    """The first form of each that runs; what was wrong with the first one where none does."""
    found = try_out(pool, [each[0] for each in forms])
    for turn in range(1, max(map(len, forms), default=1)):
        others = [index for index, result in enumerate(found) if isinstance(result, Refused) and len(forms[index]) > turn]
        for index, result in zip(others, try_out(pool, [forms[index][turn] for index in others]), strict=True):
            if isinstance(result, Valid):
                found[index] = result
    return found


def _judged(program: Program, event: Event) -> Valid | Refused:
    if event.kind == "died":
        cause = str(event.data["cause"])
        return Valid(program, outcome=cause) if cause in FATAL else Refused(DIED, f"it took its process down ({cause}); make it smaller")
    if "refused" in event.data:
        return Refused(RELEASE, str(event.data["refused"]))
    if "failed" in event.data:
        return Refused(LIBRARY, str(event.data["failed"])[:300])
    verdicts = event.data["verdicts"]
    reason = str(verdicts[0]["reason"]) if verdicts else ""
    if event.data["outcome"] == INVALID:
        return Refused(f"{LIBRARY}: {error_kind(reason)}", f"the library raises: {reason}")
    if event.data["outcome"] == UNSUPPORTED:
        return Refused(NO_DERIVATIVE, reason or "the library has no derivative for this")
    return Valid(program, tuple(event.data["rules"]), str(event.data["outcome"]))
