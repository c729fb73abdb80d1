"""How a campaign ends: by a signal, without a reader, on a full disk, beside another. Never by accident with the status of findings."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from gradfuzz.store import Records
from tests.surveys.test_campaign import RUN, folder, gradfuzz  # noqa: F401 - a fixture

HEALTHY = 'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sin(x)\n'


def as_from_a_terminal():
    """Whoever runs the tests in the background or under nohup has its signals ignored, and so would all that it starts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def running(folder, *more, until="batches", **how):  # noqa: F811
    """A long campaign that has come so far as to have rows of some kind."""
    command = [sys.executable, "-m", "gradfuzz", *map(str, RUN), "--time", "10m", *map(str, more)]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "preexec_fn": as_from_a_terminal, **how}
    process = subprocess.Popen(command, cwd=folder, text=True, **settings)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not rows(folder, until):
            assert process.poll() is None, process.stdout and process.stdout.read()
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def rows(folder, table):  # noqa: F811
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{folder}/gradfuzz.db?mode=ro", uri=True)) as db:
        return db.execute(f"select count(*) from {table}").fetchone()[0]
    return 0


def temporary(monkeypatch, tmp_path):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_what_was_confirmed_is_kept(folder, tmp_path, monkeypatch, number):  # noqa: F811
    scratch = temporary(monkeypatch, tmp_path)
    with running(folder, until="findings") as process:
        process.send_signal(number)
        said = process.communicate(timeout=30)[0]
    assert process.returncode == 1 and "Traceback" not in said and "findings" in said.splitlines()[-2]
    with Records(folder / "gradfuzz.db") as store:
        assert store.campaign()["status"] == "stopped" and store.findings()
    assert list(scratch.glob("gradfuzz-*")) == [] and not (folder / "gradfuzz.db.lock").exists()


def test_a_signal_before_anything_could_be_found_is_not_a_finding(folder):  # noqa: F811
    command = [sys.executable, "-m", "gradfuzz", *map(str, RUN), "--time", "10m"]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "preexec_fn": as_from_a_terminal}
    process = subprocess.Popen(command, cwd=folder, text=True, **settings)
    assert process.stdout.readline() == "starting torch\n"
    process.terminate()
    said = process.communicate(timeout=30)[0]
    assert process.returncode == 130 and said == "gradfuzz: stopped\n"


def test_a_reader_who_leaves_ends_it_with_a_status_of_its_own(folder):  # noqa: F811
    (folder / "seeds.py").write_text(HEALTHY)
    read, write = os.pipe()
    with running(folder, stdout=write, stderr=subprocess.PIPE) as process:
        os.close(write)
        os.close(read)
        said = process.communicate(timeout=40)[1]
    assert process.returncode == 141 and said == ""
    assert Records(folder / "gradfuzz.db").campaign()["status"] == "stopped"
    reading = f"{sys.executable} -m gradfuzz coverage | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", reading], cwd=folder, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] in ("0", "141") and done.stderr == ""


def test_an_output_that_is_full_is_one_clear_line(folder):  # noqa: F811
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, RUN), "--mutants", "8"], cwd=folder, stdout=full,
                              stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == 2 and done.stderr == "gradfuzz: cannot go on: No space left on device\n"


def test_one_campaign_has_one_writer_and_a_deleted_store_is_told_of(folder):  # noqa: F811
    with running(folder) as process:
        second = gradfuzz(*RUN, "--time", "5s", "--resume", cwd=folder)
        assert second.returncode == 2 and f"another campaign (process {process.pid})" in second.stderr
        assert gradfuzz("findings", cwd=folder).returncode == 0
        for name in ("gradfuzz.db", "gradfuzz.db-wal", "gradfuzz.db-shm"):
            (folder / name).unlink(missing_ok=True)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 2 and "was deleted or replaced while the campaign ran" in said and "Traceback" not in said
    assert rows(folder, "batches")


def test_a_dead_zygote_is_told_of_and_the_campaign_goes_on(folder):  # noqa: F811
    import psutil

    with running(folder, "--mutants", 200) as process:
        zygote = next(p for p in psutil.Process(process.pid).children() if "boot.py" in " ".join(p.cmdline()))
        zygote.kill()
        said = process.communicate(timeout=90)[0]
    assert process.returncode == 1 and "the process that holds torch died (SIGKILL)" in said and "starting another" in said
    with Records(folder / "gradfuzz.db") as store:
        assert sum(store.totals(1)["counts"].values()) == 200 and "crash" not in store.totals(1)["counts"]


def test_the_next_campaign_takes_away_what_a_killed_one_left(folder, tmp_path, monkeypatch):  # noqa: F811
    scratch = temporary(monkeypatch, tmp_path)
    with running(folder) as process:
        process.kill()
        process.wait()
    assert len(list(scratch.glob("gradfuzz-*"))) == 1
    assert gradfuzz(*RUN, "--mutants", 8, cwd=folder).returncode in (0, 1)
    assert list(scratch.glob("gradfuzz-*")) == []
