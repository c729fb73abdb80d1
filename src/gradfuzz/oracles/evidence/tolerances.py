"""Tolerances that a Program gives to what it calls, or leaves at their defaults: a solver is right up to these, and its derivative too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Optional

from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line
from gradfuzz.oracles.evidence.narrowing import Suspect
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.model import Call, Expr, Program, Tensor, rebuild
from gradfuzz.targets.base.protocol import Overload

# What such parameters are called in every library.
NAMES = frozenset({"tol", "rtol", "atol"})
# So many times as tight, and never tighter than what a solver in double precision comes to.
TIGHTER, TIGHTEST = 64.0, 1e-12

Menu = Callable[[str], Optional[list[Overload]]]


def tightened(program: Program, menu: Menu) -> Program | None:
    """The Program with every tolerance tighter, those that its calls leave at their defaults, too; None where there is none to tighten."""
    statements = tuple(s if isinstance(s.value, Tensor) else replace(s, value=_tight(s.value, menu)) for s in program.statements)
    return None if statements == program.statements else Program(statements)


def _tight(node: Expr, menu: Menu) -> Expr:
    inner = rebuild(node, lambda child: _tight(child, menu))
    if not isinstance(inner, Call) or "." not in inner.func:
        return inner
    args, given = list(inner.args), dict(inner.kwargs)
    for overload in menu(inner.func) or ():
        for place, parameter in enumerate(overload):
            if parameter.name not in NAMES or parameter.name in given:
                continue
            if place < len(args) and not parameter.keyword:
                args[place] = _tighter(args[place])
            elif parameter.default is not None and _tighter(parameter.default) != parameter.default:
                given[parameter.name] = parameter.default
        break  # the first way to call it: how others are told apart is the library's business
    return Call(inner.func, tuple(args), tuple((name, _tighter(v) if name in NAMES else v) for name, v in given.items()))


def _tighter(value: Any) -> Any:
    return max(value / TIGHTER, TIGHTEST) if isinstance(value, float) and value > TIGHTEST else value


def at_tighter_ones(suspect: Suspect) -> Line | None:
    """The suspect's line where all tolerances are tighter; None where there are none, or the library does not bear it."""
    trial = suspect.trial
    menu = getattr(trial.target, "parameters", None)  # people's own functions are called as they are
    program = tightened(trial.program, menu) if menu is not None else None
    if program is None:
        return None
    try:
        other = Trial(trial.target, program, trial.salt, trial.inputs, trial.effort)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
        return None
    if [o.shape for o in other.direct] != [o.shape for o in trial.direct] or not other.finite:
        return None
    other.v = trial.v
    return Case(other, suspect.case.order, suspect.case.base, suspect.wrong).line(suspect.line.along)
