"""Rows of many values are examined in half of the nestings; what shows something there is seen in all of them."""

import pytest

from gradfuzz.mutate.cover import Cover
from gradfuzz.program import parse
from gradfuzz.program.codec import to_json
from gradfuzz.worker import batch
from gradfuzz.worker.depth import HALVES, Depth
from gradfuzz.worker.drawing import Drawing

SEED = 'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{}(x)\n'


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


def pairs_of(target, name, monkeypatch):
    """What a design's second batch asks for, when every value was tried alone, and the suspicions that it tells."""
    seed = parse(SEED.format(name), target.language)
    asked, told = [], []
    examine = batch.examine

    def heard(target, program, options, **more):
        asked.append(options.scenarios)
        return examine(target, program, options, **more)

    job = {"program": to_json(seed), "api": seed.api, "rng": "0", "weights": {}, "id": 1, "number": 1, "start": 0}
    job["cover"] = Cover().to_json()
    design = Drawing.of(job, seed, target).design
    alone = {**job, "count": 1 + design.size, "depth": Depth().to_json()}
    job["cover"] = batch.run_batch(target, alone, Silent(), lambda suspicion: None)["cover"]
    monkeypatch.setattr(batch, "examine", heard)
    batch.run_batch(target, {**job, "count": 120, "depth": Depth(((2, 2),), alone=2).to_json()}, Silent(), told.append)
    return asked, told


@pytest.mark.parametrize("name", ["wrong_second", "healthy"])
def test_half_of_the_nestings_are_asked_for_and_a_finding_names_all_that_are_wrong(torch_target, monkeypatch, name):
    asked, told = pairs_of(torch_target, name, monkeypatch)
    halved = [scenarios for scenarios in asked if scenarios is not None]
    assert set(halved) == set(HALVES)
    assert all(suspicion.options.scenarios is None for suspicion in told)
    # Nested forward mode does not differentiate a rule of a user's own: PyTorch's bug, which both have.
    second = [
        {s.name for s in suspicion.verdict.scenarios} - {"forward-over-forward"} for suspicion in told if suspicion.verdict.order == 2
    ]
    assert any(second) == (name == "wrong_second")
    assert all({"reverse-over-reverse", "forward-over-reverse"} <= names for names in second if names)
