"""A mutant like one that took next to no time hangs if it takes seconds; nothing is said of one that may have to be compiled."""

import time

import numpy as np
import pytest

from gradfuzz.mutate.cover import Cover
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.worker import batch
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.drawing import Drawing
from gradfuzz.worker.progress import Progress
from tests.worker_side.numpy_library import NumpyTarget

PROGRAM = parse('x = tensor((4,), "float64", normal(seed=1))\ny = torch.square(x)\n', language_for("torch"))
COUNT = 40


def slowly(x):
    began = time.process_time()
    while time.process_time() - began < batch.SWIFT:
        pass
    return np.asarray(x * x)


def swift_ones(tmp_path, function, family):
    """Which mutants of a batch were said to be swift while they were examined."""
    progress, seen = Progress(str(tmp_path / "progress")), []

    def noting(x):
        _, index, _ = progress.read()
        seen.append((index, progress.swift))
        return function(x)

    target = NumpyTarget(noting, lambda x: [np.diag(2 * x.ravel())])
    target.family, target.steady_rules, target.parameters, target.forget = family, True, lambda func: [], lambda: None
    job = {"program": to_json(PROGRAM), "api": "torch.square", "rng": "0", "weights": {}, "id": 1, "start": 0, "count": COUNT,
           "depth": Depth().to_json(), "cover": Cover().to_json()}  # fmt: skip
    run_batch(target, job, progress, lambda suspicion: None)
    return {index for index, swift in seen if swift}, {index for index, swift in seen if not swift}


def test_others_of_a_family_are_swift_once_one_was(tmp_path):
    swift, not_swift = swift_ones(tmp_path, np.square, 16)
    drawing = Drawing(PROGRAM, "0", 16, cover=Cover())
    families = {drawing.family(index) for index in swift | not_swift}
    assert len(families) > 1 and len(swift) > COUNT / 4
    assert {drawing.family(index) for index in not_swift} == families  # each began with one of which nothing was known
    assert 0 in not_swift


@pytest.mark.parametrize(("function", "family"), [(slowly, 16), (np.square, 1)])
def test_none_is_where_they_take_their_time_or_share_no_compilation(tmp_path, monkeypatch, function, family):
    monkeypatch.setattr(batch, "MOST_SECONDS", 1.0)
    swift, not_swift = swift_ones(tmp_path, function, family)
    assert not swift and not_swift
