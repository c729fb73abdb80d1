"""What `gradfuzz scan` hears of a package's rules: those of libraries by other names, of equations, under names of their own, uncalled."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.targets.homes import homes
from gradfuzz.testing import ModuleMismatch, check_module

LATE = """
class Late:
    def __getattr__(self, name):
        raise ImportError(f"{name} is asked of a module that loads itself late")


later = Late()
"""


@pytest.mark.parametrize("library", ["autograd", "jax", "tensorflow", "torch"])
def test_what_loads_itself_late_is_left_alone(library, tmp_path, monkeypatch):
    (tmp_path / "has_late_parts.py").write_text(LATE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "has_late_parts", raising=False)
    rules = homes()[library].part("handwritten")("has_late_parts", lambda row: None)
    assert rules.find() == []
    assert not rules.rules


def rules_of(name, text, library, folder, monkeypatch):
    """A package's rules, found and listened to until the test is over, and what is heard of them."""
    if library == "jax":
        import jax

        for kind in (jax.custom_jvp, jax.custom_vjp):
            monkeypatch.setattr(kind, "__call__", kind.__call__)  # put back at the end
    if library == "torch":
        import torch

        monkeypatch.setattr(torch.autograd.Function, "apply", torch.autograd.Function.__dict__["apply"])
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    heard = []
    rules = homes()[library].part("handwritten")(name.partition("/")[0], heard.append)
    rules.listen()
    assert rules.find(hearing=True) == []
    return rules, heard


COMPATIBLE = """
import tensorflow.compat.v2 as tf


@tf.custom_gradient
def sine(x):
    return tf.sin(x), lambda g: g * tf.cos(x)
"""


def test_a_package_that_imports_tensorflow_by_another_name_is_heard(tmp_path, monkeypatch):
    import tensorflow as tf

    from gradfuzz.targets.tensorflow.handwritten import places

    for place in places(tf.custom_gradient):
        monkeypatch.setattr(place, "custom_gradient", tf.custom_gradient)  # put back at the end
    rules, heard = rules_of("compatible_rules", COMPATIBLE, "tensorflow", tmp_path, monkeypatch)
    assert [rule.path for rule in rules.rules.values()] == ["compatible_rules.sine"]
    sys.modules["compatible_rules"].sine(tf.ones((2, 3), tf.float64))
    assert [row["api"] for row in heard] == ["compatible_rules.sine"]


IMPLICIT = """
import jax
import jax.numpy as jnp


def wrong(a):
    return jax.lax.custom_root(lambda x: x * x - a, jnp.ones_like(a), lambda f, x: jnp.sqrt(a), lambda g, y: y / (2 * g(jnp.ones_like(y))))


def healthy(a):
    return jax.lax.custom_root(lambda x: x * x - a, jnp.ones_like(a), lambda f, x: jnp.sqrt(a), lambda g, y: y / g(jnp.ones_like(y)))
"""


def test_functions_that_solve_an_equation_are_found_and_heard_and_the_wrong_one_is_told_from_its_twin(tmp_path, monkeypatch):
    import jax

    rules, heard = rules_of("solved_rules", IMPLICIT, "jax", tmp_path, monkeypatch)
    assert {rule.name: rule.kind for rule in rules.rules.values()} == dict.fromkeys(("wrong", "healthy"), "jax.lax.custom_root")
    sys.modules["solved_rules"].wrong(jax.numpy.array([0.5, 2.0, 3.0]))
    (row,) = heard
    assert (row["api"], row["program"]["statements"][0]["tensor"]["structure"]) == ("solved_rules.wrong", "positive")
    with pytest.raises(ModuleMismatch) as caught:
        check_module("solved_rules", library="jax")
    assert {line.name: line.outcome for line in caught.value.report.lines} == {"wrong": "WRONG", "healthy": "right"}


@pytest.mark.slow
def test_functions_that_solve_an_equation_are_fuzzed(tmp_path, monkeypatch):
    (tmp_path / "with_roots.py").write_text(IMPLICIT)
    (tmp_path / "use.py").write_text(
        "import jax.numpy as jnp, with_roots\n\nfor f in (with_roots.wrong, with_roots.healthy):\n    f(jnp.array([0.5, 2.0, 3.0]))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *sys.path]))
    arguments = ["--mutants", "30", "--workers", "1", "--order", "1", "--target", "jax", "--", "python", "use.py"]
    result = CliRunner().invoke(app, ["scan", "with_roots", *arguments])
    text = " ".join(result.output.split())
    assert result.exit_code == 1, result.output
    assert "2 hand-written derivatives in with_roots, 2 of which can be called" in text
    assert "with_roots.wrong: wrong gradient in reverse, forward" in text
    assert "with_roots.healthy: nothing found" in text


RENAMED = """
import jax
import jax.numpy as jnp


def _sine(x, flag):
    return jnp.sin(x)


sine = jax.custom_vjp(_sine, nondiff_argnums=(1,))
sine.defvjp(lambda x, flag: (jnp.sin(x), x), lambda flag, x, g: (g * jnp.cos(x),))


def inside(x):
    @jax.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda xs, ts: (xs[0] ** 3, 3 * xs[0] ** 2 * ts[0]))
    return cube(x)


@jax.jit
def behind(x):
    return jax.custom_vjp(lambda x: x)(x)
"""


def test_a_rule_is_heard_under_the_name_that_programs_can_call_it_by(tmp_path, monkeypatch):
    import jax

    rules, heard = rules_of("renamed_rules", RENAMED, "jax", tmp_path, monkeypatch)
    assert {rule.name for rule in rules.rules.values()} == {"sine", "inside", "behind"}
    sys.modules["renamed_rules"].sine(jax.numpy.ones(3), np.int64(2))  # numbers of NumPy are numbers
    sys.modules["renamed_rules"].inside(jax.numpy.ones(3))
    assert {row["api"] for row in heard} == {"renamed_rules.sine", "renamed_rules.inside"}
    rules.try_out()
    assert {row["path"] for row in rules.told()} == {"renamed_rules.sine", "renamed_rules.inside", "renamed_rules.behind"}


UNCALLED = """
import torch


class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, labels, mode):
        if mode not in ("sine", "cosine"):
            raise ValueError(f"no mode {mode}")
        ctx.save_for_backward(x, labels)
        return torch.sin(x) * labels

    @staticmethod
    def backward(ctx, g):
        x, labels = ctx.saved_tensors
        return g * torch.cos(x) * labels, None, None


def soft(x, labels, mode="sine"):
    return Soft.apply(x, labels, mode)


class Layer(torch.nn.Module):
    def forward(self, x):
        return Inner.apply(x, "flat")


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        assert how == "flat"
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g, None


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.save_for_backward(keep)
        return x * keep

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


class Deaf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        raise ValueError("it takes a dictionary")

    @staticmethod
    def backward(ctx, g):
        return g, None
"""


def test_rules_that_nobody_called_are_tried_by_what_in_the_package_calls_them(tmp_path, monkeypatch):
    rules, heard = rules_of("uncalled_rules", UNCALLED, "torch", tmp_path, monkeypatch)
    rules.try_out()
    told = {row["path"].removeprefix("uncalled_rules."): row for row in rules.told()}
    assert {name for name, row in told.items() if row["calls"] and row["made_up"]} == {"Soft.apply", "Inner.apply", "Masked.apply"}
    assert "it takes no plain tensors (ValueError: it takes a dictionary)" in told["Deaf.apply"]["reason"]
    # A rule that gives no gradient for an argument says that it is none of its business.
    for name in ("Masked.apply", "Soft.apply"):
        statements = next(row for row in heard if row["api"] == f"uncalled_rules.{name}")["program"]["statements"]
        assert [s["tensor"].get("grad", True) for s in statements if "tensor" in s] == [True, False]


def test_a_module_whose_name_its_package_gave_to_something_else_is_said_to_be_out_of_reach(tmp_path, monkeypatch):
    (tmp_path / "hiding_rules").mkdir()
    (tmp_path / "hiding_rules" / "ops.py").write_text(UNCALLED)
    rules, heard = rules_of("hiding_rules/__init__", "from hiding_rules import ops\n\nops = 3\n", "torch", tmp_path, monkeypatch)
    rules.try_out()
    assert not heard
    assert all("something else in the package is called hiding_rules.ops" in row["reason"] for row in rules.told())
