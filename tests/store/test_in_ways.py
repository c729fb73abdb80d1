"""Which rules were at work in further ways of running: told by batches, kept beside the rules that were reached, shown by `coverage`."""

import json

from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.store import Records, Store
from gradfuzz.targets.homes import language_for, load_target
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.progress import Progress

SINE = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))


def told(tmp_path, *ways):
    job = {"program": to_json(SINE), "api": "torch.sin", "rng": "0", "weights": {}, "id": 1, "start": 0, "count": 1,
           "depth": Depth(ways=ways, way_every=1, together=True).to_json()}  # fmt: skip
    return run_batch(load_target("torch"), job, Progress(str(tmp_path / "progress")), lambda suspicion: None)


def test_a_batch_tells_the_ways_in_which_it_had_a_derivative(tmp_path):
    assert told(tmp_path, "batched", "functional")["ways"] == ["batched", "functional"]
    assert told(tmp_path, "foreach", "jagged")["ways"] == ["foreach"]  # one that takes no such numbers had none
    assert told(tmp_path)["ways"] == []


def test_coverage_tells_them_apart_from_rules_that_were_reached(tmp_path):
    path = tmp_path / "store.db"
    with Store(path, create=True) as store:
        number = store.begin("torch", "0", {})
        store.add_batch(number, 0, "torch.sin", {"agree": 9}, {}, {}, 1.0, ["reverse:sin", "forward:sin"], ways=["batched"])
        store.add_batch(number, 1, "torch.cos", {"agree": 9}, {}, {}, 1.0, ["reverse:cos"])
    with Records(path) as kept:
        assert kept.rules(number) == ["forward:sin", "reverse:cos", "reverse:sin"]
        assert kept.rules_in_ways(number) == {"batched": {"sin"}}
    shown = CliRunner().invoke(app, ["coverage", "--store", str(path)])
    assert "of 2 that were reached" in shown.output and "batched 1" in shown.output
    assert json.loads(CliRunner().invoke(app, ["coverage", "--json", "--store", str(path)]).output)["ways"] == {"batched": ["sin"]}
