"""Two libraries at the same inputs: shared functions are found by name and value, and a wrong derivative is laid at one door."""

import csv
import json

import numpy as np
import pytest
import torch

from gradfuzz.oracles.cross import differences, same_values
from tests.conftest import PLANTED
from tests.surveys.test_campaign import gradfuzz

pytest.importorskip("jax")

SEEDS = """x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))
y = planted_cross.tanh(x)

x = tensor((2, 2), "float64", uniform(0.5, 2.0, seed=1))
y = planted_cross.softplus(x)

x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))
y = planted_cross.sinh(x)

x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))
y = torch.sinc(x)
"""


def test_a_wrong_derivative_is_found_and_its_healthy_twin_is_not(tmp_path):
    (tmp_path / "planted_cross.py").write_text((PLANTED / "planted_cross.py").read_text())
    (tmp_path / "seeds.py").write_text(SEEDS)
    done = gradfuzz("cross", "torch", "jax", "--seeds", "seeds.py", "--module", "planted_cross", "--csv", "shared.csv", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 functions shared (of 4 with a namesake)" in done.stdout  # sinh is none by its values
    rows = {row["torch " + torch.__version__.partition("+")[0]]: row for row in csv.DictReader((tmp_path / "shared.csv").open())}
    assert set(rows) == {"planted_cross.tanh", "planted_cross.softplus", "torch.sinc"}
    assert rows["planted_cross.tanh"]["first difference"].startswith("order 1")
    found = json.loads(gradfuzz("findings", "--json", cwd=tmp_path).stdout)
    apis = {f["api"] for f in found}
    assert "planted_cross.tanh" in apis and "planted_cross.softplus" not in apis and "jax.numpy.tanh" not in apis
    (tanh,) = [f for f in found if f["api"] == "planted_cross.tanh" and f["order"] == 1]
    assert tanh["scenarios"] == ["reverse"] and tanh["confirmed"]
    assert "torch.sinc" in apis  # whose second derivative is NaN at zero, where the other library's is not


def row(**numbers):
    return {"output": [0, 0, 0], "along": [[0, 0, 0]], "numbers": numbers}


def test_numbers_that_differ_by_rounding_are_the_same():
    assert differences([row(reverse=1.0)], [row(reverse=1.0 + 1e-12)], 1) == []
    assert differences([row(reverse=float("inf"))], [row(reverse=float("nan"))], 1) == []  # neither is a number
    assert differences([row(reverse="not supported")], [row(reverse=1.0)], 1) == []


@pytest.mark.parametrize("other", [1.0 + 1e-6, float("nan"), -1.0, 0.0])
def test_numbers_that_differ_by_more_are_told_with_what_each_scenario_gave(other):
    (found,) = differences([row(reverse=1.0, forward=other)], [row(reverse=1.0)], 1)
    assert found.ours["forward"] is other or found.ours["forward"] == other or np.isnan(other)


def test_values_tell_functions_apart():
    x = np.linspace(-1, 1, 5)
    assert same_values([np.sin(x)], [np.sin(x) * (1 + 1e-15)]) and not same_values([np.sin(x)], [np.sin(x) + 1e-6])
    assert not same_values([x], [x[:4]]) and not same_values([x], [x.astype(np.float32)]) and not same_values([x], [x, x])
    assert same_values([np.array([np.nan, 1.0])], [np.array([np.nan, 1.0])])
