"""People's own functions of Paddle's tensors, and programs whose calls are recorded."""

import json

import numpy as np
import pytest

import gradfuzz
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json
from gradfuzz.targets.homes import load_functions

paddle = pytest.importorskip("paddle", reason="not in this interpreter; tests/targets/test_elsewhere.py runs these in its own")


def test_a_program_s_own_calls_become_seeds(paddle_target, tmp_path):
    before = paddle.matmul
    with gradfuzz.record(tmp_path / "seeds.jsonl", target="paddle") as recording:
        for _ in range(2):
            w = paddle.full([4, 3], 0.25)
            w.stop_gradient = False
            paddle.sum(paddle.tanh(paddle.matmul(paddle.ones([5, 4]), w))).backward()
    assert paddle.matmul is before
    rows = [json.loads(line) for line in (tmp_path / "seeds.jsonl").read_text().splitlines()]
    assert recording.count == len(rows) and {"paddle.matmul", "paddle.tanh", "paddle.sum"} <= {row["api"] for row in rows}
    program = from_json(next(row for row in rows if row["api"] == "paddle.matmul")["program"])
    assert [recipe.shape for recipe in program.inputs.values()] == [(5, 4), (4, 3)]
    assert examine(paddle_target, program, Options(order=1)).outcome == "agree"


def test_derivatives_of_own_functions_are_those_of_campaigns():
    functions = load_functions("paddle")
    x = np.array([0.5, 1.5])
    from gradfuzz.targets.base.scenario import REVERSE

    outcome = functions.derivative(lambda xs: [paddle.sin(xs[0])], [functions.tensor(x, "float64")], REVERSE, [[np.ones(2)]], [np.ones(2)])
    assert outcome.result[0] == pytest.approx(np.cos(x).sum())
