"""The step curve is a U, and the picture is a picture."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.testing.step_curve import inline_image, png, step_curve

PNG = b"\x89PNG\r\n\x1a\n"


def test_rounding_on_the_left_truncation_on_the_right():
    curve = step_curve(torch.exp, torch.tensor([0.3, 1.0], dtype=torch.float64))
    step, error = curve.best
    assert 1e-7 < step < 1e-4
    assert error < 1e-9
    assert curve.errors[0] > 1e4 * error  # the largest step
    assert curve.errors[-1] > 1e4 * error  # the smallest
    assert curve.optimum == pytest.approx(np.finfo(float).eps ** (1 / 3))
    assert curve.chosen == pytest.approx(curve.optimum)  # the largest input is 1


def test_the_step_that_gradfuzz_takes_grows_with_the_inputs():
    assert step_curve(torch.sin, torch.tensor([100.0], dtype=torch.float64)).chosen == pytest.approx(100 * np.finfo(float).eps ** (1 / 3))


def test_the_picture_and_its_inline_form():
    picture = png(step_curve(torch.sin, torch.tensor([1.0], dtype=torch.float64)))
    assert picture.startswith(PNG)
    assert inline_image(picture, 'a "U"').startswith('<img alt="a &quot;U&quot;" src="data:image/png;base64,iVBOR')


def test_the_command_writes_the_picture(tmp_path):
    to = tmp_path / "curve.png"
    result = CliRunner().invoke(app, ["eps", "torch.sin", "--input", "x: float64[2, 3]", "--out", str(to)])
    assert result.exit_code == 0, result.output
    assert "theoretical optimum δ^(1/3): 6.1e-06" in result.output
    assert to.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["torch.sinus"], "torch.sinus: there is no such function; write it as torch.sin or module:function"),
        (["nowhere:f"], "nowhere:f: No module named 'nowhere'"),
        (["torch.sin", "--input", "x: float65"], "unknown dtype float65"),
        (["torch.sin", "--input", "x = 3"], "input 'x = 3' is not understood; write it as in \"x: float64[3, 4]\""),
    ],
)
def test_wrong_use_is_one_line(arguments, text):
    result = CliRunner().invoke(app, ["eps", *arguments])
    assert result.exit_code == 2
    assert text in result.output
