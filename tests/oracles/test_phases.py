"""Complex decompositions of a real library: their vectors are free up to a phase, and what no phase changes is judged."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

CALLS = {
    "torch.linalg.eigh(x)": ', structure="symmetric"',
    "torch.linalg.svd(x)": "",
    "torch.linalg.svd(x, full_matrices=False)": "",
}


@pytest.mark.parametrize("call", CALLS)
def test_what_no_phase_changes_is_judged(torch_target, call):
    text = f'x = tensor((3, 3), "complex128", normal(seed=1){CALLS[call]})\ny = {call}\n'
    seen = examine(torch_target, parse(text, torch_target.language), Options(order=1))
    assert [(v.outcome, v.reason) for v in seen.verdicts] == [("agree", "in all that no choice of phases changes")]
