"""What the command line says where a cluster cannot be had."""

import importlib.util

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["run", "torch", "--store", "/no/such/folder/s.db", *arguments])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--executor", "slurm"], "unknown executor 'slurm'; known: local, ray"),
        (["--ray-address", "auto"], "add --executor ray"),
        (["--executor", "ray", "--python", "a", "--env", "b"], "leave one of them out"),
    ],
)
def test_a_wrong_use_is_one_line(arguments, words):
    done = run(*arguments)
    assert done.exit_code == 2 and words in done.output and len(done.output.strip().splitlines()) == 1


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_it_is_said_what_to_install(tmp_path):
    done = CliRunner().invoke(app, ["run", "torch", "--executor", "ray", "--store", str(tmp_path / "s.db")])
    assert done.exit_code == 2 and "pip install 'gradfuzz[ray]'" in done.output and not (tmp_path / "s.db").exists()
