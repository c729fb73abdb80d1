"""The rows of a design by the compilations that they share: a first look at the seed's own shapes, the others in a batch of their own."""

import json

import numpy as np
import pytest

from gradfuzz.mutate.cover import Cover
from gradfuzz.program.codec import to_json
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from tests.worker_side.numpy_library import NumpyTarget
from tests.worker_side.test_asking import SEED, Silent

ROWS = 40


class Noting(Silent):
    def __init__(self):
        self.met = []

    def note(self, index, fate):
        self.met.append(index)


@pytest.fixture(scope="module")
def examined():
    """The numbers of the rows that a batch examines, by the families that it is to examine, and what it has met of the design."""

    def run(families):
        target = NumpyTarget(np.sin, lambda x: [np.diag(np.cos(x).ravel())])
        target.forget, target.family, target.steady_rules, target.parameters = lambda: None, 64, True, lambda func: []
        depth = json.loads(json.dumps(Depth(families=families).to_json()))
        job = {"id": 1, "api": "torch.sin", "program": to_json(SEED), "rng": "0", "start": 0, "count": ROWS, "weights": None,
               "cover": Cover().to_json(), "depth": depth}  # fmt: skip
        noting = Noting()
        with np.errstate(all="ignore"):
            answer = run_batch(target, job, noting, lambda suspicion: None)
        return noting.met, Cover.from_json(answer["cover"])

    return {families: run(families) for families in (None, (0, 1), (1, ROWS))}


def test_two_parts_are_the_whole_and_share_no_row(examined):
    own, others = examined[0, 1][0], examined[1, ROWS][0]
    assert own[0] == 0 and own + others == examined[None][0] and 1 < len(own) < others[-1]


def test_what_they_met_is_what_all_of_them_have(examined):
    assert examined[0, 1][1] | examined[1, ROWS][1] == examined[None][1]
