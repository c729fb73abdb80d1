"""A bug that shows everywhere is called ordinary however small its example is; one that shows at a point is not."""

import numpy as np
import pytest

from gradfuzz.findings.inside.confirm import Confirmed, confirm
from gradfuzz.findings.inside.neighbours import neighbours, shares_of_one
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.program.values import materialise
from gradfuzz.targets.homes import language_for, load_target


def test_neighbours_are_not_empty_of_one_type_and_of_ordinary_numbers():
    text = (
        'x = tensor((2, 0), "float16", listed([0.0]))\na = tensor((), "complex64", full(1e30), structure=None)\n'
        'n = tensor((2,), "uint8", full(1.0))\ni = tensor((0,), "int64", listed([1]), grad=False)\ny = torch.add(x, a)\n'
    )
    found = list(neighbours(parse(text, language_for("torch"))))
    assert len(found) == len({str(p) for p in found}) == 3
    for program in found:
        recipes = program.inputs
        assert {recipes[name].dtype for name in "xan"} == {"float64"} and recipes["i"].dtype == "int64"
        assert all(r.elements for r in recipes.values()) and recipes["x"].shape == (2, 2)
        numbers = np.concatenate([materialise(recipes[name]).ravel() for name in "xan"])
        assert (np.abs(numbers) > 1e-3).all() and (np.abs(numbers) < 3).all() and len(np.unique(numbers)) == numbers.size


def test_a_single_number_is_drawn_several_times():
    """A function in pieces may be wrong in one of them alone, which one number of a range does not meet."""
    one = list(neighbours(parse('x = tensor((), "float64", full(1.0))\ny = torch.sin(x)\n', language_for("torch"))))
    numbers = [float(materialise(p.inputs["x"])) for p in one]
    assert len(set(numbers)) == 12 and sum(1.1 < x < 2.0 for x in numbers) and sum(x > 2.0 for x in numbers)
    four = parse('x = tensor((4,), "float64", full(1.0))\ny = torch.sin(x)\n', language_for("torch"))
    assert len(list(neighbours(four))) == 3


def test_what_is_complex_throughout_stays_so():
    text = 'x = tensor((2,), "complex64", full(1.0))\ny = torch.sin(x)\n'
    assert {p.inputs["x"].dtype for p in neighbours(parse(text, language_for("torch")))} == {"complex128"}


def test_probabilities_are_ordinary_between_zero_and_one_alone():
    """By the names of parameters: a probability of two shows nothing about anybody's numbers."""
    pytest.importorskip("jax")
    jax = load_target("jax")
    text = 'x = tensor((3,), "float64", full(2.0))\na = tensor((3,), "float64", full(2.0))\ny = jax.scipy.stats.{}(x, a)\n'
    bernoulli, norm = (parse(text.format(name), jax.language) for name in ("bernoulli.logpmf", "norm.logpdf"))
    assert shares_of_one(jax, bernoulli) == {"a"} and not shares_of_one(jax, norm)
    numbers = [{name: materialise(r) for name, r in p.inputs.items()} for p in neighbours(bernoulli, {"a"})]
    assert all(((n["a"] > 0) & (n["a"] < 1)).all() for n in numbers) and any((n["x"] > 1).all() for n in numbers)


def confirmed(target, text, kind):
    program = parse(text, target.language)
    options = Options(order=1)
    verdict = next(v for v in examine(target, program, options).findings if v.kind == kind)
    seen = confirm(target, Suspicion(program.api, program, (), options, verdict), 1.0)
    assert seen is not None and Confirmed.from_json(seen.to_json()).ordinary is seen.ordinary
    return seen


@pytest.mark.parametrize("text, kind, ordinary", [
    ('x = tensor((2,), "float64", full(3.0))\ny = planted_torch.wrong_backward(x)\n', "gradient", True),
    ('x = tensor((3,), "float64", listed([2.0, 3.0, 4.0]))\ny = torch.nextafter(x, x)\n', "gradient", False),
    ('x = tensor((), "float64", full(0.0))\nz = torch.mul(x, x)\nw = torch.mul(z, z)\ny = torch.sqrt(w)\n', "nonfinite", False),
])  # fmt: skip
def test_a_bug_is_looked_for_at_ordinary_numbers(torch_target, text, kind, ordinary):
    assert confirmed(torch_target, text, kind).ordinary is ordinary


def test_two_inputs_are_now_the_one_larger_and_now_the_other():
    text = 'x = tensor((), "float64", full(0.0))\na = tensor((), "float64", full(0.0))\ny = torch.clip(x, a)\n'
    found = [[float(materialise(r)) for r in p.inputs.values()] for p in neighbours(parse(text, language_for("torch")))]
    assert {x < a for x, a in found} == {True, False}


def test_what_stands_in_two_places_is_two_tensors_of_ordinary_numbers():
    """Equal arguments are a point that functions are special at, and no numbers that people have by chance."""
    text = 'x = tensor((2,), "float64", full(3.0))\ny = torch.addcmul(x, x, x)\n'
    for neighbour in neighbours(parse(text, language_for("torch"))):
        assert len(neighbour.inputs) == 3 and len({tuple(materialise(r)) for r in neighbour.inputs.values()}) == 3


def test_labels_stay_what_they_are():
    text = (
        'x = tensor((3,), "float64", full(0.0))\nt = tensor((3,), "float64", listed([-1.0, 1.0, 1.0]), grad=False)\n'
        'w = tensor((3,), "float64", full(1.0))\ny = torch.nn.functional.soft_margin_loss(w * x, t)\n'
    )
    for neighbour in neighbours(parse(text, language_for("torch"))):
        assert materialise(neighbour.inputs["t"]).tolist() == [-1.0, 1.0, 1.0]
        assert len(set(materialise(neighbour.inputs["w"]).tolist())) == 3
