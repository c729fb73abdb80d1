"""`gradfuzz chain` from the outside."""

import json
import subprocess
import sys

import pytest

from tests.conftest import PLANTED


def gradfuzz(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    (folder / "planted_torch.py").write_text((PLANTED / "planted_torch.py").read_text())
    return folder


def test_it_says_what_it_tests_and_keeps_one_finding_for_all_chains_with_the_bug(folder):
    ops = ("torch.atan", "torch.sin", "planted_torch.wrong_backward")
    options = [part for op in ops for part in ("--op", op)]
    done = gradfuzz("chain", "torch", *options, "--module", "planted_torch", "--gradients", "--verbose", "--workers", 1, cwd=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for wanted in ("y = _identity(atan(x))", "y = _gradient(sin(x))", "y = _chain(atan(wrong_backward(x)))", "y = _gradient(sin(atan(x)))"):
        assert f"Testing gradient of {wanted}" in lines
    assert any(line.startswith("For y = _identity(wrong_backward(x)) point ") and "gradient error was" in line for line in lines)
    listed = json.loads(gradfuzz("findings", "--json", cwd=folder).stdout)
    assert [(f["api"], f["kind"], f["confirmed"]) for f in listed] == [("planted_torch.wrong_backward", "gradient", True)]
    assert "finite-difference checks contradict it" in listed[0]["reason"]


def test_a_healthy_library_gives_nothing(folder):
    done = gradfuzz("chain", "torch", "--op", "torch.atan", "--op", "torch.sin", "--workers", 1, "--store", "healthy.db", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 chains" in done.stdout


def test_an_op_that_does_not_come_back_is_a_finding_and_chains_keep_away(folder):
    done = gradfuzz(
        "chain", "torch", "--op", "planted_torch.hang", "--op", "torch.sin", "--module", "planted_torch", "--points", 2, "--only-wide",
        "--timeout", "3s", "--workers", 2, "--store", "hang.db", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "y = hang(x): the worker did not come back" in done.stdout
    assert "sin(hang(x)): the worker" not in done.stdout and "hang(sin(x)): the worker" not in done.stdout


@pytest.mark.parametrize("wrong", [("chain", "nonsense"), ("chain", "torch", "--dtype", "int8"), ("chain", "torch", "--op", "torch.load")])
def test_wrong_use_is_one_line_and_status_2(folder, wrong):
    done = gradfuzz(*wrong, cwd=folder)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
