"""PyTorch on an NVIDIA GPU against the processor. Without one these tests are skipped, and say so."""

import sys

import pytest

from gradfuzz.errors import Poisoned
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target
from tests.conftest import PLANTED

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="NOT TESTED: there is no NVIDIA GPU here; run `pytest -m gpu` where there is one"
    ),
]

X = 'x = tensor((2, 3), "{dtype}", uniform(0.5, 1.5, seed=1))\n'


@pytest.fixture(scope="module")
def target():
    sys.path.insert(0, str(PLANTED))
    return load_target("torch", ("planted_ways",))


def seen(target, call, dtype="float64"):
    return examine(target, parse(X.format(dtype=dtype) + f"y = {call}\n", target.language), Options(2, device="cuda"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("call", ["torch.exp(x)", "torch.matmul(x, x.mT)", "torch.linalg.vector_norm(x, 0.9)", "torch.cumprod(x, 1)"])
def test_healthy_operators_agree_on_the_device(target, call, dtype):
    looked = seen(target, call, dtype)
    assert looked.outcome == "agree", [v.reason for v in looked.findings]
    assert any(s.device == "cuda" and s.order >= 1 for s in looked.trial.outcomes)


def test_a_bug_that_shows_on_the_device_alone_is_caught(target):
    found = seen(target, "planted_ways.on_a_device(x)").findings
    assert found and all(s.device == "cuda" for v in found for s in v.scenarios)


@pytest.mark.slow
def test_an_error_of_the_device_ends_the_worker(target):
    """It poisons this process, too: run by itself."""
    with pytest.raises(Poisoned):
        seen(target, "planted_ways.asserts_on_a_device(x)")
