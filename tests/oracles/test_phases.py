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


@pytest.mark.parametrize(
    "text",
    [
        'x = tensor((3, 3), "complex128", scaled(normal(seed=3), 1e20))\nu, s, v = torch.linalg.svd(x)\n',
        'x = tensor((3, 3), "complex128", planted(normal(seed=4), 1e18, 3))\nw, v = torch.linalg.eig(x)\n',
    ],
)
def test_huge_entries_accuse_no_vectors(torch_target, text):
    """What cancels between phases is rounded to more than is left of it; and steps as long as a huge entry leave the others behind."""
    for salt in range(3):
        assert not examine(torch_target, parse(text, torch_target.language), Options(order=1, salt=salt)).findings
