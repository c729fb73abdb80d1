"""Merging: in whichever order, groups and number of times, the same store; nothing lost, nothing twice, nothing half-written."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradfuzz.errors import StoreError
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.store import Lesson, Records, Store
from gradfuzz.store.coverage import coverage_of, designs_of
from gradfuzz.store.merge import join, merge, read
from gradfuzz.targets.base.scenario import REVERSE
from tests.store.test_store import PROGRAM, VERDICT, finding

KEYS = ("k1", "k2", "k3")
SHARDS = ({}, {"shard": {"number": 1, "of": 2}}, {"shard": {"number": 2, "of": 2}})
QUESTION = Suspicion("torch.sin", PROGRAM, (), Options(1), Verdict("inconclusive", "reference", scenarios=[REVERSE]))


def suspicion(size):
    return Suspicion("torch.sin", PROGRAM, (Edit("size", "x", [size]),), Options(1), VERDICT, "SinBackward0")


@st.composite
def contents(draw):
    """What one campaign of a store holds, as calls that write it: any mix, sensible or not."""
    lesson = Lesson(["f"], {"size": [2, 1]}, ["k"], [1], 0, Cover(3, 3, draw(st.integers(0, 7))))
    return {
        "config": draw(st.sampled_from(SHARDS)),
        "created": draw(st.sampled_from(("2026-01-01", "2026-01-02"))),
        "status": draw(st.sampled_from(("running", "stopped", "finished"))),
        "batches": draw(st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 5), st.none() | st.integers(1, 3)), max_size=3)),
        "lesson": lesson,
        "rules": draw(st.sets(st.sampled_from(("reverse:a", "reverse:b", "forward:a")))),
        "existing": draw(st.dictionaries(st.sampled_from(("reverse:a", "reverse:c")), st.sampled_from(("", "no CUDA")))),
        "findings": draw(
            st.dictionaries(st.sampled_from(KEYS), st.tuples(st.booleans(), st.integers(1, 4), st.sampled_from(("", "gone"))))
        ),
        "waiting": draw(st.dictionaries(st.sampled_from(KEYS), st.tuples(st.integers(1, 3), st.integers(1, 3)))),
        "aliases": draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KEYS), max_size=1)),
        "questions": draw(st.integers(0, 2)),
        "corpus": draw(st.lists(st.sampled_from(("torch.sin", "torch.exp")), max_size=2)),
        "spending": draw(st.dictionaries(st.sampled_from(("run 1", "run 2")), st.sampled_from((1.0, 2.5)))),
    }


def write(path, campaigns):
    with Store(path, create=True) as store:
        for held in campaigns:
            with store.transaction():
                number = store.begin("torch", "0", held["config"])
                store.db.execute("update campaigns set created = ?, status = ? where id = ?", (held["created"], held["status"], number))
                for batch, (count, until) in held["batches"].items():
                    store.add_batch(number, batch, "torch.sin", {"agree": count}, {}, {}, 1.0, (), held["lesson"], until)
                store.db.executemany("insert into rules values (?, ?)", [(number, rule) for rule in held["rules"]])
                store.set_existing_rules(number, held["existing"])
                for key, (confirmed, times, said) in held["findings"].items():
                    releases = (("1", said),) if said else ()
                    store.add_finding(number, key, replace(finding(key), confirmed=confirmed, times=times, releases=releases))
                for key, (size, times) in held["waiting"].items():
                    store.suspect(number, key, suspicion(size))
                    store.db.execute("update suspicions set times = ? where campaign = ? and key = ?", (times, number, key))
                store.db.executemany("insert into aliases values (?, ?, ?)", [(number, *pair) for pair in held["aliases"].items()])
                for _ in range(held["questions"]):
                    store.wonder(number, QUESTION)
                store.keep_corpus(number, [{"api": api} for api in held["corpus"]])
                for run, seconds in held["spending"].items():
                    store.spend(number, run, {"batches": seconds, "clock": 2 * seconds})


def everything(path):
    """Every row of every table."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table' order by name")]
        return {table: sorted(db.execute(f"select * from {table}"), key=repr) for table in tables}


stores = st.lists(contents(), max_size=2)
slowly = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slowly
@given(stores, stores, stores)
def test_order_groups_and_repetition_do_not_matter(a, b, c):
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for name, held in zip("abc", (a, b, c)):
            write(at / name, held)
        merge([at / "a", at / "b", at / "c"], at / "all")
        merge([at / "c", at / "b", at / "a"], at / "backwards")
        merge([at / "b", at / "c"], at / "bc")
        merge([at / "a", at / "bc"], at / "right")
        merge([at / "a", at / "b"], at / "left")
        merge([at / "c"], at / "left")  # what is there already is kept
        wanted = everything(at / "all")
        assert everything(at / "backwards") == everything(at / "right") == everything(at / "left") == wanted
        merge([at / "a", at / "all", at / "all"], at / "all")
        assert everything(at / "all") == wanted


@slowly
@given(stores, stores)
def test_nothing_that_was_found_or_counted_is_lost(a, b):
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        write(at / "a", a)
        write(at / "b", b)
        merge([at / "a", at / "b"], at / "all")
        with Records(at / "a") as one, Records(at / "b") as other, Records(at / "all") as both:
            assert both.unreadable == 0
            kept = read(both)
            for part in (read(one), read(other)):
                assert join(kept, part) == kept  # it is in there already
                for identity, held in part.items():
                    assert held.batches.keys() <= kept[identity].batches.keys() and held.rules <= kept[identity].rules
                    assert held.findings.keys() <= kept[identity].findings.keys()
                    assert held.waiting.keys() <= kept[identity].waiting.keys() | kept[identity].settled


def held(shard=None, created="2026-01-01", **more):
    plain = {
        "config": {"seed": 0, **({"shard": {"number": shard, "of": 2}} if shard else {})}, "created": created, "status": "finished",
        "batches": {}, "lesson": Lesson(), "rules": set(), "existing": {}, "findings": {}, "waiting": {}, "aliases": {}, "questions": 0,
        "corpus": [], "spending": {},
    }  # fmt: skip
    return {**plain, **more}


def test_what_runs_have_spent_adds_up_and_is_counted_once(tmp_path):
    write(tmp_path / "a", [held(1, spending={"run 1": 2.0, "run 2": 3.0})])  # begun here, and resumed
    write(tmp_path / "b", [held(1, spending={"run 1": 1.5}), held(2, spending={"run 1": 10.0})])  # a copy from before its end; a shard
    for _ in range(2):
        merge([tmp_path / "a", tmp_path / "b", tmp_path / "a"], tmp_path / "all")
    with Records(tmp_path / "all") as store:
        (whole,) = store.wholes()
        assert store.spending(whole["id"]) == {"batches": 15.0, "clock": 30.0}


def test_shards_are_one_to_those_who_read(tmp_path):
    cover = {"lesson": Lesson(cover=Cover(3, 3, 1))}
    write(tmp_path / "a", [held(1, batches={0: (3, 1)}, rules={"reverse:a"}, findings={"k1": (True, 2, "")}, **cover)])
    write(tmp_path / "b", [held(2, "2026-01-02", batches={0: (4, 1)}, rules={"reverse:b"}, findings={"k1": (True, 5, "")})])
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    with Records(tmp_path / "all") as store:
        (whole,) = store.wholes()
        assert store.totals(whole["id"])["counts"] == {"agree": 7} and store.rules(whole["id"]) == ["reverse:a", "reverse:b"]
        assert coverage_of(store, whole["id"])["reverse"].reached == {"a", "b"} and designs_of(store, whole["id"])["torch.sin"].ran == 1
        assert sum(f.times for f in store.findings(whole["id"])) == 7


def test_of_a_shard_that_was_run_twice_the_newest_counts(tmp_path):
    write(tmp_path / "a", [held(1, batches={0: (3, 1)}), held(2, batches={0: (4, 1)}), held(1, "2026-01-03", batches={0: (5, 1)})])
    with Records(tmp_path / "a") as store:
        assert store.totals(3)["counts"] == {"agree": 9}


def test_campaigns_that_differ_in_more_than_their_shard_are_not_one(tmp_path):
    other = held(2, batches={0: (4, 1)})
    other["config"]["seed"] = 1
    write(tmp_path / "a", [held(1, batches={0: (3, 1)}), other])
    with Records(tmp_path / "a") as store:
        assert len(store.wholes()) == 2 and store.totals(1)["counts"] == {"agree": 3}


def test_what_was_settled_elsewhere_waits_no_longer(tmp_path):
    write(tmp_path / "early", [held(waiting={"k1": (1, 2), "k2": (1, 1)})])
    write(tmp_path / "late", [held(findings={"k1": (True, 3, "")})])
    merge([tmp_path / "early", tmp_path / "late"], tmp_path / "all")
    with Records(tmp_path / "all") as store:
        assert [p.key for p in store.suspicions(1)] == ["k2"] and store.findings(1)[0].times == 3


@pytest.mark.parametrize("kind", ["foreign", "newer", "missing", "folder", "no store"])
def test_what_is_no_store_of_ours_leaves_everything_as_it_was(tmp_path, kind):
    write(tmp_path / "a", [held(findings={"k1": (True, 1, "")})])
    bad = tmp_path / "bad"
    if kind == "foreign":
        bad.write_bytes(b"my notes, which are long enough to be looked at " * 5)
    elif kind == "no store":
        sqlite3.connect(bad).executescript("create table t (a);")
    elif kind == "folder":
        bad.mkdir()
    elif kind == "newer":
        write(bad, [])
        with contextlib.closing(sqlite3.connect(bad)) as db:
            db.execute("pragma user_version = 999")
    write(tmp_path / "out", [held(created="2026-01-05")])
    before = everything(tmp_path / "out")
    with pytest.raises(StoreError):
        merge([tmp_path / "a", bad], tmp_path / "out")
    assert everything(tmp_path / "out") == before
    with pytest.raises(StoreError):
        merge([tmp_path / "a", bad], tmp_path / "new")
    assert not list(tmp_path.glob("new*"))


def test_rows_that_make_no_sense_are_left_out_and_counted(tmp_path):
    write(
        tmp_path / "a", [held(findings={"k1": (True, 1, ""), "k2": (True, 1, "")}, waiting={"k3": (1, 1)}, batches={0: (1, 1), 1: (2, 1)})]
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "a")) as db:
        db.execute("update findings set document = '[]' where key = 'k1'")
        db.execute("update batches set counts = '{\"agree\": -5}' where number = 0")
        db.execute("update suspicions set report = 'no JSON'")
        db.commit()
    joined, damaged = merge([tmp_path / "a"], tmp_path / "out")
    assert damaged == {tmp_path / "a": 3}
    (kept,) = joined.values()
    assert set(kept.findings) == {"k2"} and set(kept.batches) == {1} and not kept.waiting


def test_a_store_that_is_being_written_is_not_merged_into(tmp_path):
    from gradfuzz.store import Claim

    write(tmp_path / "a", [held()])
    with Claim(tmp_path / "out"), pytest.raises(StoreError, match="being written"):
        merge([tmp_path / "a"], tmp_path / "out")


def gradfuzz(*args, cwd):
    done = subprocess.run([sys.executable, "-m", "gradfuzz", *args], cwd=cwd, capture_output=True, text=True, env=dict(os.environ))
    return done.returncode, done.stdout, done.stderr


def test_bad_input_is_one_line_and_status_two(tmp_path):
    (tmp_path / "notes.txt").write_text("my notes, which are long enough to be looked at " * 5)
    for args in (["merge", "notes.txt", "--store", "o.db"], ["merge", "none.db", "--store", "o.db"], ["run", "torch", "--shard", "17/16"]):
        status, _, said = gradfuzz(*args, cwd=tmp_path)
        assert status == 2 and len(said.strip().splitlines()) == 1 and said.startswith("gradfuzz: "), said
    assert not list(tmp_path.glob("*.db*"))
