"""What JAX's functions mean, held against its own values and derivatives at ordinary numbers."""

import pytest

from tests.reference.asking import ask, verdicts

X = 'x = tensor((3,), "float64", {})\na = tensor((3,), "float64", uniform(0.5, 3.0, seed=6), grad=False)\ny = {}\n'
POSITIVE, ORDINARY = "uniform(0.2, 2.5, seed=5)", "normal(seed=5)"
STATS = "jax.scipy.stats"
SAME = [
    *[(POSITIVE, f"{STATS}.{law}.{kind}(x, a)") for law in ("gamma", "chi2") for kind in ("cdf", "sf", "logcdf", "logsf")],
    (ORDINARY, f"{STATS}.gennorm.logpdf(x, a)"),
    (ORDINARY, f"{STATS}.gennorm.cdf(x, a)"),
    (ORDINARY, f"{STATS}.laplace.cdf(x)"),
    (ORDINARY, f"{STATS}.expon.cdf(x)"),
    (ORDINARY, "jax.scipy.special.beta(x, a)"),
    (ORDINARY, "jax.scipy.special.owens_t(x, a)"),
]


@pytest.mark.parametrize("values, text", SAME)
def test_values_and_derivatives_are_the_library_s(jax_target, values, text):
    found = ask(jax_target, X.format(values, text), most=6)
    wrong = [e for e in found["entries"] if e["verdict"] == "wrong" and e["correct"] < 9]
    assert "right" in verdicts(found) and not wrong, found


def test_a_derivative_is_right_although_the_value_has_lost_its_digits(jax_target):
    """Owen's T is summed at ten points, which at 23 is off by 8 %; its derivative has a closed form."""
    numbers = 'x = tensor((), "float64", full(23.0))\na = tensor((), "float64", full(0.9))\n'
    assert verdicts(ask(jax_target, f"{numbers}y = jax.scipy.special.owens_t(x, a)\n")) == {"right"}


@pytest.mark.parametrize("kind", ["cdf", "sf", "logsf"])
def test_a_law_is_constant_where_nothing_falls(jax_target, kind):
    found = ask(jax_target, X.format("uniform(-2.5, -0.2, seed=5)", f"{STATS}.gamma.{kind}(x, a)"), most=6)
    assert {e["exact"] for e in found["entries"]} == {"0"}, found


@pytest.mark.parametrize("text", ["jax.scipy.linalg.lu(m)", "jax.scipy.linalg.lu_factor(m)", "jax.lax.linalg.lu(m)"])
def test_factors_are_the_library_s(jax_target, text):
    found = ask(jax_target, f'm = tensor((3, 3), "float64", normal(seed=5))\ny = {text}\n', most=6)
    assert verdicts(found) == {"right"}, found


SETS = ("unique(x)", "unique_values(x)", "unique_counts(x)", "unique_all(x)", "union1d(x, a)", "setxor1d(x, a)", "setdiff1d(x, a)")


@pytest.mark.parametrize("text", SETS)
def test_distinct_numbers_are_moved_into_order(jax_target, text):
    """JAX computes them without derivatives. Equal numbers are told once, and nothing is known of them."""
    program = X.format("listed([0.3, -1.2, 0.8])", f"jax.numpy.{text}")
    found = ask(jax_target, program)
    assert {e["exact"] for e in found["entries"] if e["verdict"] == "wrong"} == {"1.0000000000000000000"}, found
    assert "entries" not in ask(jax_target, program.replace("-1.2", "0.8"))
