"""What was written is kept: one writer, whole transactions, full disks, files that go away; and reading changes nothing."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.errors import StoreError
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.postmortem import Death
from gradfuzz.oracles.check import Options
from gradfuzz.store import Claim, Pending, Records, Store
from tests.store.test_store import PROGRAM, VERDICT, finding

SUSPICION = Suspicion("torch.sin", PROGRAM, (), Options(), VERDICT, "SinBackward0")
DEATH = Death("torch.sin", PROGRAM, "SIGSEGV", Options(), "0:1", 3, {"size": 0.5})
READING = (("findings",), ("bugs",), ("found",), ("show", "sin"), ("repro", "sin"), ("issue", "sin"), ("coverage",), ("refusals",))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    yield store
    store.close()


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


# One writer --------------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_by_name_and_the_lock_goes_with_its_holder(tmp_path):
    path = tmp_path / "s.db"
    hold = f"from pathlib import Path; from gradfuzz.store import Claim; c = Claim(Path({str(path)!r})); print(1, flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"1\n"
    with pytest.raises(StoreError, match=rf"another campaign \(process {holder.pid}\)"):
        Claim(path)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with pytest.raises(StoreError, match="another campaign"):
        Claim(link)
    holder.kill()
    holder.wait()
    with Claim(path):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["link.db"]


# What belongs together ---------------------------------------------------------------------------------------------------


def test_a_transaction_is_there_as_a_whole_or_not_at_all(store):
    number = store.begin("torch", "0", {})
    with pytest.raises(KeyboardInterrupt), store.transaction():
        store.suspect(number, "k", SUSPICION)
        store.add_batch(number, 0, "torch.sin", {"agree": 1}, {}, {}, 0.1, [])
        raise KeyboardInterrupt
    assert store.suspicions(number) == [] and store.finished_batches(number) == {}


def test_the_times_a_suspicion_is_met_are_kept_and_become_the_findings(store):
    number = store.begin("torch", "0", {})
    store.suspect(number, "k", SUSPICION)
    store.met_again(number, "k")
    store.suspect(number, "final", SUSPICION)
    assert store.suspicions(number) == [Pending("k", SUSPICION, 2), Pending("final", SUSPICION, 1)]
    assert store.settle(number, "k", "final", finding("sin-1")) == 3  # what waits under the final key is the same finding
    store.met_again(number, "final")
    assert store.suspicions(number) == [] and store.findings()[0].times == 4 and store.aliases(number) == {"k": "final"}
    store.suspect(number, "other", SUSPICION)
    store.settle(number, "other", "final")
    assert store.findings()[0].times == 5


def test_a_death_that_waits_for_its_post_mortem_is_kept(store):
    number = store.begin("torch", "0", {})
    store.suspect(number, DEATH.key, DEATH)
    assert store.suspicions(number) == [Pending(DEATH.key, DEATH)]


# Files that go away, fill up, or cannot be written -----------------------------------------------------------------------


def test_a_store_that_is_deleted_is_told_of_and_written_again(store, tmp_path):
    number = store.begin("torch", "0", {})
    store.add_finding(number, "k", finding("sin-1"))
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(StoreError, match=r"was deleted.*written there again"):
        store.set_status(number, "finished")
    assert [f.id for f in Records(tmp_path / "s.db").findings()] == ["sin-1"]


def test_a_store_whose_folder_is_deleted_or_that_is_replaced_is_told_of(tmp_path):
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "s.db"
    store = Store(path, create=True)
    shutil.rmtree(path.parent)
    with pytest.raises(StoreError, match=r"was deleted.*could not be written again"):
        store.begin("torch", "0", {})
    path.parent.mkdir()
    path.write_text("mine")
    with pytest.raises(StoreError, match="deleted or replaced"):
        store.begin("torch", "0", {})
    assert path.read_text() == "mine"


def test_a_full_disk_is_one_clear_line_and_what_was_told_is_kept(store, tmp_path):
    number = store.begin("torch", "0", {})
    store.add_finding(number, "k", finding("sin-1"))
    store.db.execute(f"pragma max_page_count = {store.db.execute('pragma page_count').fetchone()[0]}")  # as SQLite sees a full disk
    with pytest.raises(StoreError, match=r"s\.db cannot be written to any more \(database or disk is full\)"):
        for i in range(1000):
            store.add_batch(number, i, "torch.sin" * 50, {}, {}, {}, 0.1, [])
    assert [f.id for f in Records(tmp_path / "s.db").findings()] == ["sin-1"]


# Reading changes nothing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"my notes " * 100, b"SQLite format 3\0" + bytes(200)])
def test_no_reading_command_makes_a_store_of_another_file(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.db").write_bytes(content)
    for command in (*READING, ("report", "--out", "page")):
        done = run(*command, "--store", "s.db")
        assert done.exit_code == 2 and "Traceback" not in done.output and done.output.startswith("gradfuzz: ")
    assert (tmp_path / "s.db").read_bytes() == content and [p.name for p in tmp_path.iterdir()] == ["s.db"]


def test_reading_leaves_no_trace_and_does_not_wait_for_the_writer(store, tmp_path):
    number = store.begin("torch", "0", {})
    store.add_finding(number, "k", finding("sin-1"))
    with store.transaction():  # the writer is at work, and its log is not folded in
        store.met_again(number, "k")
        for command in READING:
            assert run(*command, "--store", tmp_path / "s.db").exit_code == 0
    store.close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for command in READING:
        assert run(*command, "--store", tmp_path / "s.db").exit_code == 0
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before and list(before) == ["s.db"]


def test_what_a_killed_campaign_left_in_its_log_is_read_even_where_nothing_can_be_written(tmp_path):
    path = tmp_path / "ours" / "s.db"
    path.parent.mkdir()
    write = (
        "from pathlib import Path; from gradfuzz.store import Store; from tests.store.test_store import finding; import os, signal\n"
        f"s = Store(Path({str(path)!r}), create=True); s.add_finding(s.begin('torch', '0', {{}}), 'k', finding('sin-1'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
    done = subprocess.run([sys.executable, "-c", write], env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == -signal.SIGKILL and (path.parent / "s.db-wal").stat().st_size
    copy = tmp_path / "copy"
    shutil.copytree(path.parent, copy)
    assert [f.id for f in Records(copy / "s.db").findings()] == ["sin-1"]
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (path.parent / "s.db-shm").unlink()
    if subprocess.run(["mount", "--bind", path.parent, mounted], capture_output=True).returncode:
        pytest.skip("mounting needs more rights than these tests have")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mounted], check=True)
        assert [f.id for f in Records(mounted / "s.db").findings()] == ["sin-1"]
        assert run("findings", "--store", mounted / "s.db").exit_code == 0
        refused = run("run", "torch", "--store", mounted / "s.db", "--time", "1s")
        assert refused.exit_code == 2 and "nothing can be written there" in refused.output
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_an_older_store_is_read_as_it_is(store, tmp_path):
    number = store.begin("torch", "0", {})
    store.add_finding(number, "k", finding("sin-1"))
    store.add_batch(number, 0, "torch.sin", {"agree": 1}, {}, {}, 0.1, [])
    store.close()
    with sqlite3.connect(tmp_path / "s.db") as db:  # as the first form was
        db.executescript(
            "alter table batches drop column until; alter table suspicions drop column times; drop table aliases; drop table questions;"
            "alter table batches drop column lesson; drop table existing_rules; pragma user_version = 1; pragma journal_mode = delete;"
        )
    db.close()
    before = (tmp_path / "s.db").read_bytes()
    with Records(tmp_path / "s.db") as records:
        assert records.totals(number)["counts"] == {"agree": 1} and len(records.findings()) == 1 and not records.unreadable
    assert (tmp_path / "s.db").read_bytes() == before


def test_looking_for_damage_comes_to_an_end(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    store.begin("torch", "0", {})
    store.close()
    data = (tmp_path / "s.db").read_bytes()
    (tmp_path / "s.db").write_bytes(data[:4096] + bytes(len(data) - 4096))
    began = time.monotonic()
    assert Records(tmp_path / "s.db").findings() == [] and time.monotonic() - began < 5
