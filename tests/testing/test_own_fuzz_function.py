"""A campaign on one's own function finds what is wrong with it and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.fuzz_function import program_text
from gradfuzz.program import parse
from gradfuzz.store import Store
from gradfuzz.targets.homes import language_for
from gradfuzz.testing.inputs import parse_input

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def beside_the_module(monkeypatch):
    monkeypatch.chdir(HERE)


def fuzz(function, store, *more):
    arguments = ["fuzz-function", function, "--input", "x: float64[3, 4]", "--input", "w: float64[4]", "--store", str(store)]
    return CliRunner().invoke(app, [*arguments, "--mutants", "60", "--workers", "1", "--order", "1", *more])


def test_a_wrong_function_is_found_and_kept_as_a_finding(tmp_path):
    result = fuzz("own_torch:weighted_sine", tmp_path / "own.db")
    assert result.exit_code == 1, result.output
    assert "own_torch.weighted_sine: wrong gradient in reverse [new]" in " ".join(result.output.split())
    kept = Store(tmp_path / "own.db", create=False).findings()
    assert kept
    assert all("weighted_sine" in finding.script for finding in kept)


def test_its_healthy_twin_has_no_findings(tmp_path):
    # Another seed draws complex numbers in the way of TorchScript, which forgets to conjugate the derivative of their product.
    result = fuzz("own_torch:healthy_sine", tmp_path / "own.db", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "0 findings" in result.output


def test_the_seed_is_a_program_that_people_can_read():
    inputs = [parse_input("x: float64[3]"), parse_input("labels: int64[2, 2]"), parse_input("a: float64[2, 2] symmetric")]
    text = program_text("mine", "f", inputs, seed=4)
    assert text.splitlines() == [
        'x = tensor((3,), "float64", normal(seed=5))',
        'labels = tensor((2, 2), "int64", integers(0, 2, seed=6))',
        'a = tensor((2, 2), "float64", normal(seed=7), structure="symmetric")',
        "out = mine.f(x, labels, a)",
    ]
    parse(text, language_for("torch", ("mine",)))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("own_torch.healthy_sine", "write your function as module:function"),
        ("own_torch:missing", "own_torch:missing: there is no such function"),
        ("own_torch:_private", "private names are not part of the language"),
    ],
)
def test_wrong_use_is_one_line(tmp_path, function, text):
    result = fuzz(function, tmp_path / "own.db")
    assert result.exit_code == 2
    assert text in result.output
    assert not (tmp_path / "own.db").exists()
