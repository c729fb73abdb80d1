"""A stored campaign elsewhere: what each finding's script says there is kept, the corpus is run again, and two releases can be compared."""

import csv
import json
import sqlite3
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.findings.history import CANNOT, GONE, SHOWS, regressed, since
from gradfuzz.findings.issue import issue_text
from gradfuzz.findings.releases import ways_of
from gradfuzz.pool.launch import Launch
from gradfuzz.report.compared import by_cause
from gradfuzz.store import Records, Store
from gradfuzz.store.comparison import change, compare
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.worker.walls import STRICT
from tests.report.pages import read_page
from tests.store.test_store import VERDICT, finding
from tests.surveys.test_campaign import RUN, folder, found, gradfuzz  # noqa: F401 - a fixture

REPLAY = ("replay", "--module", "planted_torch", "--order", 1, "--workers", 2, "--mutants", 2)


def test_another_release_is_asked_about_findings_and_corpus(folder):  # noqa: F811
    gradfuzz(*RUN, "--mutants", 60, cwd=folder)
    ids = {f["api"]: f["id"] for f in found(folder)}
    module = folder / "planted_torch.py"
    module.write_text(module.read_text().replace("FACTOR = 1.0 + 1e-3", "FACTOR = 1.0"))  # a release in which one of the bugs is mended
    done = gradfuzz(*REPLAY, cwd=folder)
    assert "1 gone" in done.stdout and "1 shows" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0  # nothing that the campaign did not have
    with Records(folder / "gradfuzz.db") as store:
        assert [row["config"]["source"] for row in store.campaigns()] == ["samples", "replay"]
        assert len(store.corpus(1)) == 4 and sum(store.totals(2)["counts"].values()) == 8
        by_id = {f.id: dict(f.releases) for f in store.findings(1)}
    version = found(folder)[0]["version"]
    assert by_id[ids["planted_torch.wrong_backward"]] == {version: GONE} and by_id[ids["planted_torch.wrong_output"]] == {version: SHOWS}


def test_a_script_in_a_store_is_never_run(folder):  # noqa: F811
    gradfuzz(*RUN, "--mutants", 60, cwd=folder)
    with sqlite3.connect(folder / "gradfuzz.db") as db:
        for row, text in db.execute("select rowid, document from findings").fetchall():
            data = {**json.loads(text), "reproducer": "open('ran', 'w')\nimport sys; sys.exit(0)\n"}
            db.execute("update findings set document = ? where rowid = ?", (json.dumps(data), row))
    db.close()
    done = gradfuzz(*REPLAY, "--mutants", 0, cwd=folder)
    assert "2 shows" in done.stdout and not (folder / "ran").exists(), done.stdout + done.stderr


def test_modules_are_lent_by_the_user_alone(folder):  # noqa: F811
    gradfuzz(*RUN, "--mutants", 60, cwd=folder)
    done = gradfuzz("replay", "--workers", 1, cwd=folder)
    assert done.returncode == 2 and "lend that with --module" in done.stderr and done.stderr.count("gradfuzz: ") == 1


def test_a_store_lowers_no_walls():
    """A finding may name a way that calls a compiler; whether workers may start programs is the user's to say."""
    stranger = replace(finding("sin-1"), verdict=replace(VERDICT, scenarios=[REVERSE.in_way("inductor"), REVERSE.in_way("batched")]))
    assert ways_of("torch", [stranger]) == ("batched",) and Launch("torch", ways=ways_of("torch", [stranger])).walls == STRICT
    assert ways_of("torch", [stranger], ["inductor"]) == ("inductor", "batched")


# Two releases side by side -----------------------------------------------------------------------------------------------

HISTORIES = {
    "in both": {"1.0": SHOWS, "2.0": SHOWS},
    "fixed": {"1.0": SHOWS, "2.0": GONE},
    "new": {"1.0": GONE, "2.0": SHOWS},
    "regression": {"0.9": SHOWS, "1.0": GONE, "2.0": SHOWS},
    "cannot run": {"1.0": CANNOT, "2.0": SHOWS},
    "in neither": {"1.0": GONE, "2.0": GONE},
    "not asked": {"1.0": SHOWS},
}


@pytest.mark.parametrize("expected", HISTORIES)
def test_what_became_of_a_bug(expected):
    assert change(HISTORIES[expected], "1.0", "2.0") == expected


def test_a_bug_comes_back_only_after_it_was_gone():
    assert not regressed({"1.0": SHOWS, "1.5": SHOWS, "2.0": SHOWS}, "2.0")
    assert regressed({"1.0": SHOWS, "1.5": GONE, "1.7": SHOWS, "2.0": SHOWS}, "2.0")
    assert not regressed({"1.0": GONE, "2.0": SHOWS}, "2.0") and not regressed({"1.0": SHOWS, "1.5": CANNOT, "2.0": SHOWS}, "2.0")


def test_since_when():
    assert since({"1.10.0": SHOWS, "1.9.0": GONE, "2.0.0": CANNOT}) == "1.9.0 does not, 1.10.0 shows it"
    assert since({"1.0": SHOWS}) == "" and since({"1.0": SHOWS, "2.0": SHOWS}).startswith("every release tried shows it")


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "s.db", create=True)
    number = opened.begin("torch", "2.0", {})
    for position, name in enumerate(HISTORIES):
        version = "1.0" if name != "regression" else "0.9"
        one = replace(finding(f"{name.replace(' ', '-')}-1"), version=version, rule=name)
        opened.add_finding(number, f"k{position}", one)
        for version, said in HISTORIES[name].items():
            opened.release_said(one.id, version, said)
    yield opened
    opened.close()


def test_a_comparison_names_regressions_first_and_tells_the_rest(store, tmp_path, monkeypatch):
    assert [row.change for row in compare(store, "torch", "1.0", "2.0")] == [
        "regression", "new", "in both", "fixed", "cannot run", "in neither", "not asked",
    ]  # fmt: skip
    monkeypatch.setenv("GRADFUZZ_ENVS", str(tmp_path / "none"))
    files = ["--csv", str(tmp_path / "t.csv"), "--page", str(tmp_path / "t.md")]
    arguments = ["compare", "1.0", "2.0", "--store", str(tmp_path / "s.db"), *files]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1 and "1 regression, 1 new, 1 in both, 1 fixed, 1 cannot run" in done.output
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert rows[0]["change"] == "regression" and rows[0]["1.0"] == GONE and rows[0]["2.0"] == SHOWS and len(rows) == len(HISTORIES)
    page = (tmp_path / "t.md").read_text()
    assert page.startswith("# PyTorch 1.0 and 2.0\n")
    assert page.index("## Regression (1)") < page.index("## Fixed (1)") < page.index("`fixed-1`")
    assert CliRunner().invoke(app, ["compare", "3.0", "4.0", "--store", str(tmp_path / "s.db")]).exit_code == 2


def test_a_bug_that_two_campaigns_met_under_two_names_is_one(store):
    """What a finding is filed under tells bugs apart; an alias of the API may have led there."""
    (one,) = [f for f in store.findings() if f.id == "fixed-1"]
    number = store.begin("torch", "3.0", {})
    store.add_finding(number, "again", replace(one, id="alias-1", api="torch.Tensor.sin_", version="3.0", releases=()))
    (row,) = [row for row in compare(store, "torch", "2.0", "3.0") if row.finding.rule == "fixed"]
    assert row.said == {"1.0": SHOWS, "2.0": GONE, "3.0": SHOWS} and row.change == "regression"


def test_a_bug_of_which_something_still_shows_is_not_fixed(store):
    """One cause, two findings: one of them is gone."""
    (other,) = [f for f in store.findings() if f.id == "in-both-1"]
    store.add_finding(1, "more", replace(other, id="fixed-2", rule="fixed", verdict=replace(VERDICT, order=2)))
    (became,) = [b for b in by_cause(compare(store, "torch", "1.0", "2.0")) if "fixed-1" in {f.id for f in b.bug.findings}]
    assert {row.finding.id: row.change for row in became.rows} == {"fixed-1": "fixed", "fixed-2": "in both"} and became.change == "in both"


def test_what_releases_said_is_kept_and_told(store, tmp_path):
    (one,) = [f for f in store.findings() if f.id == "regression-1"]
    assert one.said == HISTORIES["regression"] and "1.0 does not, 2.0 shows it" in issue_text(one)
    page = tmp_path / "page"
    assert CliRunner().invoke(app, ["report", "--store", str(tmp_path / "s.db"), "--out", str(page)]).exit_code == 0
    rows, _ = read_page(page / "index.html")
    assert rows["releases"]["versions"] == ["0.9", "1.0", "2.0"] and len(rows["releases"]["rows"]) > 1


def test_a_release_that_says_nonsense_is_a_damaged_row(store):
    store.db.execute("update findings set document = json_set(document, '$.releases', json('{\"1.0\": \"<b>\"}')) where id = 'new-1'")
    assert "new-1" not in {f.id for f in store.findings()} and store.unreadable == 1


def test_a_corpus_that_claims_to_be_endless_is_not_unpacked(store, monkeypatch):
    from gradfuzz.store import reading

    monkeypatch.setattr(reading, "MOST_CORPUS", 100)
    store.keep_corpus(1, [{"api": "torch.sin", "source": "x" * 1000, "program": {}}])
    assert store.corpus(1) == [] and store.unreadable == 1
