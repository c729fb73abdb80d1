"""A function that a loop or a reduction was given is named, where it shows the same by itself."""

import pytest

from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.given import functions_given
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target


@pytest.fixture(scope="module")
def jax_target():
    pytest.importorskip("jax")
    return load_target("jax")


def reduced(target, given):
    return parse(f'x = tensor((2,), "float64", full(2.0))\ny = jax.lax.reduce(x, 0.0, {given}, (0,))\n', target.language)


def test_the_function_that_was_given_is_the_one_at_fault(jax_target):
    """The second derivative of hypot is zero where both numbers are one; a reduction passes that on."""
    program, options = reduced(jax_target, "jax.numpy.hypot"), Options(order=2)
    verdict = next(v for v in examine(jax_target, program, options).findings if v.order == 2)
    seen = confirm(jax_target, Suspicion(program.api, program, (), options, verdict), 8.0)
    assert seen is not None and seen.api == "jax.numpy.hypot"
    assert {call.func for call in seen.program.calls()} == {"jax.numpy.hypot"}


def test_types_are_no_functions_that_were_given(jax_target):
    assert functions_given(jax_target, reduced(jax_target, "jax.numpy.hypot")) == ["jax.numpy.hypot"]
    text = 'x = tensor((2,), "float64", full(2.0))\ny = jax.numpy.sum(x, dtype=jax.numpy.float64)\n'
    assert functions_given(jax_target, parse(text, jax_target.language)) == []
