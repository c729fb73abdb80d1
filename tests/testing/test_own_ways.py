"""check_gradients in further ways of running: a rule of one's own is kept in all of them, or it is said which one drops it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import gradfuzz
from gradfuzz.errors import GradfuzzError
from gradfuzz.testing import InconclusiveWarning

X = torch.tensor([0.3, 1.2, -0.7], dtype=torch.float64)


class StraightThrough(torch.autograd.Function):
    """Rounds, and passes gradients on as if it had not."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g.clone()


def estimator(x):
    return StraightThrough.apply(x) * x


def dropped_when_compiled(x):
    """As if a compiler looked through the rule."""
    return (torch.round(x) if torch.compiler.is_compiling() else StraightThrough.apply(x)) * x


def test_a_healthy_function_agrees_in_every_way_that_is_asked_for():
    found = gradfuzz.check_gradients(torch.sin, X, ways=["checkpointed", "batched", "functional", "aot_eager"], order=2)
    assert found.conclusive and any(v.oracle == "way" for v in found.verdicts)


@pytest.mark.parametrize("ways", [["checkpointed"], ["functional", "batched"], ["aot_eager"]])
def test_a_rule_of_ones_own_is_kept(ways):
    assert gradfuzz.check_gradients(estimator, X, ways=ways, own_rule=True).conclusive


def test_a_rule_that_a_compiler_drops_is_caught_and_its_healthy_twin_is_not():
    with pytest.raises(gradfuzz.GradientMismatch) as caught:
        gradfuzz.check_gradients(dropped_when_compiled, X, ways=["aot_eager"], own_rule=True)
    text = str(caught.value)
    assert "depends on how it is run" in text and "ways=['aot_eager']" in text and "own_rule=True" in text
    assert gradfuzz.gradients_agree(estimator, X, ways=["aot_eager"], own_rule=True)


def test_without_own_rule_an_estimator_is_a_wrong_gradient():
    assert not gradfuzz.gradients_agree(estimator, X, ways=["checkpointed"])


def test_a_way_that_cannot_be_run_is_said():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = gradfuzz.check_gradients(torch.sin, X, ways=["foreach"])
    assert not found.conclusive and any(isinstance(w.message, InconclusiveWarning) and "foreach" in str(w.message) for w in caught)


def test_names_of_ways_are_checked():
    with pytest.raises(GradfuzzError, match=r"no way 'compiled'.*aot_eager"):
        gradfuzz.check_gradients(torch.sin, X, ways=["compiled"])
    with pytest.raises(GradfuzzError, match=r"own_rule=True.*ways"):
        gradfuzz.check_gradients(torch.sin, X, own_rule=True)


def test_a_jax_rule_is_kept_and_one_that_is_dropped_is_caught():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_vjp
    def straight(x):
        return jnp.round(x)

    straight.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))

    def dropped(x):
        return (jnp.round(x) if compiling(x) else straight(x)) * x

    def compiling(x):
        try:
            bool(jnp.all(x == x))
        except jax.errors.ConcretizationTypeError:
            return True
        return False

    x = np.array([0.3, 1.2, -0.7])
    ways = ["jit", "batched", "checkpointed", "scanned"]
    assert gradfuzz.check_gradients(lambda x: straight(x) * x, x, library="jax", ways=ways, own_rule=True).conclusive
    assert not gradfuzz.gradients_agree(dropped, x, library="jax", ways=["jit"], own_rule=True)


def test_a_tensorflow_rule_is_kept_and_one_that_is_dropped_is_caught():
    tf = pytest.importorskip("tensorflow")

    @tf.custom_gradient
    def straight(x):
        return tf.round(x), lambda g: g

    def dropped(x):
        return (straight(x) if tf.executing_eagerly() else tf.round(x)) * x

    x = tf.constant([0.3, 1.2, -0.7], tf.float64)
    rule = {"own_rule": True, "modes": "reverse"}  # a rule for reverse mode
    assert gradfuzz.check_gradients(lambda x: straight(x) * x, x, ways=["graph", "compiled", "recomputed"], **rule).conclusive
    assert not gradfuzz.gradients_agree(dropped, x, ways=["graph"], **rule)
