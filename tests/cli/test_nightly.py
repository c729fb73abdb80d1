"""Nightly campaigns: a file that is read strictly, turns that go round, and what is new since yesterday."""

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.nightly import tonight
from gradfuzz.cli.nights import read_rotation
from gradfuzz.store import Store

GOOD = """
folder = "kept"
tonight = 2
[[campaign]]
name = "newest"
target = "torch"
time = "1h"
[[campaign]]
name = "compiled"
target = "torch"
profile = "nightly"
time = "30m"
api = ["torch.fft.*"]
[[campaign]]
name = "jax"
target = "jax"
time = "90s"
workers = 2
"""


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "n.toml").write_text(GOOD)
    rotation = read_rotation(tmp_path / "n.toml")
    assert rotation.folder == tmp_path / "kept" and [n.name for n in rotation.nights] == ["newest", "compiled", "jax"]
    assert rotation.nights[1].apis == ("torch.fft.*",) and rotation.nights[2].seconds == 90.0 and rotation.nights[2].workers == 2


@pytest.mark.parametrize(
    "change, words",
    [
        (("tonight = 2", "tonite = 2"), "unknown word 'tonite'"),
        (("tonight = 2", "tonight = 4"), "from 1 to 3"),
        (("tonight = 2", "tonight = true"), "no int"),
        (('time = "1h"', 'time = "soon"'), "is not a time"),
        (('time = "1h"', ""), "lacks time"),
        (('name = "jax"', 'name = "../jax"'), "no name for a campaign"),
        (('name = "jax"', 'name = "newest"'), "two campaigns"),
        (('target = "jax"', 'target = "numpyx"'), "numpyx"),
        (('["torch.fft.*"]', "[1]"), "list of texts"),
        (("[[campaign]]", "[campaign"), "is no TOML"),
    ],
)
def test_a_bad_one_is_one_line_and_nothing_is_run(tmp_path, change, words):
    (tmp_path / "n.toml").write_text(GOOD.replace(*change))
    done = run("nightly", tmp_path / "n.toml")
    assert done.exit_code == 2 and words in done.output and len(done.output.strip().splitlines()) == 1
    assert not (tmp_path / "kept").exists()


def test_those_that_have_waited_longest_are_tonights(tmp_path):
    (tmp_path / "n.toml").write_text(GOOD)
    rotation = read_rotation(tmp_path / "n.toml")
    rotation.folder.mkdir()
    seen = []
    for night in range(1, 7):
        chosen = tonight(rotation)
        seen.append([n.name for n in chosen])
        for hour, one in enumerate(chosen):  # one after the other
            with Store(rotation.store(one), create=True) as store:
                number = store.begin("torch", "0", {})
                store.db.execute("update campaigns set created = ? where id = ?", (f"2026-01-0{night}T0{hour}", number))
    assert seen[0] == ["newest", "compiled"] and all(len(names) == 2 for names in seen)
    assert all(sum(name in names for names in seen) == 4 for name in ("newest", "compiled", "jax"))


@pytest.mark.slow
def test_the_second_night_tells_only_what_the_first_did_not(tmp_path):
    (tmp_path / "n.toml").write_text('[[campaign]]\nname = "t"\ntarget = "torch"\nprofile = "plain"\ntime = "15s"\napi = ["torch.sinc"]\n')
    first = run("nightly", tmp_path / "n.toml")
    assert first.exit_code in (0, 1), first.output
    second = run("nightly", tmp_path / "n.toml")
    told = (tmp_path / "nightly" / "summary.md").read_text()
    assert second.exit_code in (0, 1) and told.startswith("# gradfuzz, ") and "## t: " in told
    ids = [line.split("`")[1] for line in told.splitlines() if line.startswith("- `")]
    assert not any(identity in first.output for identity in ids)
