"""check_gradients: planted errors of every size and place, what a check may cost, tolerances, domains, and examples that hold."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import own_torch
import pytest
import torch

import gradfuzz
from gradfuzz.errors import GradfuzzError
from gradfuzz.testing import InconclusiveWarning
from gradfuzz.testing.meter import EVALUATIONS

RNG = np.random.default_rng(8)


def tensor(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def rule(value, slope):
    """A function with a backward of its own."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return value(x)

        @staticmethod
        def backward(ctx, g):
            return slope(ctx.saved_tensors[0], g)

    return lambda x: Own.apply(x)


def check(f, *inputs, **options):
    """The agreement, or the mismatch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconclusiveWarning)
        try:
            return gradfuzz.check_gradients(f, *inputs, **options)
        except gradfuzz.GradientMismatch as error:
            return error


def one_of_many(x, g):
    wrong = g * torch.cos(x)
    wrong[0] *= 1 + 1e-4
    return wrong


PLANTED = {
    "at a single point": (rule(lambda x: 3 * x, lambda x, g: g * torch.where(x == 1, 100.0, 3.0)), tensor(1.0, 2.3, 0.4)),
    "in one branch": (rule(lambda x: torch.where(x > 0, x * x, x.sin()), lambda x, g: g * torch.where(x > 0, 2 * x, x)), tensor(0.3, -0.7)),
    "of size 1e-4": (rule(torch.sin, lambda x, g: g * torch.cos(x) * (1 + 1e-4)), tensor(0.3, 1.2, -0.7)),
    "of size 1e-4 in one of a thousand": (rule(torch.sin, one_of_many), torch.from_numpy(RNG.standard_normal(1000))),
    "in forward mode alone": (own_torch.WrongTangent.apply, tensor(0.3, 1.2)),
    "beside a number that is a billion times larger": (
        lambda x: torch.cat([1e9 * x, rule(torch.sin, lambda x, g: g * torch.cos(x) * 1.001)(x)]), tensor(0.3, 1.2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_a_mismatch_within_the_limit(name):
    f, x = PLANTED[name]
    error = check(f, x)
    assert isinstance(error, gradfuzz.GradientMismatch), f"{name}: {error}"
    str(error)
    assert error.evaluations <= EVALUATIONS


def test_a_rule_that_is_wrong_in_every_precision_is_seen_at_inputs_of_single_precision():
    x = torch.tensor([0.3, 1.2], dtype=torch.float32)
    assert check(rule(torch.sin, lambda x, g: g * torch.cos(x)), x).conclusive
    assert isinstance(check(rule(torch.sin, lambda x, g: 2 * g * torch.cos(x)), x), gradfuzz.GradientMismatch)
    weights = torch.ones(2, dtype=torch.float32)
    found = check(lambda x: x @ weights, x)  # there is no such product in double precision
    assert not found.conclusive


UNSEEN = {
    "at a tie": (rule(lambda x: x.max(), lambda x, g: g * 1.5 * (x == x.max())), tensor(1.0, 1.0, 0.4)),
    "where slopes grow without end": (rule(lambda x: x.sign() * x.abs().sqrt(), lambda x, g: g * 12345.0), tensor(0.0)),
    "on a step": (rule(lambda x: 7 * x.floor(), lambda x, g: g * 5.0), tensor(1.0, 2.0)),
    "in an input that is small beside another": (
        lambda x: 1e9 * x[0] + rule(torch.sin, lambda x, g: g * torch.cos(x) * 1.001)(x[1]), [tensor(0.3), tensor(1.2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_what_differences_cannot_see_is_never_a_conclusive_agreement(name):
    f, x = UNSEEN[name]
    found = check(f, x)
    assert isinstance(found, gradfuzz.GradientMismatch) or not found.conclusive


@pytest.mark.parametrize(("order", "most"), [(1, 15), (2, 15)])
def test_an_agreeing_check_costs_a_dozen_evaluations(order, most):
    found = check(own_torch.healthy_sine, tensor(0.3, 1.2), tensor(2.0), order=order)
    assert found.conclusive
    assert found.evaluations <= most


def test_the_value_beside_a_gradient_is_checked_inside_another_derivative():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_jvp
    def inner(x):
        return jnp.sin(x)

    # Its rule hands on another value than the function: nobody sees that before a derivative is taken of a derivative.
    inner.defjvp(lambda xs, ts: (jnp.sin(xs[0]) + (WRONG * xs[0]), jnp.cos(xs[0]) * ts[0]))

    @jax.custom_vjp
    def outer(x):
        return jnp.sin(x)

    outer.defvjp(lambda x: (inner(x), x), lambda x, g: (g * jnp.cos(x),))
    WRONG = 0.0
    assert check(outer, RNG.standard_normal(3), library="jax", order=2, modes=("reverse",)).conclusive
    WRONG = 1e-3
    assert isinstance(check(inner, RNG.standard_normal(3), library="jax", order=1), gradfuzz.GradientMismatch)

    @jax.custom_jvp
    def lazy(x):
        return jnp.sin(x)

    lazy.defjvp(lambda xs, ts: (inner(xs[0]), jnp.cos(xs[0]) * ts[0]))
    assert check(lazy, RNG.standard_normal(3), library="jax", order=1).conclusive
    error = check(lazy, RNG.standard_normal(3), library="jax", order=2)
    assert isinstance(error, gradfuzz.GradientMismatch)


# Warnings, tolerances, limits ----------------------------------------------------------------------------------------


def test_warnings_that_a_project_has_made_errors_are_no_failures():
    def noisy(x):
        warnings.warn("this will go away", DeprecationWarning, stacklevel=1)
        return torch.tanh(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradfuzz.check_gradients(torch.tanh, tensor(0.3, 1.2), order=2).conclusive
        assert gradfuzz.check_gradients(noisy, tensor(0.3, 1.2)).conclusive
        with pytest.raises(DeprecationWarning):
            noisy(tensor(0.3))


APPROXIMATE = rule(torch.exp, lambda x, g: g * torch.exp(x) * (1 + 3e-6 * torch.cos(x)))


def test_a_derivative_that_is_nearly_right_is_told_from_one_that_is_wrong():
    error = check(APPROXIMATE, tensor(0.3, 1.2))
    assert error.digits in (5, 6)
    assert "is inaccurate (" in str(error).splitlines()[0]
    assert check(PLANTED["at a single point"][0], tensor(1.0)).digits is None


def test_a_tolerance_allows_for_what_is_approximate_by_design_and_for_nothing_else():
    assert check(APPROXIMATE, tensor(0.3, 1.2), rtol=1e-4).conclusive
    assert check(APPROXIMATE, tensor(0.3, 1.2), atol=1e-4).conclusive
    assert check(APPROXIMATE, tensor(0.3, 1.2), rtol=1e-4, order=2).conclusive
    error = check(rule(torch.exp, lambda x, g: g * torch.exp(x) * 1.01), tensor(0.3, 1.2), rtol=1e-4)
    assert isinstance(error, gradfuzz.GradientMismatch)
    assert "rtol=0.0001" in error.reproducer


def test_a_check_ends_in_time_with_the_best_answer_so_far():
    found = check(PLANTED["of size 1e-4"][0], tensor(0.3, 1.2), seconds=0.0)
    assert not found.conclusive
    assert "could not be judged within 0 seconds" in found.reasons[0]


# Examples that hold --------------------------------------------------------------------------------------------------


def half_wrong(x, w):
    return x * rule(torch.sin, lambda x, g: g * torch.cos(x) * 1.1)(w)


def test_the_printed_example_says_what_was_differentiated_and_fails_by_itself(tmp_path):
    error = check(own_torch.weighted_sine, tensor(0.5, 2.5).requires_grad_(), tensor(0.7, 0.9))
    assert "wrt=['x']" in error.reproducer
    (tmp_path / "repro.py").write_text(error.reproducer)
    done = subprocess.run(
        [sys.executable, "repro.py"], cwd=tmp_path, env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert "GradientMismatch: the first derivative of weighted_sine is wrong" in done.stderr


def test_only_what_wrt_names_is_differentiated():
    x, w = tensor(0.3), tensor(1.2)
    assert check(half_wrong, x, w, wrt="x").conclusive
    assert check(half_wrong, x, w, wrt=0).conclusive
    assert isinstance(check(half_wrong, x, w, wrt=["w"]), gradfuzz.GradientMismatch)
    with pytest.raises(GradfuzzError, match="wrt='z' is no floating input; those are x, w"):
        check(half_wrong, x, w, wrt="z")


def test_a_smaller_example_stays_in_the_domain():
    asked = []

    def entropy(p):
        asked.append(p.detach().clone())
        return rule(lambda p: -(p * p.log()), lambda p, g: -g * (p.log() + 0.9))(p)

    p = tensor(0.2, 0.3, 0.5)
    error = check(entropy, p)
    assert error.example["p"].sum() == pytest.approx(1.0)  # it was a distribution, so it stays one
    asked.clear()
    error = check(entropy, tensor(0.21, 0.33), domain=(0.2, 0.4))
    assert all(bool(((a >= 0.2) & (a <= 0.4)).all()) for a in asked)
    assert ((error.example["p"] >= 0.2) & (error.example["p"] <= 0.4)).all()
    asked.clear()
    check(entropy, tensor(0.21, 0.33), domain=lambda p: bool((p < 0.5).all()))
    assert all(bool((a < 0.5).all()) for a in asked)
    with pytest.raises(GradfuzzError, match="outside the domain"):
        check(entropy, p, domain=(1, 2))


# Modes and orders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "order", "seen"),
    [
        (("reverse",), 2, {"reverse", "reverse-over-reverse"}),
        (("reverse-over-reverse",), 2, {"reverse", "reverse-over-reverse"}),
        (("forward-over-reverse",), 2, {"reverse", "forward-over-reverse"}),
        ("forward", 1, {"forward"}),
    ],
)
def test_modes_and_orders_give_what_they_say(modes, order, seen):
    from gradfuzz.testing.library import pick
    from gradfuzz.testing.modes import scenarios

    assert {s.name for s in scenarios(modes, order, pick("torch", ()))} == seen
    assert check(torch.tanh, tensor(0.3, 1.2), modes=modes, order=order).conclusive


def test_a_mode_that_needs_a_higher_order_says_so():
    with pytest.raises(GradfuzzError, match="mode 'reverse-over-reverse' is of order 2; say order=2"):
        check(torch.tanh, tensor(0.3), modes=("reverse-over-reverse",))


def test_a_mode_that_raises_is_named_with_its_cause():
    def backward(x, g):
        raise ValueError("x" * 2000 + " and the cause at the end")

    text = str(check(rule(torch.sin, backward), tensor(0.3)))
    assert text.startswith("the first derivative of <lambda> raises in reverse")
    assert "reverse raised ValueError" in text
    assert "and the cause at the end" in text
    assert "test_own_limits.py, line" in text


def test_modes_that_the_library_does_not_have_are_named():
    found = check(rule(torch.sin, lambda x, g: g * torch.cos(x)), tensor(0.3, 1.2))
    assert found.conclusive
    assert "jvp" in found.not_run["forward"]
