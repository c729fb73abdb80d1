"""`gradfuzz scan` and `record --package`: hand-written derivatives are found, heard, fuzzed, and those that are wrong are findings."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.modules import lent
from gradfuzz.store import Store
from gradfuzz.targets.homes import homes
from gradfuzz.testing import ModuleMismatch, check_module

OPS = '''
import torch


class _Soft(torch.autograd.Function):
    """Its backward forgets the scale; labels are not differentiated on purpose."""

    @staticmethod
    def forward(ctx, x, scale, labels):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.tanh(x * scale) + 0 * labels

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x * ctx.scale) ** 2), None, None


class Healthy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        return g * torch.cos(ctx.saved_tensors[0])


class TakesFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, f):
        return f(x)

    @staticmethod
    def backward(ctx, g):
        return g, None


soft, healthy = _Soft.apply, Healthy.apply

for name, slope in (("halved", 0.5), ("whole", 1.0)):
    torch.library.define(f"scanned_package::{name}", "(Tensor x) -> Tensor")
    torch.library.impl(f"scanned_package::{name}", "cpu", torch.exp)
    torch.library.register_autograd(
        f"scanned_package::{name}",
        lambda ctx, g, slope=slope: slope * g * torch.exp(ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )


def halved(x):
    return torch.ops.scanned_package.halved(x)


def whole(x):
    return torch.ops.scanned_package.whole(x)


def maker():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return Inner.apply


def doubled(x):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    return Inner.apply(x)
'''
TESTS = """
import torch
import scanned_package.ops as ops


def test_all():
    ops.soft(torch.linspace(-1, 1, 3).requires_grad_(), 2.0, torch.ones(3)).sum().backward()
    ops.TakesFunction.apply(torch.randn(3, requires_grad=True), torch.sin)
    ops.maker()(torch.randn(3, requires_grad=True))
    ops.halved(torch.randn(2, 2, requires_grad=True))
    ops.doubled(torch.randn(2, requires_grad=True))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    package = folder / "scanned_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ops.py").write_text(OPS)
    (package / "broken.py").write_text("import a_module_that_is_not_there\n")
    (folder / "use.py").write_text(TESTS + "\n\ntest_all()\n")
    return folder


# Enough for a first look at each derivative, which is all that these bugs need.
MUTANTS = "60"


@pytest.fixture(scope="module")
def scanned(package):
    """One scan for all that is said about it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(package)
        patch.syspath_prepend(str(package))
        patch.setenv("PYTHONPATH", ":".join([str(package), *sys.path]))
        arguments = ["scan", "scanned_package", "--mutants", MUTANTS, "--workers", "1", "--store", "scan.db", "--", "python", "use.py"]
        result = CliRunner().invoke(app, arguments)
    return result, " ".join(result.output.split()), package


def test_a_wrong_backward_is_a_finding_and_its_healthy_neighbour_is_not(scanned):
    result, text, package = scanned
    assert result.exit_code == 1, result.output
    assert "scanned_package.ops._Soft.apply: wrong gradient in reverse" in text
    assert "scanned_package.ops.Healthy.apply: nothing found" in text
    kept = Store(package / "scan.db", create=False).findings()
    wrong = ("_Soft.apply", "halved", "doubled")
    assert {f.api for f in kept if "reverse" in f.title} == {f"scanned_package.ops.{name}" for name in wrong}


def test_an_operator_registered_by_its_name_is_found_by_the_function_that_calls_it(scanned):
    _, text, _ = scanned
    assert "scanned_package.ops.halved: wrong gradient in reverse" in text
    assert "scanned_package.ops.whole: wrong gradient in reverse" not in text
    # PyTorch itself hands on tangents of zero where only a backward is registered.
    assert "scanned_package.ops.whole: wrong gradient in forward" in text


def test_its_script_imports_the_package_and_fails_by_itself(scanned, tmp_path):
    _, _, package = scanned
    kept = Store(package / "scan.db", create=False).findings()
    script = next(f.script for f in kept if f.title.startswith("wrong gradient"))
    assert "import scanned_package.ops" in script
    assert "gradfuzz." not in script
    (tmp_path / "repro.py").write_text(script)
    done = subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, env={"PYTHONPATH": str(package)}, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr


def test_what_cannot_be_called_is_listed_with_the_reason(scanned):
    _, text, _ = scanned
    assert "8 hand-written derivatives in scanned_package, 5 of which can be called" in text
    assert "TakesFunction.apply (torch.autograd.Function): not called: an argument of type builtin_function_or_method" in text
    assert "maker (torch.autograd.Function made inside): not called: what it returns is no tensor" in text
    assert "it is made inside maker, so no program can name it" in text
    assert "doubled.<locals>" not in text  # the function that makes it and calls it stands for it
    assert "could not be imported: scanned_package.broken: ModuleNotFoundError" in text


def test_a_scan_goes_on_with_what_was_heard(scanned, monkeypatch):
    _, _, package = scanned
    monkeypatch.chdir(package)
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.setenv("PYTHONPATH", ":".join([str(package), *sys.path]))
    result = CliRunner().invoke(app, ["scan", "scanned_package", "--resume", "--mutants", "70", "--workers", "1", "--store", "scan.db"])
    text = " ".join(result.output.split())
    assert result.exit_code == 1, result.output
    assert "importing" not in text
    assert "scanned_package.ops._Soft.apply: " in text and "scanned_package.ops.Healthy.apply: nothing found" in text
    other = CliRunner().invoke(app, ["scan", "json", "--resume", "--store", "scan.db"])
    assert other.exit_code == 2
    assert "the last campaign in scan.db is no scan of json; leave --resume out" in " ".join(other.output.split())


def test_a_recording_of_a_package_has_ranges_and_structure_and_no_numbers(package, monkeypatch):
    monkeypatch.chdir(package)
    monkeypatch.setenv("PYTHONPATH", ":".join([str(package), *sys.path]))
    result = CliRunner().invoke(app, ["record", "--package", "scanned_package", "--to", "seeds.jsonl", "--", sys.executable, "use.py"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (package / "seeds.jsonl").read_text().splitlines()]
    soft = next(row for row in rows if row["api"] == "scanned_package.ops._Soft.apply")
    x, labels = (statement["tensor"] for statement in soft["program"]["statements"][:2])
    assert (x["shape"], x["structure"], x["values"]["kind"]) == ([3], "real", "normal")
    assert (labels["grad"], labels["structure"]) == (False, "constant")


def test_a_package_without_rules_is_said_to_have_none(monkeypatch, package):
    monkeypatch.chdir(package)
    result = CliRunner().invoke(app, ["scan", "json", "--target", "torch"])
    assert result.exit_code == 2
    assert "json: no hand-written derivative was found for torch" in result.output


@pytest.mark.parametrize(("name", "as_lent"), [("json", "json"), ("os.path.join", "os.path:join"), ("nowhere.f", "nowhere.f")])
def test_a_function_is_lent_by_its_name_too(name, as_lent):
    assert lent([name]) == (as_lent,)


PRIMITIVES = """
import autograd.numpy as anp
import numpy as np
from autograd.extend import defjvp, defvjp, primitive


@primitive
def wrong(x, scale):
    return np.tanh(x * scale)


@primitive
def healthy(x, scale):
    return np.tanh(x * scale)


@primitive
def at_a_point(x):
    return x**2


defvjp(wrong, lambda ans, x, scale: lambda g: g * (1 - ans**2))
defvjp(healthy, lambda ans, x, scale: lambda g: g * scale * (1 - ans**2))
defjvp(healthy, lambda g, ans, x, scale: g * scale * (1 - ans**2))
defvjp(at_a_point, lambda ans, x: lambda g: g * anp.where(x == 1.0, 100.0, 2 * x))
"""


def test_primitives_of_a_library_without_campaigns_are_checked_at_mutants_of_their_calls(tmp_path, monkeypatch):
    (tmp_path / "with_primitives.py").write_text(PRIMITIVES)
    (tmp_path / "use.py").write_text(
        "import numpy as np, with_primitives as p\n\n"
        "p.wrong(np.ones(3), 2.0)\np.healthy(np.ones(3), 2.0)\np.at_a_point(np.linspace(0.2, 3, 4))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *sys.path]))
    result = CliRunner().invoke(app, ["scan", "with_primitives", "--time", "60s", "--", "python", "use.py"])
    text = " ".join(result.output.split())
    assert result.exit_code == 1, result.output
    assert "autograd: 3 hand-written derivatives in with_primitives, 3 of which can be called" in text
    assert "with_primitives.wrong: WRONG" in text
    assert "with_primitives.at_a_point: WRONG" in text  # no call that was heard is at that point
    assert "with_primitives.healthy: right" in text
    assert "from with_primitives import wrong" in text
    assert "wrong = ..." not in text


def test_what_is_checked_in_this_process_takes_no_other_interpreter(tmp_path, monkeypatch):
    (tmp_path / "with_primitives.py").write_text(PRIMITIVES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *sys.path]))
    result = CliRunner().invoke(app, ["scan", "with_primitives", "--target", "autograd", "--python", sys.executable])
    assert result.exit_code == 2
    assert "install the package beside gradfuzz" in " ".join(result.output.split())


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
