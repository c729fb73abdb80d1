"""One entry of a derivative at which a finding shows: what AD gives there, and what is right by means that a short script can repeat."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from gradfuzz.oracles.evidence.invariants import invariants_of
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import INTERNAL, STATUS
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json
from gradfuzz.targets.base.protocol import Outcome, Target
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.worker.context import context, error_context
from gradfuzz.worker.entry import Entry
from gradfuzz.worker.measure import Spot, label, spot_of, spots

# Entries that are looked at, and seconds of the processor for them: the smallest example of a bug has a handful.
MOST_ENTRIES, MOST_SECONDS = 400, 5.0


def pinpoint(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """The first entry that shows a finding plainly, its diagonal ones first; None where there is none.

    `job` has the Program, the scenarios at fault, the kind, the element that was narrowed down to, and, of a proven finding, its entry's
    place and exact value. An error has no entry: of it only the context is told. `besides`: elements that were looked at in vain.
    """
    trial = Trial(target, gate.check(from_json(job["program"]), target.language))
    if job["kind"] in (STATUS, INTERNAL):
        return {"shown": None, "context": error_context(trial)}
    scenarios = [Scenario.named(name) for name in job["scenarios"]]
    order = scenarios[0].order if scenarios else 0
    if not order or any(s.way or s.device for s in scenarios):
        return {"shown": None}
    if job.get("spots"):
        output, alongs = job["spots"]
        entries: Iterator[tuple[Spot, tuple[Spot, ...]]] = iter([(spot_of(output), tuple(map(spot_of, alongs)))])
    else:
        entries = _entries(trial, order, job.get("element"))
    until, besides = time.process_time() + MOST_SECONDS, {spot_of(spot) for spot in job.get("besides", ())}
    for output, alongs in entries:
        if alongs[-1] in besides:
            continue
        for scenario in scenarios:
            entry = Entry(trial, scenario, output, alongs)
            shown = entry.shown(job["kind"], job.get("exact"), scenarios)
            if shown is not None:
                return {"shown": {**shown, "spots": [output, alongs], "context": context(target, entry, shown, job["kind"])}}
        if time.process_time() > until:
            break
    return {"shown": None}


def _entries(trial: Trial, order: int, element: str | None) -> Iterator[tuple[Spot, tuple[Spot, ...]]]:
    """Along the element at fault; first what it does to itself. Outputs that are declared to have no derivative are left out."""
    reverse = trial.outcome(REVERSE)
    live = reverse.live if isinstance(reverse, Outcome) and reverse.live else [True] * len(trial.direct)
    free = invariants_of(trial.direct, trial.inputs)  # vectors of a decomposition: an entry of one says nothing by itself
    outputs = [spot for spot in spots(trial.direct) if live[spot[0]] and (free is None or spot[0] in free.values)]
    inputs = spots(trial.inputs)
    last = [spot for spot in inputs if label(spot, trial.point.names, trial.inputs) == element] or inputs
    own = [(output, (spot,) * order) for spot in last for output in sorted(outputs, key=lambda output: output[1:] != spot[1:])]
    every = ((output, (*first, spot)) for spot in last for first in product(*[inputs] * (order - 1)) for output in outputs)
    seen = set()
    for entry in (*own[:MOST_ENTRIES], *(e for _, e in zip(range(MOST_ENTRIES), every))):
        if entry not in seen:
            seen.add(entry)
            yield entry
