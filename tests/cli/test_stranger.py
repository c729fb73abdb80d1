"""A stranger's store is data: nothing in it is run, imported, opened, followed, or let loose on the terminal."""

import json
import re
import sqlite3
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.console import visible
from gradfuzz.engine.config import Config
from gradfuzz.findings.labels import Label
from gradfuzz.pool.launch import Launch
from gradfuzz.report.files import file_name
from gradfuzz.store import Store
from tests.report.pages import read_page
from tests.store.test_store import VERDICT, finding

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
IDS = ("../../escaped", "/tmp/escaped", "..", "a/b", "a\\b", "x" * 300, "nul\0", ".hidden", "-rf", "café")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def kept(folder, config=None, *findings):
    store = Store(folder / "s.db", create=True)
    number = store.begin("torch", "2.13.0", config or {})
    for position, one in enumerate(findings):
        store.add_finding(number, f"k{position}", one)
    store.add_batch(number, 0, f"torch.sin{ESCAPE}", {"agree": 1}, {ESCAPE: 1}, {f"{ESCAPE}: [red]{ESCAPE}": 1}, 0.1, [f"reverse:{ESCAPE}"])
    store.close()


# --resume ----------------------------------------------------------------------------------------------------------------


def config(**launch):
    return Config(Launch("torch", **launch), seconds=1.0)


@pytest.mark.parametrize(
    "then, words",
    [
        (config(python="/tmp/evil"), "--python /tmp/evil (or yours)"),
        (config(modules=("evil", "worse")), "--module evil --module worse"),
        (replace(config(), seed_files=("/etc/passwd",)), "--seeds /etc/passwd"),
    ],
)
def test_what_a_store_names_is_said_and_not_used(folder, then, words):
    (folder / "evil.py").write_text("open('ran', 'w')")
    kept(folder, then.to_json())
    done = run("run", "torch", "--resume", "--store", "s.db", "--time", "1s")
    assert done.exit_code == 2 and words in done.output and "say so again" in done.output
    assert not (folder / "ran").exists()


def test_an_interpreter_that_is_named_is_taken(folder):
    mine = replace(config(python="mine"), python_said=True)
    assert mine.going_on_with(config(python="/tmp/evil").to_json(), folder).launch.python == "mine"


def test_paths_of_a_store_never_reach_a_worker(folder):
    resumed = config(modules=("mine",), paths=("/here",)).going_on_with(config(modules=("mine",), paths=("/evil",)).to_json(), folder)
    assert resumed.launch.paths == ("/here",)


BROKEN = [
    {}, {"launch": None}, [], {**config().to_json(), "order": 99}, {**config().to_json(), "scenarios": ["sideways"]},
    {**config().to_json(), "apis": [1]}, {**config().to_json(), "seed": "0"}, {**config().to_json(), "shrink_seconds": -1.0},
]  # fmt: skip


@pytest.mark.parametrize("settings", BROKEN)
def test_settings_that_make_no_sense_are_one_clear_line(folder, settings):
    kept(folder, settings)
    done = run("run", "torch", "--resume", "--store", "s.db", "--time", "1s")
    assert done.exit_code == 2 and "Traceback" not in done.output and done.output.count("gradfuzz: ") == 1


# report ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identity", IDS)
def test_an_id_never_leads_out_of_the_folder(folder, identity):
    name = file_name(identity)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) and ".." not in name and len(name) < 120
    kept(folder, None, finding(identity))
    assert run("report", "--store", "s.db", "--out", "page").exit_code == 0
    assert {p.name for p in folder.parent.iterdir()} == {"here"} and {p.name for p in folder.iterdir()} == {"s.db", "page"}
    assert {p.name for p in (folder / "page").rglob("*")} == {"findings", "index.html", f"{name}.py", f"{name}.md"}


def test_ordinary_ids_are_file_names_as_they_are():
    assert file_name("\ud800").startswith("finding-")
    assert file_name("sin-1a2b3c") == "sin-1a2b3c" and file_name("a.b_c-9") == "a.b_c-9"


@pytest.mark.parametrize("link", ["https://example.org", "javascript:alert(1)", "data:x"])
def test_a_stranger_s_label_and_its_link_are_not_shown(folder, link):
    """Labels are what this gradfuzz knows; tests/report/test_browser.py sees what becomes of links."""
    kept(folder, None, replace(finding("sin-1"), label=Label("known", "<b>bold</b>", link)))
    run("report", "--store", "s.db", "--out", "page")
    _, found = read_page(folder / "page" / "index.html")
    assert found[0]["label"] is None and link not in json.dumps(found)


def test_a_page_shows_what_it_is_given_as_text(folder):
    evil = "<script>alert(1)</script>"
    verdict = replace(VERDICT, reason=evil, expected=evil, actual=evil, detail={"numbers": {evil: evil}})
    kept(folder, None, replace(finding("sin-1"), api=evil, verdict=verdict, script=evil, script_output=evil, rule=evil))
    run("report", "--store", "s.db", "--out", "page")
    page = (folder / "page" / "index.html").read_text()
    rows, _ = read_page(folder / "page" / "index.html")
    assert "<script>alert" not in page and rows["findings"][0]["api"] == evil


def test_counts_that_are_no_numbers_do_not_reach_a_page(folder):
    kept(folder)
    with sqlite3.connect(folder / "s.db") as db:
        db.execute("update batches set counts = ?", (json.dumps({"agree": "1; background: url(//evil)"}),))
    db.close()
    done = run("report", "--store", "s.db", "--out", "page")
    assert done.exit_code == 0 and "could not be read" in done.output and "evil" not in (folder / "page" / "index.html").read_text()


# The terminal ------------------------------------------------------------------------------------------------------------


def test_control_characters_are_made_visible():
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("\x1b[31m\r\x00\x9b\u202e\ud800") == "\\x1b[31m\\r\\x00\\x9b\\u202e\\ud800"


def test_nothing_stored_reaches_the_terminal_raw(folder):
    evil = f"[bold]x{ESCAPE}\u202e"
    verdict = replace(VERDICT, reason=evil, expected=evil, actual=evil, detail={"numbers": {evil: evil}, "numeric": evil})
    label = Label("known", evil, evil)
    one = replace(finding(f"sin{ESCAPE}"), api=evil, verdict=verdict, script=evil, script_output=evil, label=label, version=evil, rule=evil)
    kept(folder, None, one)
    for command in (
        ("findings",),
        ("bugs",),
        ("show", "bug-"),
        ("found",),
        ("show", "sin"),
        ("repro", "sin"),
        ("issue", "sin"),
        ("coverage",),
        ("refusals",),
        ("show", f"no{ESCAPE}"),
    ):
        done = run(*command, "--store", "s.db")
        assert "Traceback" not in done.output
        assert not set("\x1b\x07\u202e") & set(done.output), command
        assert "\\x1b" in done.output or command == ("coverage",), command
