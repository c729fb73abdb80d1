"""Points that were reported once and judged to be no mistakes: AD is not accused there, and ordinary neighbours are judged."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

POINTS = {
    "a period below a unit": 'x = tensor((3,), "float64", scaled(normal(seed=1), 5e19))\ny = jax.numpy.unwrap(x)\n',
    "no fraction": 'x = tensor((3,), "float64", scaled(normal(seed=1), 3e19))\ny, z = jax.numpy.modf(x)\n',
    "a remainder of a whole number": (
        'x = tensor((3,), "float64", scaled(normal(seed=1), 3e19))\na = tensor((3,), "float64", full(2.0))\ny, z = jax.numpy.divmod(x, a)\n'
    ),
    "a remainder by fractions": (
        'x = tensor((3,), "float64", full(5e19))\na = tensor((3,), "float64", normal(seed=3))\ny, z = jax.numpy.divmod(x, a)\n'
    ),
    "a remainder in a loop": (
        'a = tensor((), "float64", full(5e19))\nx = tensor((3,), "float64", full(2.0))\ny, z = jax.lax.scan(jax.numpy.divmod, a, x)\n'
    ),
    "eigenvalues 1e-13 apart": (
        'x = tensor((3, 3), "float64", scaled(normal(seed=1), 1e-13))\n'
        'a = tensor((3, 3), "float64", listed([1.0, 0.0, 0.0, 0.0]), grad=False)\n'
        "y = jax.numpy.linalg.eigvals(jax.numpy.add(x, a))\n"
    ),
    "a cusp beside a tiny number": (
        'x = tensor((3,), "float64", listed([2e-16, 0.4, -1.0]))\na = tensor((3,), "float64", full(0.9))\n'
        "y = jax.scipy.stats.gennorm.pdf(x, a)\n"
    ),
    "a block that has no Schur form": (
        'x = tensor((2, 2), "float32", listed([0.0, 0.0, 1.0, 0.0]))\na = tensor((2, 2), "float32", listed([1.0, 0.0, 0.0, 1.0]))\n'
        "y, z = jax.scipy.linalg.rsf2csf(x, a)\n"
    ),
}


@pytest.mark.parametrize("name", POINTS)
def test_nobody_is_accused_where_there_is_nothing_to_see(jax_target, name):
    for salt in range(6):
        assert not examine(jax_target, parse(POINTS[name], jax_target.language), Options(order=1, salt=salt)).findings


@pytest.mark.parametrize("call", ["jax.numpy.unwrap(x)", "jax.numpy.divmod(x, 0.7)", "jax.scipy.stats.gennorm.pdf(x, 0.9)"])
def test_ordinary_neighbours_are_judged(jax_target, call):
    program = parse(f'x = tensor((3,), "float64", uniform(0.2, 0.6, seed=3))\ny = {call}\n', jax_target.language)
    assert examine(jax_target, program, Options(order=1)).outcome == "agree"


@pytest.mark.parametrize("power", [0.7, 0.8, 0.9])
def test_a_cusp_owes_nothing_but_the_zeros_of_forward_mode(jax_target, power):
    """To both sides of zero the slope is infinite, and -inf is as good as any answer. Along the other elements it is multiplied by zero."""
    text = f'x = tensor((3,), "float64", listed([0.0, 0.4, -1.0]))\ny = jax.scipy.stats.gennorm.pdf(x, {power})\n'
    for salt in range(6):
        found = examine(jax_target, parse(text, jax_target.language), Options(order=1, salt=salt)).findings
        assert {name for verdict in found for name in verdict.names} <= {"forward"}
