"""Legs that follow each other: other mutants each time, one campaign in the store, nothing looked into twice."""

import os

from gradfuzz.engine.config import Config
from gradfuzz.pool.launch import Launch
from gradfuzz.store import Lesson, Records
from gradfuzz.store.folding import FOLDED
from gradfuzz.surveys.forever import run_forever
from gradfuzz.surveys.schedule import Schedule
from tests.conftest import PLANTED
from tests.surveys.test_schedule import APIS


class Quiet:
    def __init__(self):
        self.told = []

    def tick(self, state): ...

    def say(self, text): ...

    def found(self, finding):
        self.told.append(finding.id)


def test_two_legs_are_one_campaign_with_other_mutants(tmp_path, planted_path):
    names = ("planted_torch.wrong_backward", "torch.sin")
    seeds = (f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n' for name in names)
    (tmp_path / "seeds.py").write_text("\n".join(seeds))
    launch = Launch("torch", modules=("planted_torch",), paths=(os.fspath(PLANTED),))
    config = Config(launch, seed_files=(str(tmp_path / "seeds.py"),), order=1, workers=1)
    legs, watcher = [], Quiet()

    def over(state):
        legs.append(state)
        return len(legs) == 2

    run_forever(config, tmp_path / "s.db", False, watcher, 4.0, over)
    with Records(tmp_path / "s.db") as store:
        (campaign,) = store.campaigns()
        assert campaign["config"]["seed"] == 1
        past = {number: row for number, row in store.finished_batches(campaign["id"]).items() if number >= FOLDED}
        assert {row.api for row in past.values()} == set(names)
        assert sum(store.totals(campaign["id"])["counts"].values()) == legs[1].done > legs[0].done > 0
        found = store.findings(campaign["id"])
    assert len(watcher.told) == len(set(watcher.told)) == len(found) >= 1


def test_a_plan_that_remembers_goes_on_with_designs_and_grown_seeds():
    from gradfuzz.mutate.cover import Cover

    cover = Cover(3, 3, ran=1)
    schedule = Schedule(APIS, 1)
    plain = list(Schedule(APIS, 1)._first)
    schedule.remember({"api0": Lesson(["f"], {"size": [9, 0]}, cover=cover, grown=[["f", {"a": "program"}]]), "gone": Lesson(["g"])})
    first = schedule._first
    assert [b.number for b in first] == [b.number for b in plain] and schedule.features == {"f"}
    assert {b.cover for b in first if b.start and APIS[b.seed_index] == "api0"} == {cover}
    assert schedule.grown == [("api0", {"a": "program"})] and schedule.apis[-1] == "api0"
    assert schedule._weights("api0")["size"] < 1
