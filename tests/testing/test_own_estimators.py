"""Stochastic gradients in expectation, and whole modules in one call."""

from __future__ import annotations

import sys
import types

import own_torch
import pytest
import torch

import gradfuzz
from gradfuzz.errors import GradfuzzError
from gradfuzz.testing import EstimatorBias, ModuleMismatch, check_estimator, check_module
from gradfuzz.testing.fixture import parse_budget

MU = torch.tensor([0.5, -0.3], dtype=torch.float64)


def drawn(seed, mu):
    noise = torch.randn(mu.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return mu + noise


def reparameterised(seed, mu):
    return (drawn(seed, mu) ** 2).sum()


def detached(seed, mu):
    """As if somebody had thought that the sample does not depend on mu."""
    z = drawn(seed, mu)
    return (z * z.detach()).sum()


def quantity(seed, mu):
    return (drawn(seed, mu) ** 3).sum()


def score(seed, mu, factor=1.0):
    z = drawn(seed, mu).detach()
    return factor * (-0.5 * (z - mu) ** 2).sum() * (z**3).sum()


def test_a_reparameterised_gradient_is_right_in_expectation_and_half_of_it_is_not():
    assert check_estimator(reparameterised, MU).conclusive
    with pytest.raises(EstimatorBias, match="the gradient of detached is biased"):
        check_estimator(detached, MU)


def test_a_score_function_estimator_is_held_against_the_quantity_that_it_is_for():
    found = check_estimator(score, MU, value=quantity, samples=3000)
    assert abs(found.estimator - found.expected) <= found.interval
    with pytest.raises(EstimatorBias):
        check_estimator(lambda seed, mu: score(seed, mu, 3.0), MU, exact=lambda mu: (mu**3 + 3 * mu).sum(), samples=3000)


def test_wrong_use_of_estimators_is_one_line():
    with pytest.raises(GradfuzzError, match="confidence=2"):
        check_estimator(reparameterised, MU, confidence=2)
    with pytest.raises(GradfuzzError, match="samples=3"):
        check_estimator(reparameterised, MU, samples=3)


@pytest.fixture
def module(monkeypatch):
    """A module with a healthy function, two wrong ones and one that takes no tensors."""
    made = types.ModuleType("module_of_rules")

    def rule(name, factor):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(x)

        def backward(ctx, g):
            return g * factor * torch.cos(ctx.saved_tensors[0])

        parts = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": made.__name__}
        return type(name, (torch.autograd.Function,), parts)

    made.Healthy, made.Wrong, made.Known = rule("Healthy", 1.0), rule("Wrong", 1.5), rule("Known", 2.0)
    made.weighted = own_torch.healthy_sine
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_a_module_has_one_line_for_each_function(module):
    with pytest.raises(ModuleMismatch) as caught:
        check_module(module, {"weighted": ("float64[3]", "float64[3]")}, known={"Known.apply": "reported"}, library="torch")
    lines = {line.name: line for line in caught.value.report.lines}
    assert {name: line.outcome for name, line in lines.items()} == {
        "Healthy.apply": "right", "Wrong.apply": "WRONG", "Known.apply": "known", "weighted": "right",
    }  # fmt: skip
    assert lines["Known.apply"].reason == "reported"
    assert "Wrong.apply" in str(caught.value)
    assert "the first derivative of Wrong.apply is wrong" in str(caught.value)


def test_what_is_right_by_now_need_not_be_known(module):
    del module.Wrong, module.Known
    inputs = {"weighted": (torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))}
    report = check_module(module, inputs, known={"Healthy.apply": "reported"})
    assert {line.name: line.outcome for line in report.lines} == {"Healthy.apply": "mended", "weighted": "right"}
    with pytest.raises(GradfuzzError, match="has no function 'nothing'"):
        check_module(module, {"nothing": ()})


@pytest.mark.parametrize(("text", "budget"), [(200, 200), ("200", 200), ("20s", 20.0), ("1.5m", 90.0)])
def test_a_budget_is_a_number_of_draws_or_a_time(text, budget):
    assert parse_budget(text) == budget
    assert type(parse_budget(text)) is type(budget)


def test_a_budget_that_is_none_is_said_to_be_that():
    with pytest.raises(GradfuzzError, match='give a number of draws, or a time as in "20s"'):
        parse_budget("soon")


def test_public_names():
    assert gradfuzz.testing.check_module is check_module
