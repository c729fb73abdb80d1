"""What the reference is asked about where nothing is suspected: mutants whose numbers lie where differences are blind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Examination, Options
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, INCONCLUSIVE
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import DIRECT
from gradfuzz.worker.measure import measured

# The reference is asked about a seed once, and about one mutant in so many with numbers of each of these sizes: there differences are
# blind. Functions level off in their tails, vanish at the one end and overflow at the other, so that each has a question of its own. Beyond
# a tail a derivative is zero in any type, and a question there says nothing of the tail: an exponential has vanished at 745. Where few are
# answered, tails are. Each order has questions of its own: many a mutant is not examined beyond the first. Beside zero
# formulas lose what they take from one, in first derivatives; at tiny numbers, which are about the root of the last place, in second ones.
FAR_OUT = {"tail": (25.0, 745.0), "beside zero": (0.0, 1e-9), "tiny": (1e-9, 1e-6), "huge": (745.0, math.inf)}
# Where a value has overflown and nothing else is wrong with it, its derivative may be well inside of the type.
OVERFLOWN = "overflown"
A_LITTLE = 2.0**-7
ASKED_ABOUT = (*FAR_OUT, OVERFLOWN)
ASKED_EVERY = 256
MOST_NUMBERS_ASKED = 1024  # a matrix of twenty rows, as samples are, and what becomes of it
# What AD gives for it costs as much as examining one more mutant at most: few entries of each order that was examined.
# Where it is measured later, as many entries are (`findings/inquiry.py`).
ENTRIES_ASKED, ENTRIES_OF_A_SEED = 4, 2
HIGHEST_ASKED = 2
# Batches that go on with a seed ask so seldom: the reference follows a few questions a second. What a design tries by itself is asked about
# in any: most designs come to their tails when they go on.
LATER_ASKS_EVERY = 8


def far_out(seen: Examination) -> list[str]:
    """Of which sizes some input has numbers far from one, where nothing was found."""
    if seen.trial is None or seen.findings or seen.outcome not in (AGREE, INCONCLUSIVE):
        return []
    if has_overflown(seen.trial):
        return [OVERFLOWN]
    sizes = [np.abs(x) for x in seen.trial.inputs]
    return [end for end, (low, high) in FAR_OUT.items() if any(bool(((low < size) & (size <= high)).any()) for size in sizes)]


def has_overflown(trial: Trial) -> bool:
    """Whether some output has just left the range of its type: it is infinite here, and finite where inputs are a little smaller."""
    if trial.finite or not trial.finite_inputs or any(np.isnan(o).any() for o in trial.direct):
        return False
    before = trial.attempt(DIRECT, (), Vec(list(trial.inputs)), -A_LITTLE)
    if isinstance(before, Refusal) or [o.shape for o in before.outputs] != [o.shape for o in trial.direct]:
        return False
    return any(bool((np.isinf(o) & np.isfinite(b)).any()) for o, b in zip(trial.direct, before.outputs))


def askable(seen: Examination, beyond_first: bool) -> list[int]:
    """Orders at which the reference may be asked about a mutant; none for one that is too large, not finite or random."""
    trial = seen.trial
    if trial is None or not trial.outputs or seen.findings or trial.point.random or not trial.finite_inputs:
        return []
    if not trial.finite and not (beyond_first and has_overflown(trial)):
        return []
    if sum(x.size for x in (*trial.inputs, *trial.outputs)) > MOST_NUMBERS_ASKED:
        return []
    # Where nothing could be said differences were blind, as they are in tails.
    told = [v for v in seen.verdicts if beyond_first and v.oracle == "gradient" and v.outcome in (AGREE, INCONCLUSIVE)]
    higher = {v.order for v in told if 1 < v.order <= HIGHEST_ASKED}
    return [1, *sorted(higher)]


def question(edits: list[Edit], options: Options, seen: Examination, order: int, index: int) -> list[dict[str, Any]]:
    """What the reference is to be asked about a mutant at an order, if that can be had.

    What AD gives for it comes along where another worker would have to compile it anew. Else it is measured when its turn comes.
    """
    trial = seen.trial
    scenarios = [s for s in trial.scenarios(order, options.scenarios) if isinstance(trial.outcome(s), Outcome)] if trial else []
    if trial is None or not scenarios:
        return []
    numbers = None
    if trial.target.family > 1:  # a seed's own numbers are ordinary ones
        numbers = measured(trial, scenarios, ENTRIES_ASKED if index else ENTRIES_OF_A_SEED, elsewhere=index > 0)
    asked = {"edits": [e.to_json() for e in edits], "options": options.to_json(), "scenarios": [s.name for s in scenarios]}
    return [{**asked, "measured": numbers}]
