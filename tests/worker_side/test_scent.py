"""Following a scent: from where digits are lost to where the derivative is wrong in plain sight, and from an edge to its inside."""

import numpy as np
import pytest

from gradfuzz.mutate.edits import apply_all
from gradfuzz.oracles.verdict import DISAGREE, Verdict
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.scent import is_plain, is_scent, steps
from tests.worker_side.numpy_library import NumpyTarget


def program(values, shape="(2,)", dtype="float64"):
    return parse(f'x = tensor({shape}, "{dtype}", {values})\ny = torch.sin(x)\n', language_for("torch"))


def verdict(kind, expected=1.0, actual=1.0 + 1e-6, element="x[1]"):
    return Verdict(DISAGREE, "gradient", kind, 1, [REVERSE], "", expected, actual, detail={"element": element})


def walked(start, found):
    return [materialise(apply_all(start, [edit]).inputs["x"]) for edit in steps(start, found)]


def test_the_walk_goes_outward_in_the_argument_at_fault_alone():
    path = walked(program("listed([0.5, -8.3])"), verdict("accuracy"))
    assert all(x[0] == 0.5 for x in path)
    far = [float(x[1]) for x in path]
    assert far == sorted(far, reverse=True) and far[0] == pytest.approx(-9.13) and far[-1] < -100


def test_an_edge_is_looked_at_from_both_sides_and_closely():
    path = walked(program("listed([0.5, 1.0])"), verdict("nonfinite", element=None))
    assert all(x[0] == 0.5 and x[1] != 1.0 for x in path)
    assert min(x[1] for x in path) < 1.0 < max(x[1] for x in path)
    assert abs(path[0][1] - 1.0) == 2.0**-52


@pytest.mark.parametrize("start", [program("normal(seed=1)", "(100,)"), program("normal(seed=1)", "(2,)", "complex128")])
def test_what_cannot_be_listed_is_left_alone(start):
    assert walked(start, verdict("accuracy")) == []


def test_what_is_plain_needs_no_walk():
    assert is_scent(verdict("accuracy")) and not is_plain(verdict("accuracy"))
    assert not is_scent(verdict("precision", 1.0, 1.5)) and not is_scent(verdict("gradient", 1.0, 1.5))
    assert is_scent(verdict("nonfinite", 1.0, float("nan")))


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


def suspected(scents, error):
    """What a batch of one mutant at 8.3 tells of a function whose gradient is wrong by `error(x)` of itself."""
    target = NumpyTarget(np.sin, lambda x: [np.diag(np.cos(x) * (1 + error(x)))])
    target.family, target.steady_rules, target.parameters, target.forget = 1, True, lambda func: [], lambda: None
    told = []
    job = {"program": to_json(program("listed([0.5, 8.3])")), "api": "torch.sin", "rng": "0", "weights": {}, "start": 0, "count": 1,
           "id": 1, "depth": Depth(scents=scents).to_json(), "cover": None}  # fmt: skip
    run_batch(target, job, Silent(), told.append)
    return told


def growing(x):
    return np.where(np.abs(x) > 10, 0.5, np.where(np.abs(x) > 8, 1e-6, 0.0))


def test_a_batch_walks_on_to_where_the_loss_is_plain():
    told = suspected(4, growing)
    assert [s.verdict.kind for s in told[:1]] == ["accuracy"] and told[-1].verdict.kind == "gradient"
    assert abs(materialise(told[-1].mutant.inputs["x"])[1]) > 10
    assert {s.verdict.kind for s in suspected(0, growing)} == {"accuracy"}


def test_a_loss_that_does_not_grow_stays_what_it_is():
    told = suspected(4, lambda x: np.where(np.abs(x) > 8, 1e-6, 0.0))
    assert {s.verdict.kind for s in told} == {"accuracy"}


def test_a_healthy_function_is_not_walked():
    assert not suspected(4, lambda x: 0 * x)
