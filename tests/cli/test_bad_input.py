"""Bad input: one clear line that says what to do, status 2, nothing written, no traceback."""

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app

PROGRAM = 'x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n'


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)

    return invoke


CASES = [
    (("run", "nosuchlibrary"), "unknown target 'nosuchlibrary'; known targets:"),
    (("run", "torch", "--time", "soon"), "'soon' is not a time; write 90s, 5m or 1h30m"),
    (("run", "torch", "--time", "0s"), "no time at all"),
    (("run", "torch", "--api", "torch.nosuch.*"), "no API with seeds fits 'torch.nosuch.*'"),
    (("run", "torch", "--python", "no-such-python"), "there is no such interpreter"),
    (("run", "torch", "--scenario", "sideways"), "unknown scenario 'sideways'"),
    (("run", "torch", "--apis", "none.txt"), "--apis none.txt"),
    (("run", "torch", "--seeds", "none.py"), "--seeds none.py"),
    (("run", "torch", "--resume"), "there is no store"),
    (("run", "torch", "--module", "no_such_module_of_mine"), "no_such_module_of_mine"),
    (("findings",), "there is no store"),
    (("show", "x"), "there is no store"),
    (("report",), "there is no store"),
    (("report", "--format", "stone"), "--format stone: there is no such format; known: html"),
    (("check", "none.py"), "none.py cannot be read"),
]


@pytest.mark.parametrize("arguments, message", CASES)
def test_one_clear_line(run, tmp_path, arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    complaint = [line for line in done.output.splitlines() if line.startswith("gradfuzz: ")]
    assert len(complaint) == 1 and "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_refused_construct_says_where(run, tmp_path):
    (tmp_path / "p.py").write_text("import os\n")
    done = run("check", "p.py")
    assert done.exit_code == 2 and "p.py: line 1, column 1: import is not part of the language" in done.output


def test_a_foreign_store_is_left_alone(run, tmp_path):
    (tmp_path / "s.db").write_text("hello " * 40)
    done = run("run", "torch", "--store", "s.db", "--time", "1s")
    assert done.exit_code == 2 and "not a gradfuzz store" in done.output
    assert (tmp_path / "s.db").read_text() == "hello " * 40


def test_wrong_options_are_status_2(run):
    assert run("run", "torch", "--order", "99").exit_code == 2
    assert run("nonsense").exit_code == 2


def test_check_prints_the_table(run, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    done = run("check", "p.py")
    assert done.exit_code == 0
    for words in ("reverse", "forward", "reverse-over-forward", "agree", "SinBackward0"):
        assert words in done.output


def test_check_finds_a_bug_that_is_there(run, tmp_path):
    (tmp_path / "p.py").write_text('x = tensor((1,), "float64", full(0.0))\ny = torch.sinc(x)\n')
    done = run("check", "p.py")
    assert done.exit_code == 1 and "not finite" in done.output


def test_targets_lists_what_is_here(run):
    done = run("targets")
    assert done.exit_code == 0 and "torch" in done.output and "forward-over-reverse" in done.output


def test_help_teaches(run):
    assert "gradfuzz run torch" in run("--help").output
    assert "Exit status" in run("run", "--help").output
