"""Libraries that do not behave: what they do costs a worker at most, their neighbours are examined as ever, and nothing is left running."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gradfuzz.oracles.check import Options
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import GARBLED, Pool
from gradfuzz.program import parse, to_json
from gradfuzz.targets.homes import language_for
from tests.conftest import PLANTED

MODULES = ("planted_torch", "planted_rude")
MEMORY = 800
RUDE = ("forks_and_stays", "forks_and_goes_on", "chatters", "scribbles", "closes_files", "changes_folder")
RUDE += ("takes_signals", "leaks")


def job(name, **more):
    text = f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n'
    return {"program": to_json(parse(text, language_for("torch", MODULES))), "options": Options(1).to_json(), **more}


HEALTHY = job("planted_torch.healthy")


@pytest.fixture(scope="module")
def pool():
    with Pool(Launch("torch", modules=MODULES, paths=(str(PLANTED),), timeout=20.0, memory=MEMORY), 1) as pool:
        yield pool


def others(pool):
    """Processes of this pool that are no worker of it."""
    return {p.pid for p in psutil.Process(pool.zygote.process.pid).children(recursive=True)} - {w.pid for w in pool.workers}


def soon(true):
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


@pytest.mark.parametrize("name", ["chatters", "changes_folder", "takes_signals", "forks_and_stays"])
def test_what_does_no_harm_is_examined_like_anything_else(pool, name):
    worker = pool.workers[0].pid
    assert pool.run("examine", **job(f"planted_rude.{name}")).data["outcome"] == "agree"
    assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"
    assert [w.pid for w in pool.workers] == [worker]


def test_a_copy_of_a_worker_says_nothing(pool):
    numbers = [pool.submit("examine", **job("planted_rude.forks_and_goes_on"), fresh=True) for _ in range(3)]
    done = []
    while len(done) < len(numbers):
        done += [e.job["id"] for e in pool.poll() if e.kind == "done"]
    assert sorted(done) == numbers and pool.run("examine", **HEALTHY).data["outcome"] == "agree"


def test_the_death_of_a_worker_is_seen_though_another_process_holds_its_connection(pool):
    event = pool.run("examine", fresh=True, **job("planted_rude.forks_and_dies"))
    assert event.kind == "died" and event.data["cause"] == "SIGSEGV"
    assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"


def test_what_a_dead_worker_had_started_ends_with_it(pool):
    pool.run("examine", **job("planted_torch.segfault"))  # a worker that has forked nothing yet
    pool.run("examine", **job("planted_rude.forks_and_stays"))
    assert others(pool)
    assert pool.run("examine", **job("planted_torch.segfault")).kind == "died"
    assert soon(lambda: not others(pool))


def test_closed_files_cost_the_worker(pool):
    event = pool.run("examine", **job("planted_rude.closes_files"))
    assert event.kind == "died" and event.data["cause"].startswith("exit status")
    assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"


def test_garbage_on_the_connection_costs_the_worker_and_is_named(pool):
    event = pool.run("examine", **job("planted_rude.scribbles"))
    assert event.kind == "died" and event.data["cause"] == GARBLED
    assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"


def test_a_worker_that_keeps_too_much_is_replaced_before_others_pay_for_it(pool):
    first = pool.workers[0].pid
    kinds, outcomes = set(), set()
    for _ in range(12):
        event = pool.run("examine", **job("planted_rude.leaks"))
        kinds.add(event.kind)
        outcomes.add(event.data["outcome"])
        assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"
    assert kinds == {"done"} and outcomes == {"agree"} and pool.workers[0].pid != first


def test_a_library_that_never_comes_to_its_end_is_ended():
    launch = Launch("torch", modules=MODULES, paths=(str(PLANTED),), variables=(("PLANTED_HANGS_AT_EXIT", "1"),))
    with Pool(launch, 1) as pool:
        assert pool.run("examine", **HEALTHY).data["outcome"] == "agree"
        pool.run("examine", **job("planted_rude.forks_and_stays"))
        left = [psutil.Process(pid) for pid in (*others(pool), *(w.pid for w in pool.workers))]
        zygote = pool.zygote.process
    assert zygote.returncode == 0 and len(left) > 1  # not killed: it did not wait for the library
    assert soon(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in left))


@pytest.mark.slow
def test_a_campaign_among_them_finds_what_is_wrong_and_leaves_nothing_behind(tmp_path):
    names = ["planted_torch.wrong_backward", "torch.sin", *(f"planted_rude.{name}" for name in RUDE)]
    seeds = (f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n' for name in names)
    (tmp_path / "seeds.py").write_text("\n".join(seeds))
    command = [sys.executable, "-m", "gradfuzz", "run", "torch", "--seeds", str(tmp_path / "seeds.py"), "--order", "1", "--workers", "2",
               "--mutants", "88", "--store", str(tmp_path / "s.db"), *(w for m in MODULES for w in ("--module", m))]  # fmt: skip
    marked = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=PLANTED, capture_output=True, text=True, env=marked, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert "wrong gradient in reverse" in done.stdout
    assert soon(lambda: not [p for p in psutil.process_iter() if _of(p, tmp_path)])


def _of(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.environ().get("TMPDIR") == str(folder) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
