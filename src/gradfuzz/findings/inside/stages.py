"""Blame within a way: the first of its stages that shows the same disagreement is where it comes from, and the cheapest to look at."""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.edits import apply_all
from gradfuzz.oracles.check import examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.targets.base.protocol import Target


def at_its_stage(target: Target, suspicion: Suspicion) -> Suspicion:
    """The suspicion in the earliest stage of its way that shows it; itself where it is in no way, or the way has no stages."""
    scenario = suspicion.verdict.scenarios[0] if suspicion.verdict.scenarios else None
    way = target.ways.get(scenario.way) if scenario is not None else None
    if way is None:
        return suspicion
    mutant = apply_all(suspicion.seed, list(suspicion.edits))
    for stage in way.stages:
        if stage not in target.ways:
            continue
        options = replace(suspicion.options, ways=(stage,))
        for verdict in examine(target, mutant, options).findings:
            if _same(verdict, suspicion.verdict):
                return replace(suspicion, options=options, verdict=verdict)
    return replace(suspicion, options=replace(suspicion.options, ways=(way.name,)))


def _same(ours: Verdict, theirs: Verdict) -> bool:
    """Whether they say the same but for the way: an error by its message, a number by its order and modes."""
    if ours.kind != theirs.kind or not ours.scenarios or not ours.scenarios[0].way:
        return False
    if ours.oracle == "status":
        return ours.symptom == theirs.symptom
    return ours.scenarios[0].modes == theirs.scenarios[0].modes
