"""What the tests share: the real MLX with the planted bugs' module allowed, and gradfuzz as people call it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz.targets.homes import load_target

HERE = Path(__file__).parent
WITHOUT = "MLX is not installed here, so nothing of its target was tested: pip install 'mlx[cpu]'"


@pytest.fixture(scope="session")
def mlx():
    """mlx.core, or a skip that says how to get it."""
    return pytest.importorskip("mlx.core", reason=WITHOUT)


@pytest.fixture(scope="session")
def target(mlx):
    sys.path.insert(0, str(HERE))
    return load_target("mlx", ("planted_mlx",))


@pytest.fixture(scope="session")
def planted(target):
    return importlib.import_module("planted_mlx")


@pytest.fixture
def gradfuzz(mlx, tmp_path):
    """The command line, run in a folder of its own that the planted bugs can be imported from."""
    (tmp_path / "planted_mlx.py").write_text((HERE / "planted_mlx.py").read_text())

    def run(*arguments):
        command = [sys.executable, "-m", "gradfuzz", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run
