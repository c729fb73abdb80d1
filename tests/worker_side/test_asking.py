"""Which mutants of a batch the reference is asked about."""

import numpy as np

from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.program.values import materialise
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from tests.worker_side.numpy_library import NumpyTarget

SEED = parse('x = tensor((8,), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n', language_for("torch"))


class Silent:
    def write(self, *_):
        pass


def asked(count):
    """What a batch on the design of the seed asks about."""
    target = NumpyTarget(np.sin, lambda x: [np.diag(np.cos(x))])
    target.family, target.steady_rules, target.parameters, target.forget = 1, True, lambda func: [], lambda: None
    job = {"program": to_json(SEED), "api": "torch.sin", "rng": "0", "weights": {}, "start": 0, "count": count, "id": 1,
           "depth": Depth().to_json(), "cover": Cover().to_json()}  # fmt: skip
    return run_batch(target, job, Silent(), lambda suspicion: None)["questions"]


def sizes(questions):
    """How large the inputs of the mutants are."""
    mutants = [apply_all(SEED, [Edit.from_json(e) for e in question["edits"]]) for question in questions]
    return [np.abs(materialise(mutant.inputs["x"])) for mutant in mutants]


def test_one_mutant_on_each_side_of_ordinary_numbers_is_asked_about():
    """Those of 1e-8 among special points must not take the place of numbers in the tails, where derivatives vanish."""
    first, *others = sizes(asked(80))
    assert first.max() <= 2.0 and len(others) == 2
    large = [x for x in others if x.max() > 25.0]
    assert len(large) == 1 and large[0].max() <= 400.0  # where a tail still has a derivative, not far beyond it
    assert any(0.0 < x[x > 0].min() < 1e-6 for x in others)
