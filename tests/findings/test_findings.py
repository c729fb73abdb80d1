"""What happens to a finding after it is found."""

import numpy as np
import pytest

from gradfuzz.findings.inside.same import finding_id, finding_key
from gradfuzz.findings.known import entries, label
from gradfuzz.findings.numpy_code import array_code
from gradfuzz.program import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.program.values import KINDS, materialise

TORCH = language_for("torch")
VALUES = [
    "normal(seed=3)", "normal(1.0, 2.0, seed=3)", "uniform(-2.0, 3.0, seed=4)", "integers(-3, 4, seed=5)",
    "choice([0.0, -0.0, 1e-8], seed=6)",
    "onehot(seed=7)", "full(2.5)", "arange(1.0, 0.5)", "listed([1.0, 2.0, 3.0])", "scaled(normal(seed=1), 1e-100)",
    "planted(normal(seed=1), 0.0, 3)", "rounded(normal(seed=1), 0.5)", "sorted(normal(seed=1))", "close(normal(seed=1), 1e-06)",
    "positive(normal(seed=1))",
]  # fmt: skip


@pytest.mark.parametrize("shape", ["(3, 4)", "(20, 7)"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("values", VALUES)
def test_numpy_code_makes_the_very_numbers_of_the_recipe(values, dtype, shape):
    recipe = parse(f'x = tensor({shape}, "{dtype}", {values})\ny = torch.sin(x)', TORCH).inputs["x"]
    made = np.asarray(eval(array_code(recipe), {"np": np})).astype(dtype)
    assert np.array_equal(made, materialise(recipe))


def test_every_distribution_is_among_them():
    assert {v.split("(")[0] for v in VALUES} == set(KINDS)


@pytest.mark.parametrize("structure", ["symmetric", "positive_definite", "lower", "upper"])
def test_numpy_code_keeps_structure(structure):
    recipe = parse(f'x = tensor((9, 9), "float64", normal(seed=3), structure="{structure}")\ny = torch.sin(x)', TORCH).inputs["x"]
    assert np.allclose(eval(array_code(recipe), {"np": np}), materialise(recipe))


def verdict(**more):
    return {"oracle": "gradient", "kind": "gradient", "order": 1, "scenarios": ["reverse"], "reason": "x", **more}


def test_one_rule_under_many_names_is_one_finding():
    keys = {finding_key(api, "XlogyBackward0", verdict()) for api in ("torch.xlogy", "torch.special.xlogy", "torch.Tensor.xlogy")}
    assert len(keys) == 1


def test_other_numbers_in_a_message_are_the_same_finding():
    messages = ["size 3 is not 4", "size 7 is not 9"]
    keys = {finding_key("torch.add", "", verdict(oracle="status", kind="status", reason=m)) for m in messages}
    assert len(keys) == 1


def test_other_kinds_and_orders_are_other_findings():
    keys = {finding_key("torch.add", "", verdict(kind=k, order=o)) for k in ("gradient", "value") for o in (1, 2)}
    assert len(keys) == 4


def test_ids_are_readable():
    assert finding_id("torch.nn.functional.kl_div", "k").startswith("kl_div-")


def test_every_label_has_a_reason_and_says_where_to_read_more():
    for entry in entries():
        assert entry["label"] in ("known", "by-design") and len(entry["reason"]) > 20, entry
        assert entry["link"].startswith("https://"), entry


def test_labels_fit_by_name_kind_order_and_scenario():
    finding = {"api": "torch.no_such", "rule": "", "kind": "gradient", "order": 1, "scenarios": ["reverse"], "reason": ""}
    assert label("torch", finding) is None
