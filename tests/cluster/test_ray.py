"""Campaigns on two raylets of one machine: the same findings as here, whoever is killed meanwhile. `make cluster` runs these."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.store.kill_rounds import PLANTED, has_campaign, outcome

ray = pytest.importorskip("ray", reason="Ray is not installed: nothing of --executor ray is tested; `make cluster` installs and tests it")
pytestmark = pytest.mark.slow

FUNCTIONS = ("planted_torch.wrong_backward", "planted_torch.wrong_output", "planted_torch.segfault", "torch.sin", "torch.exp", "torch.cos")
MUTANTS = 1500
LIMIT = 300.0


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.add_node(num_cpus=1)
    yield found
    found.shutdown()


def prepare(folder):
    folder.mkdir(parents=True)
    shutil.copy(PLANTED, folder)
    seeds = (f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n' for name in FUNCTIONS)
    (folder / "seeds.py").write_text("\n".join(seeds))
    return folder


def start(folder, *more):
    command = [sys.executable, "-m", "gradfuzz", "run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", "1",
               "--mutants", str(MUTANTS), "--store", "s.db", *more]  # fmt: skip
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)


def batches(folder):
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{folder / 's.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("select count(*) from batches").fetchone()[0])
    return 0


def until(ready, process, folder):
    end = time.monotonic() + LIMIT
    while not ready():
        assert process.poll() is None and time.monotonic() < end, said(folder)
        time.sleep(0.05)


def said(folder):
    return (folder / "said.txt").read_text()


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """What the same campaign finds on this machine's own pool."""
    folder = prepare(tmp_path_factory.mktemp("local") / "here")
    assert start(folder, "--workers", "2").wait(LIMIT) == 1, said(folder)
    return outcome(folder)


def test_a_cluster_finds_what_one_machine_finds(cluster, wanted, tmp_path):
    folder = prepare(tmp_path / "ray")
    assert start(folder, "--executor", "ray", "--ray-address", cluster.address).wait(LIMIT) == 1, said(folder)
    assert outcome(folder) == wanted and any(confirmed for _, _, confirmed, _ in wanted["findings"])


def test_a_killed_node_costs_its_leases_and_a_new_one_takes_its_place(cluster, wanted, tmp_path):
    folder = prepare(tmp_path / "ray")
    node = cluster.add_node(num_cpus=1)
    process = start(folder, "--executor", "ray", "--ray-address", cluster.address)
    until(lambda: said(folder).count("has joined") == 3 and batches(folder) > 2, process, folder)
    cluster.remove_node(node, allow_graceful=False)
    until(lambda: "has left" in said(folder), process, folder)
    assert process.wait(LIMIT) == 1, said(folder)
    assert outcome(folder) == wanted


def test_a_node_may_join_at_any_time(cluster, wanted, tmp_path):
    folder = prepare(tmp_path / "ray")
    process = start(folder, "--executor", "ray", "--ray-address", cluster.address)
    until(lambda: batches(folder) > 0, process, folder)
    node = cluster.add_node(num_cpus=1)
    assert process.wait(LIMIT) == 1, said(folder)
    cluster.remove_node(node)
    assert outcome(folder) == wanted


def test_a_driver_that_is_killed_goes_on_where_it_was(cluster, wanted, tmp_path):
    folder = prepare(tmp_path / "ray")
    process = start(folder, "--executor", "ray", "--ray-address", cluster.address)
    until(lambda: batches(folder) > 3, process, folder)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert has_campaign(folder)
    again = start(folder, "--executor", "ray", "--ray-address", cluster.address, "--resume")
    assert again.wait(LIMIT) == 1, said(folder)
    assert outcome(folder) == wanted


def test_what_no_node_has_is_one_line_and_nothing_is_written(cluster, tmp_path):
    folder = prepare(tmp_path / "ray")
    ray_options = ("--executor", "ray", "--ray-address", cluster.address)
    assert start(folder, *ray_options, "--python", "/no/such/python").wait(LIMIT) == 2
    assert "no such interpreter" in said(folder) and "Traceback" not in said(folder) and not (folder / "s.db").exists()
