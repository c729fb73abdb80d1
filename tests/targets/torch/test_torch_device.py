"""PyTorch on a device that is named: the processor itself, and one that is not here."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target

pytest.importorskip("torch")


def test_what_runs_on_another_device_is_the_same_and_a_device_that_is_not_here_is_unsupported():
    target = load_target("torch")
    made = parse('x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\ny = torch.exp(x)\n', target.language)
    seen = examine(target, made, Options(2, device="cpu"))
    assert seen.outcome == "agree", [(v.names, v.kind, v.reason) for v in seen.findings]
    assert [s for s in seen.trial.outcomes if s.device == "cpu" and s.order == 2]
    missing = examine(target, made, Options(2, device="xpu"))
    assert not missing.findings
