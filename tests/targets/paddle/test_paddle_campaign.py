"""The command line against a PaddlePaddle in an interpreter of its own, end to end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.targets.elsewhere import interpreter

pytest.importorskip("typer", reason="the command line runs in the user's interpreter, not in the library's")

PLANTED = Path(__file__).parent / "planted_paddle.py"


@pytest.fixture(scope="module")
def python():
    return str(interpreter("paddle"))


@pytest.fixture
def gradfuzz(tmp_path):
    shutil.copy(PLANTED, tmp_path)

    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True)

    return run


def test_a_campaign_finds_the_planted_bugs_and_their_scripts_prove_them(gradfuzz, python, tmp_path):
    text = 'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_paddle.{}(x)\n'
    (tmp_path / "seeds.txt").write_text("\n".join(map(text.format, ("wrong_reverse", "wrong_second", "healthy", "healthy_when_static"))))
    campaign = ("--python", python, "--module", "planted_paddle", "--seeds", "seeds.txt", "--order", 2, "--mutants", 60, "--workers", 1)
    done = gradfuzz("run", "paddle", *campaign)
    assert done.returncode == 1, done.stderr + done.stdout
    findings = json.loads(gradfuzz("findings", "--json").stdout)
    # A static graph refuses layers written in Python (PyLayer), which the planted functions are; that is no gradient. Paddle itself has
    # the second derivative of a product of complex numbers wrong (docs/found/paddle-3.3.1.md).
    found = {f["api"]: f for f in findings if f["kind"] == "gradient" and "complex" not in f["program"]}
    assert set(found) == {"planted_paddle.wrong_reverse", "planted_paddle.wrong_second"}
    for finding in found.values():
        assert finding["confirmed"], finding
    finding = found["planted_paddle.wrong_reverse"]
    short, full = (gradfuzz("repro", finding["id"], *how).stdout for how in ((), ("--full",)))
    assert len(short.splitlines()) <= 25 and "paddle.grad(" in short, short
    for text, said in ((short, "right:"), (full, "BUG")):
        (tmp_path / "bug.py").write_text(text)
        script = subprocess.run([python, "bug.py"], cwd=tmp_path, capture_output=True, text=True)
        assert script.returncode == 1 and script.stdout.splitlines()[-1].startswith(said), script.stdout + script.stderr
        healed = text.replace("wrong_reverse", "healthy")
        assert subprocess.run([python, "-c", healed], cwd=tmp_path, capture_output=True).returncode == 0
    told = gradfuzz("issue", finding["id"]).stdout
    assert "PaddlePaddle" in told and "paddle.to_tensor" in told


@pytest.mark.slow  # they try out every function of the library first
def test_random_graphs_and_chains_work_too(gradfuzz, python):
    graphs = gradfuzz("graphs", "paddle", "--python", python, "--count", 12, "--size", 5, "--order", 1, "--workers", 1)
    assert graphs.returncode in (0, 1) and "12 of 12 graphs" in graphs.stdout, graphs.stderr
    chains = gradfuzz("chain", "paddle", "--python", python, "--op", "paddle.tanh", "--op", "paddle.sin", "--points", 4, "--workers", 1)
    assert chains.returncode == 0 and "4 of 4 chains" in chains.stdout, chains.stdout + chains.stderr
