"""The pool: whatever a library does to a worker costs one mutant."""

import os

import pytest

from gradfuzz.errors import TargetError
from gradfuzz.oracles.check import Options
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import parse, to_json
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.depth import Depth

MODULES = ("planted_torch",)


def job(name, order=1, **more):
    text = f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{name}(x)\n'
    program = to_json(parse(text, language_for("torch", MODULES)))
    return {"program": program, "options": Options(order).to_json(), **more}


@pytest.fixture(scope="module")
def pool():
    from tests.conftest import PLANTED

    launch = Launch("torch", modules=MODULES, paths=(str(PLANTED),), timeout=8.0, memory=600)
    with Pool(launch, 2) as pool:
        yield pool


def test_a_healthy_program_comes_back(pool):
    event = pool.run("examine", **job("healthy"))
    assert event.kind == "done" and event.data["outcome"] == "agree"


def test_a_segfault_costs_one_worker_and_is_named(pool):
    event = pool.run("examine", **job("segfault"))
    assert event.kind == "died" and event.data["cause"] == "SIGSEGV"
    assert len(pool.workers) == 2
    assert pool.run("examine", **job("healthy")).kind == "done"


def test_a_hang_is_ended(pool):
    event = pool.run("examine", **job("hang"))
    assert event.kind == "died" and event.data["cause"] == "timeout"
    assert len(pool.workers) == 2


def test_endless_allocation_fails_inside_the_library_and_is_a_finding(pool):
    event = pool.run("examine", **job("hoard"))
    assert event.kind == "done"
    (finding,) = [v for v in event.data["verdicts"] if v["outcome"] == "disagree"]
    assert finding["kind"] == "memory" and finding["scenarios"] == ["reverse"]
    assert pool.run("examine", **job("healthy")).data["outcome"] == "agree"


def test_a_batch_says_at_which_mutant_it_died_and_what_it_had_counted(pool):
    more = {"api": "planted", "rng": "0", "start": 0, "weights": {}, "depth": Depth().to_json()}
    event = pool.run("batch", **job("segfault", count=4, **more))
    assert event.kind == "died" and event.data["index"] == 0
    done = pool.run("batch", **job("healthy", count=6, **more))
    assert sum(done.data["counts"]) == 6


def test_workers_are_single_threaded(pool):
    assert pool.run("examine", **job("healthy")).kind == "done"
    threads = [len(os.listdir(f"/proc/{w.pid}/task")) for w in pool.workers]
    assert threads == [1, 1]


def test_a_missing_library_is_one_clear_line(tmp_path):
    import subprocess
    import sys

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    with pytest.raises(TargetError, match=r"(?s)torch.*(install|could not be started)"):
        Pool(Launch("torch", python=str(tmp_path / "empty" / "bin" / "python")), 1)


def test_a_missing_interpreter_is_one_clear_line():
    with pytest.raises(TargetError, match="no such interpreter"):
        Pool(Launch("torch", python="no-such-python"), 1)


def test_a_job_that_wants_a_fresh_worker_leaves_nothing_behind():
    with Pool(Launch("torch"), 1) as pool:  # not even in a worker that has done nothing yet
        event = pool.run("script", source="import os\nprint(os.getpid())\n", fresh=True)
        assert int(event.data["output"]) not in {worker.pid for worker in pool.workers}
        assert len(pool.workers) == 1
