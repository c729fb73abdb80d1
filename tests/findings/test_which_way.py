"""Of two ways that differ either may be the wrong one: the reference says which, where it knows the function."""

import json
import subprocess
import sys

import pytest
import torch

from gradfuzz.targets.torch.leaks import LeftBehind, nothing_left

# In double precision PyTorch's own gradient is 1/6 as a number of single precision; the compiler's decomposition has all digits.
SEED = 'x = tensor((3,), "float64", listed([2.0, 1.0, -0.5]))\ny = torch.nn.functional.hardsigmoid(x)\n'


def gradfuzz(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


@pytest.mark.skipif(torch.__version__.split("+")[0] != "2.13.0", reason="another release may have mended hardsigmoid")
def test_where_the_way_is_right_what_it_was_held_against_is_the_finding(tmp_path):
    (tmp_path / "seeds.py").write_text(SEED)
    options = ("--ways", "decompositions", "--seeds", "seeds.py", "--order", 1, "--mutants", 40, "--workers", 1)
    assert gradfuzz("run", "torch", *options, cwd=tmp_path).returncode == 1
    (found,) = json.loads(gradfuzz("findings", "--json", cwd=tmp_path).stdout)
    assert found["kind"] == "accuracy" and "reverse" in found["scenarios"]
    (way,) = [f for f in json.loads(gradfuzz("findings", "--json", "--all", cwd=tmp_path).stdout) if f["kind"] == "way"]
    assert not way["confirmed"]


def test_whoever_leaves_hooks_of_saved_tensors_refused_is_named_and_it_is_mended():
    with pytest.raises(LeftBehind, match="hooks"), nothing_left():
        torch._C._autograd._saved_tensors_hooks_disable("not now")
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"), nothing_left():
        pass  # whoever is around it may have done so on purpose
