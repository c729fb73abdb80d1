"""Where a derivative raises, the direct run stands by itself in two processes, or nothing is held against the derivative."""

import json
import subprocess
import sys

from tests.conftest import PLANTED

SEED = 'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{}(x)\n'


def gradfuzz(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


def test_an_error_beside_a_direct_run_that_differs_is_no_finding_and_its_healthy_twin_is(tmp_path):
    (tmp_path / "planted_torch.py").write_text((PLANTED / "planted_torch.py").read_text())
    names = ("raises_in_backward", "raises_beside_another_output")
    (tmp_path / "seeds.py").write_text("\n".join(map(SEED.format, names)))
    done = gradfuzz("run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", 1, "--mutants", 40, cwd=tmp_path)
    assert done.returncode == 1, done.stderr + done.stdout
    (found,) = json.loads(gradfuzz("findings", "--json", cwd=tmp_path).stdout)
    assert found["api"] == "planted_torch.raises_in_backward" and found["kind"] == "status"
    everything = json.loads(gradfuzz("findings", "--json", "--all", cwd=tmp_path).stdout)
    (other,) = [f for f in everything if f["api"] == "planted_torch.raises_beside_another_output"]
    assert not other["confirmed"] and "other numbers in another process" in other["unsound"]
    assert "unsound direct run" in gradfuzz("findings", "--all", cwd=tmp_path).stdout
