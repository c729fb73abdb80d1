"""Targets whose libraries live in interpreters of their own: their tests run there, on this very source."""

import os
import subprocess
from pathlib import Path

import pytest

import gradfuzz
from tests.targets.elsewhere import interpreter

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.mark.parametrize("target", ["paddle", "oneflow"])
def test_the_target_s_own_tests_pass_in_its_interpreter(target):
    python = interpreter(target)
    environment = {**os.environ, "PYTHONPATH": str(Path(gradfuzz.__file__).parent.parent)}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", str(HERE / target)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
