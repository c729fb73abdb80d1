"""A station is a pool at the other end of a wire: the same answers, files that travel, and one line where it cannot start."""

import json

import pytest

from gradfuzz.cluster.places import Cluster, on_this_node
from gradfuzz.cluster.station import Station
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.jobs import Jobs
from gradfuzz.pool.launch import Launch
from gradfuzz.worker.depth import Depth
from tests.conftest import PLANTED
from tests.pool.test_pool import MODULES, job

LAUNCH = Launch("torch", modules=MODULES, paths=(str(PLANTED),), timeout=8.0)


def answers(station, count):
    found = {}
    while len(found) < count:
        found.update({message["id"]: message for message in json.loads(station.hear(1.0, 8))})
    return found


def test_jobs_come_back_with_what_their_workers_said_of_them_and_files_travel_with_them():
    station = Station(LAUNCH, Cluster(), 2)
    try:
        about = json.loads(station.about())
        assert about["size"] == 2 and about["version"]
        batch = {
            "api": "planted",
            "rng": "0",
            "start": 0,
            "count": 3,
            "weights": {},
            "depth": Depth().to_json(),
            "told": 0,
            "cover": None,
            "number": 0,
        }
        seeds = {"do": "seeds", "shard": 3, "path": "/elsewhere/seeds-3.jsonl", "deadly": [], "fresh": True, "limit": 180.0, "start": 10**6}
        given = [
            {"id": 7, "do": "batch", "urgent": False, **batch, **job("wrong_backward")},
            {"id": 8, "do": "examine", "urgent": True, **job("segfault")},
            {"id": 9, "urgent": False, **seeds, "file": '{"what another": "node wrote"}\n'},
        ]
        station.give(json.dumps(given))
        told = answers(station, 3)
        assert told[7]["kind"] == "done" and sum(told[7]["data"]["counts"]) == 3 and told[7]["told"][0]["api"] == "planted"
        assert told[8]["kind"] == "died" and told[8]["data"]["cause"] == "SIGSEGV" and told[8]["data"]["spent"] >= 0
        assert told[9]["files"][""] == '{"what another": "node wrote"}\n'  # it began behind all APIs: nothing was added
    finally:
        station.close()


def test_a_node_without_the_library_or_the_environment_says_so_in_one_line():
    for cluster, words in ((Cluster(python="/no/such/python"), "no such"), (Cluster(env="nowhere"), "no environment nowhere")):
        with pytest.raises(GradfuzzError, match=words) as error:
            Station(LAUNCH, cluster, 1).about()
        assert "\n" not in str(error.value)


def test_every_node_has_its_own_interpreter_unless_one_is_named():
    import sys

    assert on_this_node(Launch("torch", python="the driver's"), Cluster()).python == sys.executable
    assert on_this_node(Launch("torch"), Cluster(python="/opt/torch/bin/python")).python == "/opt/torch/bin/python"


def test_a_node_without_the_device_is_given_what_needs_none():
    from gradfuzz.cluster.ray_executor import _anywhere

    jobs = Jobs(2)
    for number, do in enumerate(("batch", "seeds", "batch")):
        jobs.add({"id": number, "do": do, "urgent": False})
    jobs.add({"id": 3, "do": "confirm", "urgent": True})
    assert jobs.next(0, _anywhere)["id"] == 1 and jobs.next(0, _anywhere) is None
    assert [jobs.next(0)["id"] for _ in range(3)] == [3, 0, 2]
