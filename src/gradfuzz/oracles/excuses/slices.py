"""An expanded view, whose slices are one in memory, and a function that has no derivative where slices are equal.

Along what the view can do it may have one all the same: the nuclear norm of equal rows is a multiple of a row's length. But AD
differentiates by each slice and adds up, and owes nothing where there is nothing to add.
"""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.line import Line, settles
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.model import Values
from gradfuzz.program.values import materialise


def _broken(broken: Broken) -> Says:
    line = _apart(broken)
    if line is None:
        return None
    ladder = line.ladder
    return BLIND if ladder.kink or ladder.growing or not (settles(ladder) or line.flat) else None


def _apart(broken: Broken) -> Line | None:
    """The same numbers in slices of their own, along a direction that moves each; None where no input is such a view."""
    trial = broken.trial
    views = {name: recipe for name, recipe in trial.program.inputs.items() if recipe.differentiable and recipe.expanded}
    if not views:
        return None
    copies = {
        name: replace(recipe, layout="contiguous", values=Values("listed", (tuple(materialise(recipe).ravel().tolist()),)))
        for name, recipe in views.items()
    }
    try:
        other = Trial(trial.target, trial.program.with_inputs(copies), trial.salt, effort=trial.effort)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
        return None
    return Case(other, broken.case.order, broken.case.base, ()).first if other.finite else None


EXCUSE = Excuse("slices", "there is no derivative where slices of a view may differ", broken=_broken)
