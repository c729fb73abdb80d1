"""Every block of Python in the README and in the pages for users runs as it is printed."""

from __future__ import annotations

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from gradfuzz.program import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.testing import InconclusiveWarning
from gradfuzz.testing.fixture import Fuzzer

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
X, W = torch.linspace(-1.2, 1.3, 12, dtype=torch.float64).reshape(3, 4), torch.linspace(-0.7, 0.9, 8, dtype=torch.float64).reshape(4, 2)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def hurried(text):
    """The block with smaller budgets: what is tested is that it runs."""
    for long, short in (
        ('"aot_eager", ', ""),
        ('budget="20s"', "budget=3"),
        ("samples=2000, seconds=20", "samples=260"),
        ("samples=500", "samples=60"),
        ("check_leaks(training_step)", "check_leaks(training_step, runs=20)"),
        ("check_leaks(f, x, library=adapter)", "check_leaks(f, x, library=adapter, runs=20)"),
    ):
        text = text.replace(long, short)
    return text


class Value:
    """A class of single numbers, as the page assumes that somebody has one."""

    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents = float(getattr(data, "data", data)), 0.0, parents

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    __radd__ = __add__

    def backward(self, grad=1.0):
        self.grad += grad
        for parent, slope in self.parents:
            parent.backward(grad * slope)


@pytest.fixture
def package(monkeypatch):
    """The package that the page speaks of."""
    ops = types.ModuleType("mypackage.ops")

    def forward(ctx, x, factor):
        ctx.factor = factor
        return factor * x

    def old_forward(ctx, x):
        return 2 * x

    def made(name, forward, backward):
        parts = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": ops.__name__}
        return type(name, (torch.autograd.Function,), parts)

    ops.Scale = made("Scale", forward, lambda ctx, g: (ctx.factor * g, None))
    ops.Old = made("Old", old_forward, lambda ctx, g: 3 * g)
    monkeypatch.setitem(sys.modules, "mypackage", types.ModuleType("mypackage"))
    monkeypatch.setitem(sys.modules, "mypackage.ops", ops)


def test_the_page_on_peoples_own_gradients_runs_from_top_to_bottom(package):
    names = {"x": X, "w": W, "Value": Value, "torch": torch}
    given = {
        "two_oracles(": {"my_softmax": lambda x: torch.softmax(x, -1), "adapter": "torch", "x": X.numpy()},
        "check_leaks(": {"f": torch.sin, "x": X, "adapter": "torch", "training_step": lambda: None},
    }
    fuzzer = Fuzzer("docs", 3, 0, {}, None)
    settings.register_profile("docs", max_examples=3)
    settings.load_profile("docs")
    ran = 0
    for text in blocks("docs/own-gradients.md"):
        here = dict(names) | next((extra for word, extra in given.items() if word in text), {})
        if "np.vectorize" in text:
            here["np"] = np
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconclusiveWarning)
            exec(compile(hurried(text), "docs/own-gradients.md", "exec"), here)
            for name in [n for n in here if n.startswith("test_") and n not in names]:
                test = here[name]
                if name == "test_known":
                    with pytest.raises(AssertionError):
                        test(fuzzer)
                elif "gradfuzz" in test.__code__.co_varnames[: test.__code__.co_argcount]:
                    test(fuzzer)
                else:
                    test()
                ran += 1
        names |= {k: v for k, v in here.items() if k not in ("x", "w", "adapter") and not k.startswith("test_")}
    settings.load_profile("default")
    assert ran == 5


def test_the_programs_of_the_readme_are_programs():
    texts = blocks("README.md")
    assert texts
    for text in texts:
        parse(text, language_for("torch", ("myops",)))


def test_every_command_that_the_pages_name_exists():
    from gradfuzz.cli.app import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands} | {g.name for g in app.registered_groups}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    named = {
        word
        for page in pages
        for word in re.findall(r"(?:`|^    )gradfuzz ([a-z][a-z-]+)\b", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert "scan" in named
    assert named <= known, sorted(named - known)


FOUND = ROOT / "docs" / "found"


@pytest.mark.parametrize("page", sorted(str(p.relative_to(FOUND)) for p in (*FOUND.glob("*.md"), *FOUND.glob("packages/*.md"))))
def test_the_programs_on_pages_of_what_was_found_are_python(page):
    for text in blocks(f"docs/found/{page}"):
        compile(text, page, "exec")
