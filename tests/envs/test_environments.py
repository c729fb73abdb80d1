"""Environments: made whole or not at all, remembered by name, taken away again; nothing but the folder says which interpreter it is."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.where import place
from gradfuzz.envs.environment import SMOKE, Environment, environment, environments, remove
from gradfuzz.envs.recipe import Variable
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.launch import Launch
from tests.cli.test_ends import as_from_a_terminal

VARIABLES = (Variable("LD_LIBRARY_PATH", folders=("nvidia/cublas/lib", "nvidia/cudnn/lib")), Variable("LIBRARY_LOGS", "0"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADFUZZ_ENVS", str(tmp_path / "envs"))
    return tmp_path / "envs"


def gradfuzz(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def made(folder, name="torch-1.0", scenarios=SMOKE, target="torch"):
    """An environment as far as its record goes, with this interpreter in it."""
    (folder / name / "bin").mkdir(parents=True)
    (folder / name / "lib" / "python3.10" / "site-packages").mkdir(parents=True)
    (folder / name / "bin" / "python").symlink_to(sys.executable)
    found = Environment(name, target, "1.0", "3.10.1", ("torch==1.0",), VARIABLES, "2026", 3 * 10**9, tuple(scenarios), folder / name)
    found.write()
    return found


def test_what_is_recorded_is_read_again(folder):
    assert environments() == [] and made(folder) == environment("torch-1.0") and environments() == [environment("torch-1.0")]


def test_a_process_finds_what_its_release_needs_in_its_environment(folder):
    """Folders are the environment's own, wherever that lies."""
    made(folder)
    where = place(None, "torch-1.0", "torch")
    packages = folder / "torch-1.0" / "lib" / "python3.10" / "site-packages"
    expected = {"LD_LIBRARY_PATH": f"{packages}/nvidia/cublas/lib:{packages}/nvidia/cudnn/lib", "LIBRARY_LOGS": "0"}
    assert where.python == str(folder / "torch-1.0" / "bin" / "python") and where.said and dict(where.variables) == expected
    inside = Launch("torch", where.python, variables=where.variables).environment({"LD_LIBRARY_PATH": "/elsewhere", "PATH": "/bin"})
    assert {k: inside[k] for k in expected} == expected and inside["PATH"] == "/bin"


@pytest.mark.parametrize("name", ["../torch-1.0", "/etc", "..", "", "a/b", "torch 1", "-rf", "x" * 80, "a..b"])
def test_a_name_never_leads_out_of_the_folder(folder, name):
    made(folder)
    with pytest.raises(GradfuzzError, match="is no name for an environment"):
        environment(name)


def test_records_that_make_no_sense_are_no_environments(folder):
    made(folder)
    for position, text in enumerate(("", "{}", "[]", '{"target": 1}')):
        (folder / f"broken-{position}").mkdir()
        (folder / f"broken-{position}" / "gradfuzz.json").write_text(text)
    data = json.loads((folder / "torch-1.0" / "gradfuzz.json").read_text())
    (folder / "evil").mkdir()
    (folder / "evil" / "gradfuzz.json").write_text(json.dumps({**data, "variables": [{"name": "A=B", "value": "", "folders": []}]}))
    assert [e.name for e in environments()] == ["torch-1.0"]


def test_what_is_removed_is_gone(folder):
    made(folder)
    made(folder, "torch-2.0")
    done = gradfuzz("env", "remove", "torch-1.0")
    assert done.exit_code == 0 and "3.0 GB" in done.output and os.listdir(folder) == ["torch-2.0"]
    remove(environment("torch-2.0"))
    assert os.listdir(folder) == []


def test_the_list_says_what_is_there_and_what_does_not_work(folder):
    assert "there are none" in gradfuzz("env", "list").output
    made(folder)
    made(folder, "torch-0.9", [s for s in SMOKE if "forward" not in s])
    shown = gradfuzz("env", "list").output
    assert "3.10.1" in shown and "3.0 GB" in shown and f"all {len(SMOKE)} scenarios pass" in shown and "3 of 7 pass; not forward" in shown
    listed = json.loads(gradfuzz("env", "list", "--json").output)
    assert [row["name"] for row in listed] == ["torch-0.9", "torch-1.0"] and listed[1]["missing"] == []


WRONG = [
    (("run", "torch", "--env", "none"), "there is no environment none"),
    (("run", "jax", "--env", "torch-1.0"), "--env torch-1.0: it has torch, not jax"),
    (("run", "torch", "--env", "torch-1.0", "--python", "python3"), "leave one of them out"),
    (("targets", "--env", "../x"), "is no name for an environment"),
    (("env", "remove", "torch-1.0", "none"), "there is no environment none"),
    (("env", "add", "torch"), "names no release"),
    (("env", "add", "nosuch==1.0"), "no library that gradfuzz knows"),
    (("env", "add", "torch==2.13.0", "--python", "no-such-python"), "there is no such interpreter"),
    (("env", "add", "torch==2.13.0", "--python", sys.executable, "--name", "a/b"), "is no name for an environment"),
    (("env", "add", "torch==1.0", "--python", sys.executable, "--name", "torch-1.0"), "there is an environment torch-1.0 already"),
]


@pytest.mark.parametrize("arguments, message", WRONG)
def test_wrong_use_is_one_clear_line_and_changes_nothing(folder, arguments, message):
    made(folder)
    done = gradfuzz(*arguments)
    assert done.exit_code == 2 and message in done.output and done.output.count("gradfuzz: ") == 1
    assert os.listdir(folder) == ["torch-1.0"] and (folder / "torch-1.0" / "gradfuzz.json").exists()


def test_an_install_that_fails_names_the_requirement_and_leaves_nothing(folder, tmp_path, monkeypatch):
    """uv is asked first where there is one; this one finds nothing, and pip has the last word."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text("#!/bin/sh\necho 'Because there is no version of torch==99.0 and you require it'\nexit 1\n")
    (tmp_path / "bin" / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    done = gradfuzz("env", "add", "torch==99.0", "--python", sys.executable)
    assert done.exit_code == 2 and os.listdir(folder) == []
    assert "uv could not (torch==99.0 cannot be installed: there is no such release for this Python and system); asking pip" in done.output
    (line,) = [line for line in done.output.splitlines() if line.startswith("gradfuzz: ")]
    assert line.startswith("gradfuzz: torch==99.0 cannot be installed: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_install_that_is_stopped_leaves_nothing(folder, number):
    command = [sys.executable, "-m", "gradfuzz", "env", "add", "torch==99.0", "--python", sys.executable]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=as_from_a_terminal)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (folder.exists() and list(folder.glob("gradfuzz-*/env"))):
        time.sleep(0.02)
    process.send_signal(number)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130 and "Traceback" not in said and os.listdir(folder) == []


def test_what_a_killed_one_left_goes_with_the_next(folder):
    command = [sys.executable, "-m", "gradfuzz", "env", "add", "torch==99.0", "--python", sys.executable]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (folder.exists() and list(folder.glob("gradfuzz-*/env"))):
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert len(os.listdir(folder)) == 1 and environments() == []
    gradfuzz("env", "add", "torch==99.0", "--python", sys.executable)
    assert os.listdir(folder) == []


@pytest.mark.slow
def test_a_release_is_installed_tried_out_and_used(folder, tmp_path, monkeypatch):
    done = gradfuzz("env", "add", "jax==0.4.30")
    assert done.exit_code == 0, done.output
    found = environment("jax-0.4.30")
    assert found.version == "0.4.30" and found.missing == [] and found.size > 10**8
    (tmp_path / "p.py").write_text('x = tensor((3,), "float64", normal(seed=1))\ny = jax.numpy.sin(x)\n')
    monkeypatch.chdir(tmp_path)
    checked = gradfuzz("check", "p.py", "--target", "jax", "--env", "jax-0.4.30")
    assert checked.exit_code == 0 and "jax 0.4.30" in checked.output
    assert gradfuzz("env", "remove", "jax-0.4.30").exit_code == 0 and os.listdir(folder) == []
