"""The pool: whatever a library does to a worker costs one mutant."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from gradfuzz.errors import TargetError
from gradfuzz.oracles.check import Options
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.pool.process import Zygote
from gradfuzz.pool.scratch import Scratch
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


def test_an_interpreter_that_is_too_old_says_so():
    from gradfuzz.worker.boot import too_old

    assert too_old((3, 7, 16)).startswith("Python 3.7 is older than 3.9") and not too_old((3, 9, 0))
    old = next((str(p) for p in sorted((Path.home() / ".pyenv" / "versions").glob("3.[678].*/bin/python"))), None)
    if old is None:
        pytest.skip("no Python older than 3.9 is installed")
    with pytest.raises(TargetError, match=r"Python 3\.[678] is older than 3\.9"):
        Pool(Launch("torch", python=old), 1)


def test_a_worker_that_somebody_killed_costs_nothing(pool):
    number = pool.submit("examine", urgent=True, **job("slow"))
    events = []
    while not any(w.job and w.job["id"] == number for w in pool.workers):
        events += pool.poll()
    os.kill(next(w.pid for w in pool.workers if w.job), signal.SIGKILL)
    while not any(e.kind in ("done", "died") for e in events):
        events += pool.poll()
    assert [e.kind for e in events] == ["again", "done"] and events[-1].data["outcome"] == "agree"


def test_a_dead_zygote_is_told_of_and_replaced(pool):
    said = []
    pool.say = said.append
    pool.zygote.log.write_text("the library's last words\n")
    os.kill(pool.zygote.process.pid, signal.SIGKILL)
    assert pool.run("examine", fresh=True, **job("healthy")).data["outcome"] == "agree"
    assert len(pool.workers) == 2 and "the library's last words" in said[0] and "SIGKILL" in said[0]


def test_a_fork_that_fails_is_told_of_at_once_and_tried_again(pool, monkeypatch):
    said, forks, real = [], iter([True, False]), Zygote._control

    def no_room(self, wait):
        message = real(self, wait)
        if message and "forked" in message and next(forks, False):
            os.kill(message["forked"], signal.SIGKILL)
            return {"worker": message["worker"], "failed": "[Errno 11] Resource temporarily unavailable"}
        return message

    pool.say = said.append
    monkeypatch.setattr(Zygote, "_control", no_room)
    assert pool.run("examine", fresh=True, **job("healthy")).kind == "done"
    assert said == ["a worker could not be started: [Errno 11] Resource temporarily unavailable; trying again in 0.5 s"]


def test_the_folder_of_a_dead_campaign_is_taken_away_and_that_of_a_living_one_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, other = tmp_path / "gradfuzz-left", tmp_path / "gradfuzz-other"
    left.mkdir(), other.mkdir()
    (left / "owner").touch(), (left / "worker.log").touch()
    living, second = Scratch(), Scratch()
    assert not left.exists() and other.exists() and living.path.exists() and second.path.exists()
    living.close(), second.close()
    assert [p.name for p in tmp_path.iterdir()] == ["gradfuzz-other"]


def test_a_long_temporary_folder_will_do(tmp_path, monkeypatch):
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with Pool(Launch("torch", timeout=60.0), 1) as pool:
        assert pool.run("about").kind == "done"
    assert list(long.iterdir()) == []


def test_a_missing_interpreter_is_one_clear_line():
    with pytest.raises(TargetError, match="no such interpreter"):
        Pool(Launch("torch", python="no-such-python"), 1)


def test_a_job_that_wants_a_fresh_worker_leaves_nothing_behind():
    with Pool(Launch("torch"), 1) as pool:  # not even in a worker that has done nothing yet
        event = pool.run("script", source="import os\nprint(os.getpid())\n", fresh=True)
        assert int(event.data["output"]) not in {worker.pid for worker in pool.workers}
        assert len(pool.workers) == 1


def test_what_follows_a_script_is_run_where_it_showed_something():
    with Pool(Launch("torch"), 1) as pool:

        def then(end, source):
            return pool.run("script", fresh=True, source=f"import sys\nprint('first')\nsys.exit({end})\n", then=source).data

        shown = then(1, "print('then', 'sys' in globals())\n")
        assert (shown["status"], shown["output"], shown["then"]) == (1, "first\n", {"status": 0, "output": "then False\n"})
        assert "then" not in then(0, "print('then')\n")  # nothing was shown
        assert then(1, "1 / 0\n")["status"] == 1 and "then" not in then(1, "1 / 0\n")  # no example, and the script stands


def test_the_first_workers_can_do_what_later_ones_can():
    """What is imported only after the first ones were forked, they import themselves, behind their walls."""
    program = to_json(parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.log_softmax(x, 0)\n', language_for("torch")))
    with Pool(Launch("torch"), 1) as pool:
        first, later = (
            pool.run("examine", program=program, options=Options(order=2).to_json(), fresh=fresh).data for fresh in (False, True)
        )
    assert first["outcome"] == later["outcome"] == "agree" and first["verdicts"] == later["verdicts"]
    assert [v["order"] for v in first["verdicts"]] == [1, 2]
