"""Findings are what people call: a primitive's bind gives way to the public function that shows the same, odd numbers to a domain's own."""

import pytest

from gradfuzz.findings.inside.presentable import presentable
from gradfuzz.findings.inside.public import public
from gradfuzz.program import parse, to_text
from gradfuzz.program.values import materialise

X = 'x = tensor((2,), "float64", listed([1.0, 2.0]))\n'
CASES = [
    ("jax.lax.lgamma_p.bind(x)", "jax.lax.lgamma(x)"),
    ("jax.lax.cumsum_p.bind(x, axis=0, reverse=False)", "jax.lax.cumsum(x, axis=0, reverse=False)"),
]


@pytest.mark.parametrize("internal, wanted", CASES)
def test_a_primitive_becomes_the_function_of_its_name(jax_target, internal, wanted):
    program = parse(f"{X}y = {internal}\n", jax_target.language)
    api, found = public(jax_target, program.api, program, lambda p: jax_target.point(p).first() is not None)
    assert to_text(found) == f"{X}y = {wanted}\n" and api == wanted.partition("(")[0]


def test_it_stays_where_no_other_name_shows_it(jax_target):
    program = parse(f"{X}y = jax.lax.lgamma_p.bind(x)\n", jax_target.language)
    assert public(jax_target, program.api, program, lambda p: False) == (program.api, program)


def test_what_is_public_is_left_alone(jax_target):
    program = parse(f"{X}y = jax.numpy.sin(x)\n", jax_target.language)
    assert public(jax_target, program.api, program, lambda p: True) == (program.api, program)


def test_probabilities_are_between_zero_and_one_where_that_shows_it(jax_target):
    text = 'k = tensor((2,), "float64", listed([2.0, 3.0]))\np = tensor((2,), "float64", listed([2.0, 3.0]), grad=False)\ny = {}(k, 2, p)\n'
    program = parse(text.format("jax.scipy.stats.nbinom.pmf"), jax_target.language)
    shown = presentable(jax_target, program.api, program, lambda p: True)
    assert ((materialise(shown.inputs["p"]) > 0) & (materialise(shown.inputs["p"]) < 1)).all()
    assert shown.inputs["k"] == program.inputs["k"]
    assert presentable(jax_target, program.api, program, lambda p: materialise(p.inputs["p"]).max() > 1) is program
