"""The store: one truth, and never somebody else's file."""

import sqlite3

import pytest

from gradfuzz.errors import StoreError
from gradfuzz.store import Store


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes, which are long enough to be looked at " * 5)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a gradfuzz store"):
        Store(path, create=True)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    sqlite3.connect(path).executescript("create table t (a); insert into t values (1);")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(path, create=True)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "new.db"
    Store(path, create=True).close()
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 999")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer gradfuzz"):
        Store(path, create=True)
    assert path.read_bytes() == before


def test_a_missing_store_is_not_made_by_looking(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        Store(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="folder"):
        Store(tmp_path, create=True)


def test_suspicions_outlive_the_campaign_until_they_are_findings(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    campaign = store.begin("torch", "0", {})
    store.suspect(campaign, "k", {"a": 1})
    store.close()
    store = Store(tmp_path / "s.db", create=False)
    assert store.suspicions(campaign) == [("k", {"a": 1})]
    store.add_finding(campaign, "k", {"id": "x-1", "confirmed": True})
    assert store.suspicions(campaign) == [] and store.finding("x")["id"] == "x-1"


def test_an_ambiguous_id_names_the_candidates(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    campaign = store.begin("torch", "0", {})
    for key in ("sin-1", "sin-2"):
        store.add_finding(campaign, key, {"id": key, "confirmed": True})
    with pytest.raises(StoreError, match="sin-1, sin-2"):
        store.finding("sin")


def test_an_older_store_gets_what_was_added_and_keeps_what_it_has(tmp_path):
    path = tmp_path / "old.db"
    store = Store(path, create=True)
    number = store.begin("torch", "1.0", {})
    store.add_batch(number, 0, "torch.sin", SUMMARY, ["reverse:Sin"])
    store.close()
    with sqlite3.connect(path) as db:  # as the first form was
        db.executescript("alter table batches drop column lesson; drop table existing_rules; pragma user_version = 1;")
    db.close()
    store = Store(path, create=False)
    store.set_existing_rules(number, {"reverse:Sin": "", "reverse:Cos": "no reason"})
    assert store.existing_rules(number) == {"reverse:Sin": "", "reverse:Cos": "no reason"}
    assert store.finished_batches(number) == {0: {"features": [], "edits": {}, "findings": [], "orders": []}}
    assert store.rules(number) == ["reverse:Sin"]


def test_refusals_are_counted_by_api_and_kind(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    number = store.begin("torch", "1.0", {})
    store.add_batch(number, 0, "torch.sin", {**SUMMARY, "refusals": {"shape: bad: size": 2}}, [])
    store.add_batch(number, 1, "torch.sin", {**SUMMARY, "refusals": {"shape: bad: size": 1, "dtype: no": 1}}, [])
    assert store.refusals(number) == [("torch.sin", "shape", "bad: size", 3), ("torch.sin", "dtype", "no", 1)]


SUMMARY = {
    "counts": {"agree": 1},
    "reasons": {},
    "refusals": {},
    "cpu": 0.1,
    "lesson": {"features": [], "edits": {}, "findings": [], "orders": []},
}
