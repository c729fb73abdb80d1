"""What a batch has shown twice it does not prove a third time; anything else it still judges to the end."""

from collections import Counter

import numpy as np
import pytest

from gradfuzz.oracles.verdict import DISAGREE, RANK
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.worker import batch
from gradfuzz.worker.depth import Depth
from tests.worker_side.numpy_library import NumpyTarget

MUTANTS = 48


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


def told_by(jacobian, monkeypatch, often=batch.TOLD_OFTEN, familiar=()):
    """The keys that a batch tells of a sine with that Jacobian, its disagreements, and how often the sine was called."""
    calls = []

    def sine(x):
        calls.append(x)
        return np.sin(x)

    target = NumpyTarget(sine, jacobian)
    target.family, target.steady_rules, target.parameters, target.forget = 1, True, lambda func: [], lambda: None
    program = parse('x = tensor((4,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
    job = {"program": to_json(program), "api": "torch.sin", "rng": "0", "weights": {}, "start": 0, "count": MUTANTS, "id": 1,
           "depth": Depth().to_json(), "cover": None, "familiar": familiar}  # fmt: skip
    told = []
    with monkeypatch.context() as patch:
        patch.setattr(batch, "TOLD_OFTEN", often)
        answer = batch.run_batch(target, job, Silent(), lambda suspicion: told.append(suspicion.key))
    return Counter(told), answer["counts"][RANK.index(DISAGREE)], len(calls)


def slopes(x, wrong):
    return [np.diag(np.where(wrong(x), 1.5, 1.0).ravel() * np.cos(x).ravel())]


@pytest.mark.parametrize("wrong", [lambda x: x == x, lambda x: x > 0.0], ids=["everywhere", "above zero"])
def test_the_same_is_told_twice_and_counted_always(monkeypatch, wrong):
    all_told, disagreements, calls = told_by(lambda x: slopes(x, wrong), monkeypatch, often=MUTANTS)
    told, counted, fewer = told_by(lambda x: slopes(x, wrong), monkeypatch)
    assert max(all_told.values()) > 10 and set(told) == set(all_told)
    assert all(n == min(batch.TOLD_OFTEN, all_told[key]) for key, n in told.items())
    assert counted >= disagreements  # what an excuse would have spoken for may be among them
    assert fewer < calls / 2


def test_what_is_right_is_not_suspected_for_having_been_wrong_elsewhere(monkeypatch):
    """Wrong where a number is above two, which few mutants have: the others agree as before."""
    _, disagreements, _ = told_by(lambda x: slopes(x, lambda x: x > 2.0), monkeypatch, often=MUTANTS)
    _, counted, _ = told_by(lambda x: slopes(x, lambda x: x > 2.0), monkeypatch)
    assert 0 < counted == disagreements < MUTANTS / 2


def test_what_batches_before_have_told_often_is_counted_and_not_told(monkeypatch):
    everywhere = lambda x: slopes(x, lambda x: x == x)  # noqa: E731
    told, disagreements, calls = told_by(everywhere, monkeypatch)
    again, counted, fewer = told_by(everywhere, monkeypatch, familiar=list(told))
    assert told and not again and counted >= disagreements and fewer < calls
    others, _, _ = told_by(everywhere, monkeypatch, familiar=["torch.cos|gradient"])
    assert others == told
