"""Recorded answers, written as models write them: the good ones become seeds, the hostile ones are refused, and nothing of them runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gradfuzz.llm.answers import parameter_sets_of, programs_of
from gradfuzz.llm.limits import Limits
from gradfuzz.llm.reading.idioms import idioms_for
from gradfuzz.llm.refused import Refused
from gradfuzz.llm.vet import Valid, changed, forms_of, try_forms
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import from_json, gate, parse, to_json

HERE = Path(__file__).parent / "answers"
TARGETS = ("torch", "jax", "tensorflow")
GOOD_SHARE = 0.95


def recorded(target):
    return [json.loads(line) for line in (HERE / f"{target}.jsonl").read_text(encoding="utf-8").splitlines()]


def gated(row, canary):
    """What each item of an answer comes to before anything runs: a Program in its forms, or why it is none."""
    idioms, limits = idioms_for(row["target"]), Limits()
    content = row["content"].replace("@CANARY@", str(canary))
    try:
        if row["phase"] == "program":
            return [one(lambda text=text: forms_of(text, idioms, limits)) for text in programs_of(content, row["finish"])]
        base = parse(row["program"], idioms.language)
        return [one(lambda data=data: [changed(base, data, idioms, limits)]) for data in parameter_sets_of(content, row["finish"])]
    except Refused as refused:
        return [refused]


def one(read):
    try:
        return read()
    except Refused as refused:
        return refused


def test_there_are_two_hundred_of_them_for_all_targets_and_no_two_are_alike():
    rows = [row for target in TARGETS for row in recorded(target)]
    kinds = Counter(row["quality"] for row in rows)
    assert len(rows) >= 200 and kinds["good"] >= 120 and kinds["bad"] >= 25 and kinds["hostile"] >= 40
    assert len({row["content"] for row in rows}) == len(rows)
    assert {(row["target"], row["phase"], row["quality"]) for row in rows} >= {
        (target, phase, quality) for target in TARGETS for phase in ("program", "parameters") for quality in ("good", "bad", "hostile")
    }


@pytest.mark.parametrize("target", TARGETS)
def test_the_good_become_seeds_the_hostile_are_refused(target, tmp_path):
    pytest.importorskip(target)
    rows, canary = recorded(target), tmp_path / "canary"
    results = [(row, result) for row in rows for result in gated(row, canary)]
    with Pool(Launch(target, timeout=30.0), 2) as pool:
        tried = iter(try_forms(pool, [result for _, result in results if not isinstance(result, Refused)]))
    outcomes = [(row, result if isinstance(result, Refused) else next(tried)) for row, result in results]
    valid, total = Counter(), Counter()
    lost = []
    for row, outcome in outcomes:
        total[row["quality"]] += 1
        valid[row["quality"]] += isinstance(outcome, Valid)
        if row["quality"] == "good" and isinstance(outcome, Refused):
            lost.append((row["api"], outcome.reason, outcome.message))
        if row["quality"] == "hostile":
            assert isinstance(outcome, Refused), row["content"]
            assert outcome.message.isprintable() and len(outcome.message) < 600, outcome.message
    assert valid["good"] >= GOOD_SHARE * total["good"], lost
    assert valid["hostile"] == valid["bad"] == 0
    assert not canary.exists()


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_hostile_never_came_near_the_library_but_for_what_only_the_library_can_tell(target, tmp_path):
    """Nearly all of it is refused from the text alone; the rest by what its names turn out to be."""
    results = [result for row in recorded(target) if row["quality"] == "hostile" for result in gated(row, tmp_path / "canary")]
    refused = [result for result in results if isinstance(result, Refused)]
    assert len(refused) >= 0.8 * len(results)


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_reads_back_as_itself_and_passes_the_gate(target, tmp_path):
    language = idioms_for(target).language
    results = [result for row in recorded(target) if row["quality"] == "good" for result in gated(row, tmp_path)]
    programs = [program for result in results if not isinstance(result, Refused) for program in result]
    assert len(programs) > 30
    for program in programs:
        assert gate.check(from_json(json.loads(json.dumps(to_json(program)))), language) == program
