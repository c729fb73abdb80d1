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
    pytest.param(("run", "torch", "--api", "torch.nosuch.*"), "no API with seeds fits 'torch.nosuch.*'", marks=pytest.mark.slow),
    (("run", "torch", "--python", "no-such-python"), "there is no such interpreter"),
    (("run", "torch", "--scenario", "sideways"), "unknown scenario 'sideways'"),
    (("run", "torch", "--apis", "none.txt"), "--apis none.txt"),
    (("run", "torch", "--seeds", "none.py"), "--seeds none.py"),
    (("run", "torch", "--time", ""), "'' is not a time"),
    (("run", "torch", "--time", "inf"), "'inf' is not a time"),
    (("run", "torch", "--time", "1e9h"), "'1e9h' is not a time"),
    (("run", "torch", "--time", "9" * 400 + "h"), "longer than a year"),
    (("run", "torch", "--timeout", "9999999999h"), "longer than a year"),
    (("graphs", "torch", "--time", ""), "'' is not a time"),
    (("targets", "--python", "no-such-python"), "there is no such interpreter"),
    (("targets", "--python", "/bin/true"), "nothing can be fuzzed with /bin/true"),
    (("run", "torch", "--python", "/bin/yes"), "could not be started with /bin/yes"),
    (("run", "torch", "--store", "/proc/none.db", "--time", "1s"), "nothing can be written there"),
    (("run", "torch", "--store", "/dev/full", "--time", "1s"), "not an ordinary file"),
    (("findings", "--store", "/dev/null"), "not an ordinary file"),
    (("run", "torch", "--resume"), "there is no store"),
    (("run", "torch", "--module", "no_such_module_of_mine"), "no_such_module_of_mine"),
    (("findings",), "there is no store"),
    (("show", "x"), "there is no store"),
    (("report",), "there is no store"),
    (("report", "--format", "stone"), "--format stone: there is no such format; known: csv, html, json, junit, markdown, png, sarif"),
    (("check", "none.py"), "none.py cannot be read"),
    (("replay",), "there is no store"),
    (("compare", "1.0", "2.0"), "there is no store"),
    (("bisect", "x", "--versions", "1.0..2.0"), "there is no store"),
    (("cross", "torch", "torch"), "torch is the same as itself"),
    (("cross", "torch", "nosuchlibrary"), "unknown target 'nosuchlibrary'"),
    (("cross", "torch", "jax", "--seeds", "none.py"), "--seeds none.py"),
]


@pytest.mark.parametrize("arguments, message", CASES)
def test_one_clear_line(run, tmp_path, arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    complaint = [line for line in done.output.splitlines() if line.startswith("gradfuzz: ")]
    assert len(complaint) == 1 and "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


NESTED = 100_000
SEEDS = {
    "binary.py": (b"\x00\xff\xfe", "not UTF-8"),
    "latin.py": ("# café\n".encode("latin-1"), "not UTF-8"),
    "empty.py": (b"\n\n", "holds no Program"),
    "nul.py": (b"x = \0", "line 1"),
    "bad.jsonl": (b"{bad", "line 1: this is no Program"),
    "second.jsonl": (b"\n[1, 2]\n", "line 2: this is not an object with api, source and program"),
    "nested.jsonl": (b"[" * NESTED, "this is no Program"),
    "fields.jsonl": (b'{"api": 1, "source": "", "program": {}}', "line 1: not a Program"),
    "nested.py": (b"y = " + b"(" * NESTED, "line 1"),
    "nosuch.py": (PROGRAM.replace("sin", "no_such").encode(), "torch.no_such does not exist in this version of torch"),
}


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_that_are_none_are_named_with_what_is_wrong(run, tmp_path, name):
    content, message = SEEDS[name]
    (tmp_path / name).write_bytes(content)
    done = run("run", "torch", "--seeds", name, "--mutants", 4, "--workers", 1)
    assert done.exit_code == 2 and f"--seeds {name}" in done.output.replace("--seeds: none", f"--seeds {name}") and message in done.output
    assert "Traceback" not in done.output and [p.name for p in tmp_path.iterdir()] == [name]


LISTS = {
    "binary.txt": (b"\x00\xff\xfe", "not UTF-8"),
    "empty.txt": (b"# nothing\n", "names no API"),
    "nested.txt": (b"torch.sin(" + b"(" * NESTED, "more than"),
    "nosuch.txt": (b"torch.no_such\n", "the names asked for have none"),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_apis_that_are_none_are_named(run, tmp_path, name):
    content, message = LISTS[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "p.py").write_text(PROGRAM)
    done = run("run", "torch", "--seeds", "p.py", "--apis", name, "--mutants", 4, "--workers", 1)
    assert done.exit_code == 2 and message in done.output and "Traceback" not in done.output
    assert {p.name for p in tmp_path.iterdir()} == {name, "p.py"}


def test_folders_are_no_files(run, tmp_path):
    (tmp_path / "folder").mkdir()
    for option in ("--seeds", "--apis", "--store"):
        done = run("run", "torch", option, "folder", "--mutants", 4, "--workers", 1)
        assert done.exit_code == 2 and "folder" in done.output and "Traceback" not in done.output
    assert run("check", "folder").exit_code == 2


@pytest.mark.parametrize("name", ["binary.py", "latin.py", "empty.py", "nul.py", "nested.py", "nosuch.py"])
def test_check_of_what_is_no_program_is_wrong_use(run, tmp_path, name):
    (tmp_path / name).write_bytes(SEEDS[name][0])
    done = run("check", name)
    assert done.exit_code == 2 and name in done.output and "Traceback" not in done.output


NUMBERS = [
    ("run", "torch", "--mutants", "-3"), ("run", "torch", "--memory", "9" * 30), ("run", "torch", "--workers", "0"),
    ("coverage", "--campaign", "9" * 30), ("refusals", "--campaign", "-1"), ("chain", "torch", "--points", "9" * 12),
]  # fmt: skip


@pytest.mark.parametrize("arguments", NUMBERS)
def test_numbers_out_of_bounds_are_status_2(run, tmp_path, arguments):
    done = run(*arguments)
    assert done.exit_code == 2 and "Traceback" not in done.output and list(tmp_path.iterdir()) == []


def test_a_negative_or_huge_seed_is_a_seed(run, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    for seed in (-5, 10**40):
        assert run("run", "torch", "--seeds", "p.py", "--mutants", 4, "--workers", 1, "--seed", seed).exit_code == 0


def test_a_cache_that_cannot_be_written_to_is_one_clear_line(run, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    done = run("run", "torch", "--mutants", 4, "--workers", 1)
    assert done.exit_code == 2 and "set XDG_CACHE_HOME" in done.output and "Traceback" not in done.output


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
