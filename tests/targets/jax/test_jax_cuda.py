"""JAX on an NVIDIA GPU against the processor. Without one these tests are skipped, and say so."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

jax = pytest.importorskip("jax")


pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu():
    try:
        jax.devices("gpu")
    except RuntimeError:  # no such platform
        pytest.skip("NOT TESTED: JAX sees no NVIDIA GPU here; run `pytest -m gpu` where it does")


@pytest.mark.parametrize("call", ["jax.numpy.exp(x)", "jax.numpy.matmul(x, x.T)", "jax.numpy.linalg.norm(x)"])
def test_healthy_functions_agree_on_the_device(jax_target, call):
    text = f'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\ny = {call}'
    looked = examine(jax_target, parse(text, jax_target.language), Options(2, device="gpu"))
    assert looked.outcome == "agree", [v.reason for v in looked.findings]
    assert any(s.device == "gpu" and s.order >= 1 for s in looked.trial.outcomes)
