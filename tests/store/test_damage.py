"""Stores that are damaged: no command stumbles, and everything that is whole is shown."""

import json
import random
import re
import sqlite3
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.store import Lesson, Store
from tests.store.test_store import finding

FINDINGS = 40
PAGE = 4096
COMMANDS = (
    ("findings",), ("findings", "--json", "--all"), ("show", "sin-07"), ("repro", "sin-07"), ("issue", "sin-07"), ("coverage",),
    ("bugs",), ("bugs", "--json"), ("found",), ("coverage", "--json"), ("refusals",), ("refusals", "--json"), ("report", "--out", "page"),
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with some of everything, its log folded in."""
    path = tmp_path_factory.mktemp("whole") / "s.db"
    store = Store(path, create=True)
    number = store.begin("torch", "1.0", {})
    store.set_existing_rules(number, {f"reverse:Rule{i}": "" for i in range(200)})
    for i in range(60):
        store.add_batch(number, i, f"torch.f{i}", {"agree": 4}, {"kink": 1}, {"shape: no": 1}, 0.1, [f"reverse:Rule{i}"], Lesson(["a"]))
    for i in range(FINDINGS):
        store.add_finding(number, f"key{i}", replace(finding(f"sin-{i:02d}"), script="pass\n" * 100, script_output="BUG", times=i + 1))
    store.close()
    return path.read_bytes()


def flipped(data, chance):
    data = bytearray(data)
    for _ in range(20):
        data[chance.randrange(PAGE, len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def garbled_page(data, chance):
    page = chance.randrange(1, len(data) // PAGE)
    return data[: page * PAGE] + chance.randbytes(PAGE) + data[(page + 1) * PAGE :]


def zeroed_page(data, chance):
    page = chance.randrange(1, len(data) // PAGE)
    return data[: page * PAGE] + bytes(PAGE) + data[(page + 1) * PAGE :]


def truncated(data, chance):
    return data[: chance.randrange(1, len(data))]


def damaged_rows(data, chance):
    """Letters within the stored JSON, so that the file is sound and what it says is not."""
    found = [m.start() for m in re.finditer(rb"[\"{:,}]", data) if m.start() > PAGE * 12]
    data = bytearray(data)
    for place in chance.sample(found, 30):
        data[place] = chance.randrange(32, 127)
    return bytes(data)


def header(data, chance):
    data = bytearray(data)
    data[chance.randrange(100)] ^= 1 << chance.randrange(8)
    return bytes(data)


def first_page(data, chance):
    data = bytearray(data)
    for _ in range(5):
        data[chance.randrange(100, PAGE)] ^= 1 << chance.randrange(8)
    return bytes(data)


KINDS = (flipped, garbled_page, zeroed_page, truncated, damaged_rows, header, first_page)


def reachable(path):
    """Ids of findings whose rows SQLite itself still gives, whole and unchanged, one by one."""
    found = set()
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    db.text_factory = bytes
    wanted = {json.dumps(finding(f"sin-{i:02d}").to_json(), sort_keys=True): f"sin-{i:02d}" for i in range(FINDINGS)}
    for number in range(1, FINDINGS + 1):
        try:
            db.execute("pragma writable_schema = on")
            row = db.execute("select times, confirmed, document from findings not indexed where rowid = ?", (number,)).fetchone()
            document = {**json.loads(row[2]), "reproducer": "", "script_output": ""}
            identity = wanted.get(json.dumps(document, sort_keys=True))
            if identity and row[0] == number and row[1] == 1:
                found.add(identity)
        except (sqlite3.Error, TypeError, ValueError):
            continue
    db.close()
    return found


def check(whole, folder, kind, seed, monkeypatch):
    path = folder / "s.db"
    path.write_bytes(kind(whole, random.Random(seed)))
    before = path.read_bytes()
    monkeypatch.chdir(folder)
    shown = set()
    for arguments in COMMANDS:
        done = CliRunner().invoke(app, [*arguments, "--store", "s.db"])
        assert done.exit_code in (0, 2), (arguments, done.output, done.exception)
        assert "Traceback" not in done.output, (arguments, done.output)
        if done.exit_code == 2:
            assert sum(line.startswith("gradfuzz: ") for line in done.stderr.splitlines()) >= 1
        elif arguments == ("findings", "--json", "--all"):
            shown = {f["id"] for f in json.loads(done.stdout)}
    assert path.read_bytes() == before and {p.name for p in folder.iterdir()} <= {"s.db", "page"}
    return shown, path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", [pytest.param(s, marks=[] if s < 2 else pytest.mark.slow) for s in range(30)])
def test_what_is_whole_is_shown_and_no_command_stumbles(whole, tmp_path, monkeypatch, kind, seed):
    shown, path = check(whole, tmp_path, kind, seed, monkeypatch)
    if kind not in (header, first_page):  # what says where everything is may take everything with it
        assert reachable(path) <= shown


def test_one_bad_row_hides_nothing_and_is_counted(whole, tmp_path):
    path = tmp_path / "s.db"
    path.write_bytes(whole)
    with sqlite3.connect(path) as db:
        db.execute("update findings set document = '{' where id = 'sin-03'")
        db.execute("update findings set times = 'often' where id = 'sin-04'")
        db.execute("update batches set counts = ? where number = 5", (b"\xff",))
    db.close()
    done = CliRunner().invoke(app, ["findings", "--json", "--store", str(path)])
    assert done.exit_code == 0 and len(json.loads(done.stdout)) == FINDINGS - 2
    assert "2 or more of its rows could not be read" in done.stderr
    assert "1 or more" in CliRunner().invoke(app, ["refusals", "--store", str(path)]).stderr


def test_what_is_whole_says_nothing_of_damage(whole, tmp_path):
    (tmp_path / "s.db").write_bytes(whole)
    done = CliRunner().invoke(app, ["findings", "--json", "--store", str(tmp_path / "s.db")])
    assert len(json.loads(done.stdout)) == FINDINGS and done.stderr == ""
