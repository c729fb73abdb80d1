"""What a batch offers as seeds: the smallest mutants that show something which the seed itself does not."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gradfuzz.errors import StoreError
from gradfuzz.mutate.cover import Cover
from gradfuzz.program import from_json, parse, to_json
from gradfuzz.surveys.mutants import Mutants
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.batch import MOST_GROWN, run_batch
from gradfuzz.worker.depth import Depth


class Unwatched:
    def write(self, job, index, counts, swift=False):
        pass

    def note(self, index, fate):
        pass


def answer(target, text, count=60):
    seed = to_json(parse(text, target.language))
    depth = Depth(orders=((2, 2),)).to_json()
    job = {"id": 1, "api": "torch.sin", "program": seed, "rng": "0:1", "weights": {}, "start": 0, "count": count, "depth": depth}
    job["cover"] = Cover().to_json()
    return seed, run_batch(target, job, Unwatched(), lambda suspicion: None)


def test_mutants_that_show_something_else_are_offered_smallest_first(torch_target):
    seed, told = answer(torch_target, 'x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n')
    assert 0 < len(told["grown"]) <= MOST_GROWN
    sizes = [sum(int(np.prod(r.shape)) for r in from_json(program).inputs.values()) for _, program in told["grown"]]
    assert sizes == sorted(sizes)
    for feature, program in told["grown"]:
        assert program != seed and any(name.endswith("|" + feature) for name in told["features"])
    assert answer(torch_target, 'x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n')[1]["grown"] == told["grown"]


def test_a_mutant_that_shows_a_bug_is_no_seed(torch_target):
    text = 'x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.wrong_backward(x)\n'
    assert all("disagree" not in feature for feature, _ in answer(torch_target, text)[1]["grown"])


def test_a_seed_out_of_a_stranger_s_store_passes_the_gate_or_nothing_goes_on():
    language = language_for("torch")
    seed = to_json(parse('x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n', language))
    campaign = SimpleNamespace(language=language)
    assert Mutants._grown(campaign, "torch.sin", seed).program == seed
    hostile = json.loads(json.dumps(seed).replace("torch.sin", "torch.importlib.import_module"))
    with pytest.raises(StoreError, match="cannot be one"):
        Mutants._grown(campaign, "torch.sin", hostile)
