"""The sweep and the graphs know no library: what works on one target works on the others."""

import subprocess
import sys

import pytest

OPS = {"jax": ("jax.numpy.sin", "jax.numpy.tanh"), "tensorflow": ("tf.sin", "tf.tanh")}


@pytest.mark.parametrize("target", OPS)
def test_chains_and_their_gradients(target, tmp_path):
    pytest.importorskip(target)
    ops = [part for op in OPS[target] for part in ("--op", op)]
    command = ["chain", target, *ops, "--gradients", "--points", "6", "--workers", "1", "--timeout", "60s", "--verbose"]
    done = subprocess.run([sys.executable, "-m", "gradfuzz", *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 chains" in done.stdout
    assert "Testing gradient of y = _gradient(sin(tanh(x)))" in done.stdout.splitlines()
