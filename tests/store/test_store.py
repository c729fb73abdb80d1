"""The store: one truth, and never somebody else's file."""

import sqlite3
from dataclasses import replace

import pytest

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.labels import Label
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.store import Lesson, Pending, Records, Store
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.targets.homes import language_for

PROGRAM = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
VERDICT = Verdict("disagree", "gradient", "gradient", 1, [REVERSE], "differs", 1.0, 2.0, 1e-9, {"element": "x[0]"})


def finding(identity):
    return Finding("torch", "0", "torch.sin", VERDICT, PROGRAM, True, "SinBackward0", id=identity)


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
    suspicion = Suspicion("torch.sin", PROGRAM, (Edit("size", "x", [2]),), Options(2, frozenset({REVERSE})), VERDICT, "SinBackward0")
    store.suspect(campaign, "k", suspicion)
    store.close()
    store = Store(tmp_path / "s.db", create=False)
    assert store.suspicions(campaign) == [Pending("k", suspicion)]
    store.add_finding(campaign, "k", finding("x-1"))
    assert store.suspicions(campaign) == [] and store.finding("x").id == "x-1"


def test_questions_outlive_the_campaign_until_they_are_answered(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    campaign, other = store.begin("torch", "0", {}), store.begin("torch", "0", {})
    question = Suspicion(
        "torch.sin", PROGRAM, (Edit("size", "x", [2]),), Options(1), Verdict("inconclusive", "reference", scenarios=[REVERSE])
    )
    first, second = store.wonder(campaign, question), store.wonder(campaign, question)
    store.close()
    store = Store(tmp_path / "s.db", create=False)
    assert store.questions(campaign) == {first: question, second: question} and store.questions(other) == {}
    store.answered(first)
    assert list(store.questions(campaign)) == [second]


def test_a_finding_comes_back_as_it_was(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    campaign = store.begin("torch", "0", {})
    kept = replace(finding("sin-1"), times=3, campaign=campaign, label=Label("known", "because", "https://example.org"))
    store.add_finding(campaign, "k", kept)
    assert store.findings(campaign) == [replace(kept, label=None)]  # labels are what this gradfuzz knows, and it knows none here


def test_a_finding_of_a_newer_form_is_refused_by_name(tmp_path):
    with pytest.raises(StoreError, match=r"sin-1 is of form 99.*upgrade"):
        Finding.from_json({**finding("sin-1").to_json(), "form": 99})


def test_a_finding_from_before_forms_were_counted_is_read():
    old = {key: value for key, value in finding("sin-1").to_json().items() if key not in ("form", "outcome", "symptom", "subject")}
    old |= {"kind": "variant", "oracle": "variant", "scenarios": ["batched reverse"]}
    read = Finding.from_json(old)
    assert read.kind == "way" and read.verdict.is_finding and read.title == "another gradient in batched reverse"


def test_an_ambiguous_id_names_the_candidates(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    campaign = store.begin("torch", "0", {})
    for key in ("sin-1", "sin-2"):
        store.add_finding(campaign, key, finding(key))
    with pytest.raises(StoreError, match="sin-1, sin-2"):
        store.finding("sin")


def test_an_older_store_gets_what_was_added_and_keeps_what_it_has(tmp_path):
    path = tmp_path / "old.db"
    store = Store(path, create=True)
    number = store.begin("torch", "1.0", {})
    store.add_batch(number, 0, "torch.sin", {"agree": 1}, {}, {}, 0.1, ["reverse:Sin"], Lesson())
    store.close()
    with sqlite3.connect(path) as db:  # as the first form was
        db.executescript(
            "alter table batches drop column until; alter table suspicions drop column times; drop table aliases; drop table questions;"
            "alter table batches drop column lesson; drop table existing_rules; drop table spending; pragma user_version = 1;"
        )
    db.close()
    with Records(path) as old:
        assert old.spending(number) == {} and old.unreadable == 0
    store = Store(path, create=False)
    store.spend(number, "run 1", {"batches": 1.0})
    store.spend(number, "run 1", {"batches": 2.0})  # the same run, further on
    store.spend(number, "run 2", {"batches": 5.0, "clock": 9.0})
    assert store.spending(number) == {"batches": 7.0, "clock": 9.0}
    store.set_existing_rules(number, {"reverse:Sin": "", "reverse:Cos": "no reason"})
    assert store.existing_rules(number) == {"reverse:Sin": "", "reverse:Cos": "no reason"}
    assert store.finished_batches(number)[0].lesson == Lesson()
    assert store.rules(number) == ["reverse:Sin"]


def test_refusals_are_counted_by_api_and_kind(tmp_path):
    store = Store(tmp_path / "s.db", create=True)
    number = store.begin("torch", "1.0", {})
    store.add_batch(number, 0, "torch.sin", {"agree": 1}, {}, {"shape: bad: size": 2}, 0.1, [])
    store.add_batch(number, 1, "torch.sin", {"agree": 1}, {}, {"shape: bad: size": 1, "dtype: no": 1}, 0.1, [])
    assert store.refusals(number) == [("torch.sin", "shape", "bad: size", 3), ("torch.sin", "dtype", "no", 1)]
