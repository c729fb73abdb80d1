"""`gradfuzz scan` and `record --package`: hand-written derivatives are found, heard, fuzzed, and those that are wrong are findings."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.cli.modules import lent
from gradfuzz.store import Store

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
