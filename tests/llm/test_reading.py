"""Python as models write it, read into Programs: what becomes of each habit, and what is refused however it is wrapped."""

from __future__ import annotations

import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.llm.answers import parameter_sets_of, programs_of
from gradfuzz.llm.limits import Limits
from gradfuzz.llm.parameters import apply_set, places
from gradfuzz.llm.reading import read_program
from gradfuzz.llm.reading.idioms import idioms_for
from gradfuzz.llm.refused import LANGUAGE, LIMITS, NO_ANSWER, NOT_JSON, TRUNCATED, TYPES, Refused
from gradfuzz.llm.vet import changed, program_of
from gradfuzz.program import parse, to_text

TORCH, JAX, TF = (idioms_for(name) for name in ("torch", "jax", "tensorflow"))


def read(text, idioms=TORCH):
    return to_text(read_program(text, idioms))


X = "x = torch.randn(2, 3)\n"


@pytest.mark.parametrize(
    "text, lines",
    [
        (X + "y = torch.sin(x)", ['x = tensor((2, 3), "float64", normal(0.0, 1.0, seed=1))', "y = torch.sin(x)"]),
        ("import torch as t\nx = t.rand(size=(2,))\ny = t.exp(x)", ['x = tensor((2,), "float64", uniform(0.0, 1.0, seed=1))']),
        ("x = torch.rand(4) * 2 - 1\ny = x.exp()", ['x = tensor((4,), "float64", uniform(-1.0, 1.0, seed=1))']),
        ("x = torch.zeros(2, dtype=torch.float16)\ny = x.exp()", ['x = tensor((2,), "float16", full(0.0))']),
        ("x = torch.tensor([[1, 2], [3, 4]]).double()\ny = x.exp()", ['x = tensor((2, 2), "float64", listed([1, 2, 3, 4]))']),
        ("x = torch.arange(3).float()\ny = x.exp()", ['x = tensor((3,), "float64", listed([0, 1, 2]))']),
        ("x = torch.randint(5, (2,))\nw = torch.rand(5)\ny = w[x]", ['x = tensor((2,), "int64", integers(0, 5, seed=1))', "y = w[x]"]),
        ("x = torch.randint(low=1, high=4, size=(2, 2))\nw = torch.rand(5)\ny = w[x]", ["integers(1, 4, seed=1)"]),
        ("a = b = torch.ones(2)\ny = a * b", ['a = tensor((2,), "float64", full(1.0))', "y = a * a"]),
        ("n = 2\nm = n ** 2 + 1\nx = torch.ones(n, m)\ny = x.sum(-1)", ['x = tensor((2, 5), "float64", full(1.0))', "y = x.sum(-1)"]),
        (X + "d = x.shape[-1]\ny = x / d ** 0.5", ["y = x / 1.7320508075688772"]),
        (X + "import math\ny = x / math.sqrt(x.size(1))", ["y = x / 1.7320508075688772"]),
        (X + "x = torch.relu(x)\nx = x + 1", ["x_2 = torch.relu(x)", "x_3 = x_2 + 1"]),
        (X + "tensor = torch.exp(x)\nfull = tensor + 1", ["tensor_2 = torch.exp(x)", "full_2 = tensor_2 + 1"]),
        (X + "y = torch.exp(x)\nz = torch.sin(x)\ny.sum().backward()", ["y = torch.exp(x)", "y_2 = y.sum()"]),
        (X + "y = torch.exp(x)\nok = torch.allclose(y, y)\nprint(ok)", ["y = torch.exp(x)"]),
        (X + "g = torch.autograd.grad(torch.exp(x).sum(), x)", ["y = torch.exp(x).sum()"]),
        (X + "y = x.clone()\ny = y.mul_(2)", ["y = x.mul_(2)"]),
        (X + "z = torch.exp(x)\nz.add_(1.0)\nw = torch.log(z)", ["z = torch.exp(x)", "z.add_(1.0)", "w = torch.log(z)"]),
        (X + "y = torch.nn.Linear(3, 2)(x)", ["m = torch.nn.Linear(3, 2)", "y = m(x)"]),
        (X + "y = torch.cat([x, x], dim=0)[:, 1:]", ["y = torch.cat([x, x], dim=0)[:, 1:]"]),
        (X + "y = x if True else None\nz = torch.exp(y)", ["z = torch.exp(x)"]),
        (X + "with torch.no_grad():\n    w = torch.ones(3)\ny = x @ w", ["y = x @ w"]),
        (X + "try:\n    y = torch.exp(x)\nexcept RuntimeError as e:\n    print(e)", ["y = torch.exp(x)"]),
        (X + "y = torch.full_like(x, 2.0) ** x", ['tensor((2, 3), "float64", full(2.0))', "y = x ** x_2"]),
        ("x = torch.tensor(float('nan'))\ny = x.exp()", ['x = tensor((), "float64", full(float("nan")))']),
        ('x = tensor([2, 3], "float32", uniform(low=-1, high=1))\ny = torch.exp(x)', ['x = tensor((2, 3), "float32", uniform(-1, 1))']),
        ("def f(x, p=2):\n    return x ** p\nx = torch.ones(2)\ny = f(x, p=3)", ["y = x ** 3"]),
        ("f = lambda a, *r: a + r[0]\nx = torch.ones(2)\ny = f(x, x)", ["y = x + x"]),
    ],
)  # fmt: skip
def test_habits(text, lines):
    found = read(text)
    for line in lines:
        assert line in found, found


def test_what_the_text_differentiates_is_what_is_differentiated():
    found = read_program("a = torch.rand(2, requires_grad=True)\nb = torch.rand(2)\ny = a * b", TORCH)
    assert [recipe.grad for recipe in found.inputs.values()] == [True, False]
    found = read_program("a = torch.rand(2)\nb = torch.rand(2)\ny = a * b", TORCH)
    assert [recipe.grad for recipe in found.inputs.values()] == [True, True]


def test_keys_and_splits_have_no_part_in_what_is_computed():
    text = "key = jax.random.PRNGKey(0)\nkey, sub = jax.random.split(key)\nx = jax.random.normal(sub, (3,))\ny = jnp.sin(x)"
    assert read(text, JAX) == 'x = tensor((3,), "float64", normal(0.0, 1.0, seed=1))\ny = jax.numpy.sin(x)\n'


def test_a_tape_is_looked_through():
    text = "x = tf.Variable([1.0, 2.0])\nwith tf.GradientTape() as t:\n    y = x * x\ng = t.gradient(y, x)\nprint(g)"
    assert read(text, TF).endswith("y = x * x\n")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("import os\n" + X + "y = torch.sin(x)", "import of os"),
        ("from os import path\n" + X + "y = torch.sin(x)", "import of os"),
        ("import torch.utils.cpp_extension as c\n" + X + "y = torch.sin(x)", "it loads or runs code"),
        (X + "y = torch.sin(x)\nz = torch.load('f')", "it reaches files"),
        (X + "f = torch.load\ny = torch.sin(x)", "it reaches files"),
        (X + "y = torch.sin(x)\nprint(open('f'))", "open is not part of the language"),
        (X + "y = torch.sin(x)\nassert y.__class__", "private names"),
        (X + "if False:\n    import os\ny = torch.sin(x)", "an import inside other code"),
        (X + "y = torch.sin(x)\nx.numpy().tofile('f')", "it reaches files"),
        (X + "y = eval('x')", "eval is neither assigned nor a name"),
        (X + "y = ().__class__", "attribute __class__ of a plain value"),
        (X + "y = x.__class__", "attribute __class__ is not part of the language"),
        (X + "y = torch.sin(x)\n" + "y = torch.sin(y)\n" * 70, "calls; the limit is 64"),
        (X + "for i in range(100):\n    x = x + 1", "rounds"),
        (X + "while True:\n    pass", "loop"),
        ("n = 10 ** 10 ** 10\n" + X + "y = torch.sin(x)", "a power of more than 64"),
        ("n = [0] * 10 ** 9\n" + X + "y = torch.sin(x)", "list of more than 4096"),
        ("class A:\n    pass\n" + X + "y = torch.sin(x)", "a class of your own"),
        (X + "x[0] = 1\ny = torch.sin(x)", "assignment to an item"),
        ("def f(x):\n    return f(x)\n" + X + "y = f(x)", "more than 12 deep"),
        (X + "y = " + "-" * 200 + "x", "nest deeper"),
        (X + "y = " + "(" * 5000 + "x" + ")" * 5000, "not Python"),
        (X + "σ = torch.sin(x)", "is not a name"),
        ("y = 1", "nothing is computed"),
        ("def f(x):\n    return torch.sin(x)", "never called"),
        ("x" * 30_000, "the limit is 20000"),
        ("\x00", "not Python"),
    ],
)
def test_what_is_refused_and_why(text, reason):
    with pytest.raises(ProgramError, match=reason) as caught:
        read(text)
    assert str(caught.value).isprintable()


# Answers -------------------------------------------------------------------------------------------------------------------

CODE = "x = torch.ones(2)\ny = torch.exp(x)\n"


@pytest.mark.parametrize(
    "content",
    [
        '{"programs": [{"code": "x = torch.ones(2)\\ny = torch.exp(x)", "note": ""}]}',
        'Sure!\n```json\n{"programs": [{"code": "x = torch.ones(2)\\ny = torch.exp(x)"}]}\n```\nEnjoy.',
        f"```python\n{CODE}```",
        f"<think>hm, {{}}</think>```\n{CODE}```",
        CODE,
        '{"code": "```python\\nx = torch.ones(2)\\ny = torch.exp(x)\\n```"}',
        '{"programs": [{"code": "x = torch.ones(2)\\ny = torch.exp(x)"}, {"code": "x = torch.o',
        "{'programs': [{'code': 'x = torch.ones(2)\\ny = torch.exp(x)'}]}",
        '{"programs": [{"code": "x = torch.ones(2)\ny = torch.exp(x)",},]}',
        '["x = torch.ones(2)\\ny = torch.exp(x)"]',
        f"```python\n{CODE}",
    ],
)
def test_programs_are_found_whatever_they_are_wrapped_in(content):
    assert programs_of(content) == [CODE]


@pytest.mark.parametrize(
    "content, finish, reason",
    [
        ("", "stop", NO_ANSWER),
        ("   ", "stop", NO_ANSWER),
        ("I cannot help with that.", "stop", NOT_JSON),
        ('{"programs": [{"code": "x = ', "length", TRUNCATED),
        ("[" * 100_000, "stop", NOT_JSON),
        ('{"a":' * 50_000, "stop", NOT_JSON),
        ("x" * 500_000, "stop", NOT_JSON),
        ("null", "stop", NOT_JSON),
        ('{"programs": {"programs": []}}', "stop", NOT_JSON),
    ],
)
def test_answers_without_programs_say_why(content, finish, reason):
    for read_answer in (programs_of, parameter_sets_of):
        with pytest.raises(Refused) as caught:
            read_answer(content, finish)
        assert caught.value.reason == reason


# Parameters and limits -------------------------------------------------------------------------------------------------------

BASE = parse(
    'x = tensor((2, 3), "float64", normal(seed=1))\ni = tensor((2,), "int64", listed([0, 1]))\n'
    'y = torch.nn.functional.softplus(x, beta=2.0)[i].sum(dim=(0, 1), keepdim=True).norm("fro")',
    TORCH.language,
)


def test_the_places_of_a_program_have_names():
    assert [(p.name, p.argument, p.value) for p in places(BASE)] == [
        ("p1", "beta", 2.0), ("p2", "dim", (0, 1)), ("p3", "keepdim", True), ("p4", "argument 2", "fro"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data, text",
    [
        ({"arguments": [{"name": "p1", "value": "1e-9"}]}, "beta=1e-09"),
        ({"arguments": {"beta": 3}}, "beta=3"),
        ({"arguments": [{"name": "p1", "value": "-inf"}]}, 'beta=float("-inf")'),
        ({"arguments": [{"name": "keepdim", "value": "false"}]}, "keepdim=False"),
        ({"arguments": [{"name": "p4", "value": "nuc"}]}, '.norm("nuc")'),
        ({"arguments": [{"name": "dim", "value": "[0]"}]}, "dim=[0]"),
        ({"inputs": [{"name": "x", "shape": [4], "dtype": "float32", "values": "full(1e-3)"}]}, 'x = tensor((4,), "float32", full(0.001))'),
        ({"inputs": [{"name": "x", "shape": [2], "dtype": "torch.float64", "values": "[0.0, 1/3]"}]}, "listed([0.0, 0.3333333333333333])"),
        ({"inputs": {"x": [[1.0], [2.0]]}}, "x = tensor((2, 1)"),
        ({"inputs": {"x": "inf"}}, 'full(float("inf"))'),
    ],
)
def test_parameter_sets_change_a_program(data, text):
    assert text in to_text(apply_set(BASE, data, TORCH.language))


@pytest.mark.parametrize(
    "data, reason",
    [
        ([], NOT_JSON),
        ({}, NOT_JSON),
        ({"inputs": [{"name": "z", "values": "full(0.0)"}]}, NOT_JSON),
        ({"inputs": "x"}, NOT_JSON),
        ({"arguments": [{"name": "p1", "value": "'word'"}]}, TYPES),
        ({"arguments": [{"name": "p3", "value": "2"}]}, TYPES),
        ({"arguments": [{"name": "p4", "value": 2}]}, TYPES),
        ({"arguments": [{"name": "p1", "value": "torch.load('f')"}]}, LANGUAGE),
        ({"arguments": [{"name": "p1", "value": "x"}]}, LANGUAGE),
        ({"inputs": [{"name": "i", "dtype": "float64"}]}, TYPES),
        ({"inputs": [{"name": "x", "dtype": "object"}]}, TYPES),
        ({"inputs": [{"name": "x", "shape": ["2"]}]}, TYPES),
        ({"inputs": [{"name": "x", "shape": [1000]}]}, LIMITS),
        ({"inputs": [{"name": "x", "shape": [-1]}]}, LANGUAGE),
        ({"inputs": [{"name": "x", "values": "exec('1')"}]}, LANGUAGE),
        ({"inputs": [{"name": "x", "values": "normal(exec('1'))"}]}, LANGUAGE),
        ({"inputs": [{"name": "x", "values": {"kind": "listed", "args": [[1, "a"]]}}]}, LANGUAGE),
        ({"inputs": [{"name": "x", "layout": "nowhere"}]}, LANGUAGE),
    ],
)
def test_parameter_sets_that_are_refused(data, reason):
    with pytest.raises(Refused) as caught:
        changed(BASE, data, TORCH, Limits())
    assert caught.value.reason == reason, caught.value


@pytest.mark.parametrize(
    "text, reason",
    [
        ("x = torch.ones(1000)\ny = x.sum()", LIMITS),
        ("x = torch.ones(2)\ny = x.expand(1000, 2)", LIMITS),
        ("x = torch.ones(900, 900)\ny = x.repeat(900, 900)", LIMITS),
        ("x = torch.ones(2)\ny = x + torch.eye(999, 999).reshape(999, 999, 1, 999, 999)", LIMITS),
        ("i = torch.arange(3)\ny = i + 1", TYPES),
    ],
    ids=range(5),
)  # fmt: skip
def test_limits_are_checked_before_anything_runs(text, reason):
    with pytest.raises(Refused) as caught:
        program_of(text, TORCH, Limits())
    assert caught.value.reason == reason


def test_memory_is_of_all_tensors_together():
    text = "a = torch.ones(500, 500)\nb = torch.ones(500, 500)\ny = a + b"
    program_of(text, TORCH, Limits(memory=4))
    with pytest.raises(Refused, match="the tensors together may take 4 MB; the limit is 3 MB"):
        program_of(text, TORCH, Limits(memory=3))
