"""The command line against a OneFlow in an interpreter of its own, end to end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.targets.elsewhere import interpreter

pytest.importorskip("typer", reason="the command line runs in the user's interpreter, not in the library's")

PLANTED = Path(__file__).parent / "planted_oneflow.py"
SEED = 'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {}\n'


@pytest.fixture(scope="module")
def python():
    return str(interpreter("oneflow"))


@pytest.fixture
def gradfuzz(tmp_path):
    shutil.copy(PLANTED, tmp_path)

    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True)

    return run


def test_a_campaign_finds_the_planted_bug_and_its_scripts_prove_it(gradfuzz, python, tmp_path):
    (tmp_path / "seeds.txt").write_text("\n".join(SEED.format(f"planted_oneflow.{name}(x)") for name in ("wrong_reverse", "healthy")))
    campaign = ("--python", python, "--module", "planted_oneflow", "--seeds", "seeds.txt", "--order", 1, "--mutants", 12, "--workers", 1)
    done = gradfuzz("run", "oneflow", *campaign)
    assert done.returncode == 1, done.stderr + done.stdout
    found = {f["api"]: f for f in json.loads(gradfuzz("findings", "--json").stdout) if f["kind"] == "gradient"}
    assert set(found) == {"planted_oneflow.wrong_reverse"} and found["planted_oneflow.wrong_reverse"]["confirmed"]
    short = gradfuzz("repro", found["planted_oneflow.wrong_reverse"]["id"]).stdout
    assert len(short.splitlines()) <= 25 and "oneflow.autograd.grad(" in short, short
    assert "OneFlow 0.9" in gradfuzz("issue", found["planted_oneflow.wrong_reverse"]["id"]).stdout


def test_a_worker_has_the_threads_that_the_library_computes_on(gradfuzz, python, tmp_path):
    """Sorting hands its work to a pool of threads, which a forked process lacks: it would wait for ever."""
    (tmp_path / "sorted.txt").write_text(SEED.format("oneflow.sort(x, 1)[0]"))
    done = gradfuzz("check", "sorted.txt", "--target", "oneflow", "--python", python, "--order", 1)
    assert done.returncode == 0 and "agree" in done.stdout, done.stdout + done.stderr
