"""Inputs whose slices are one in memory: AD may share out their gradient among them; its sum is held against the derivative."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from tests.reference.asking import ask, scaled, verdicts

HEALTHY = {
    "a view of memory": 'x = tensor((2, 1), "float64", arange(1.0, 1.0), layout="expanded")\ny = torch.as_strided(x, (1,), (1,))\n',
    "frames that overlap": 'x = tensor((16,), "float64", arange(1.0, 1.0), layout="expanded")\n'
    "y = torch.stft(x, n_fft=16, center=False, return_complex=True)\n",
    "slices of their own": 'x = tensor((3, 2), "float64", normal(seed=1), layout="expanded")\ny = torch.cumprod(x, 0)\n',
    "symmetric matrices": 'x = tensor((2, 3, 3), "float64", normal(seed=1), layout="expanded", structure="symmetric")\n'
    "y = torch.linalg.eigvalsh(x)\n",
}
PLANTED = 'x = tensor((3, 2), "float64", uniform(0.5, 2.0, seed=1), layout="expanded")\ny = planted_torch.averaged(x)\n'


@pytest.mark.parametrize("name", HEALTHY)
def test_a_gradient_that_is_shared_out_is_right(torch_target, name):
    program = parse(HEALTHY[name], torch_target.language)
    for salt in range(3):
        looked = examine(torch_target, program, Options(order=2, salt=salt))
        assert not looked.findings and "agree" in {v.outcome for v in looked.verdicts}


def test_one_whose_sum_is_wrong_is_not(torch_target):
    """A mean over the slices in place of a sum: each of them is right up to how often it counts."""
    (finding,) = examine(torch_target, parse(PLANTED, torch_target.language), Options(order=1)).findings
    assert finding.kind == "gradient" and finding.names == ["reverse"]
    assert finding.actual == pytest.approx(finding.expected / 3, rel=1e-9)
    contiguous = parse(PLANTED.replace(', layout="expanded"', ""), torch_target.language)
    assert not examine(torch_target, contiguous, Options(order=1)).findings


def test_the_reference_differentiates_by_what_is_in_memory(torch_target):
    """Of an entry of such an input it proves the derivative by the number behind it, and a wrong one stays wrong."""
    text = HEALTHY["a view of memory"]
    assert verdicts(ask(torch_target, text)) == {"right"}
    assert verdicts(ask(torch_target, text, tamper=scaled(0.5))) == {"wrong"}


def test_the_reference_knows_the_numbers_of_an_input_that_stays(torch_target):
    text = (
        'x = tensor((3, 2), "float64", normal(seed=1))\na = tensor((3, 2), "float64", normal(seed=2), grad=False, layout="expanded")\n'
        "y = torch.mul(x, a)\n"
    )
    assert verdicts(ask(torch_target, text)) == {"right"}
