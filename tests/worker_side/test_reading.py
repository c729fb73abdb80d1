"""Seeds are read in shards: together they are all seeds, and an API that kills its reader costs that API."""

import json

import pytest

from gradfuzz.program.parse import parse
from gradfuzz.targets.base.protocol import SeedProgram, anything
from gradfuzz.targets.base.seeds import SHARDS, shard_of
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.reading import read_shard

LANGUAGE = language_for("torch")
NAMES = ("sin", "cos", "exp", "log", "tan", "tanh", "sqrt", "erf", "sinh", "cosh", "atan", "asin")


class Killed(BaseException):
    """In the place of the end of a process."""


class Offering:
    """A target that has two seeds of each name, one of which may be deadly to try."""

    def __init__(self, deadly=""):
        self.deadly = deadly

    def seeds(self, trying=anything):
        for name in NAMES:
            if trying(f"torch.{name}"):
                if name == self.deadly:
                    raise Killed
                for size in (2, 3):
                    text = f'x = tensor(({size},), "float64", uniform(0.5, 0.9, seed=1))\ny = torch.{name}(x)\n'
                    yield SeedProgram(parse(text, LANGUAGE), "test", f"torch.{name}")


class Noted:
    """Where a worker writes how far it is."""

    def write(self, job, index, counts, swift=False):
        self.index = index


def apis(path):
    return [json.loads(line)["api"] for line in path.read_text().splitlines()]


def job(path, shard, start=0, deadly=()):
    return {"id": 1, "path": str(path), "shard": shard, "start": start, "deadly": list(deadly)}


def test_the_shards_together_are_all_seeds_and_none_twice(tmp_path):
    for shard in range(SHARDS):
        read_shard(Offering(), job(tmp_path / str(shard), shard), Noted())
    found = [api for shard in range(SHARDS) for api in apis(tmp_path / str(shard))]
    assert sorted(found) == sorted(2 * [f"torch.{name}" for name in NAMES])
    assert len({shard_of(api) for api in found}) > 1


def test_forms_of_one_operator_are_in_one_shard():
    assert len({shard_of(api) for api in ("torch.sin", "torch.Tensor.sin_", "torch.nn.Sin")}) == 1
    assert shard_of("torch.ops.aten.sin.default", "sin") == shard_of("torch.sin")


@pytest.mark.parametrize("deadly", NAMES)
def test_what_was_read_before_a_death_stays_and_the_rest_goes_on_behind_it(tmp_path, deadly):
    shard, path, noted = shard_of(f"torch.{deadly}"), tmp_path / "seeds", Noted()
    with pytest.raises(Killed):
        read_shard(Offering(deadly), job(path, shard), noted)
    assert (tmp_path / "seeds.trying").read_text() == f"torch.{deadly}"
    before = apis(path)
    read_shard(Offering(deadly), job(path, shard, noted.index + 1), noted)
    whole = [f"torch.{name}" for name in NAMES if shard_of(f"torch.{name}") == shard and name != deadly]
    assert apis(path)[: len(before)] == before and apis(path) == [api for api in whole for _ in range(2)]
