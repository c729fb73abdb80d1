"""Findings are named after what people call: what is internal, deprecated or undocumented gives way to what is public."""

import pytest

from gradfuzz.findings.inside.public import public
from gradfuzz.program import parse, to_text

X = 'x = tensor((2, 3), "float64", arange(1.0, 1.0))\nb = tensor((3,), "float64", full(1.0))\n'
CASES = [
    ("torch.native_layer_norm(x, (3,), None, b, 0.5)", "torch.nn.functional.layer_norm"),
    ("torch.norm(x, dtype=torch.float64)", "torch.linalg.norm"),
    ("torch.ops.aten.tanh.default(x)", "torch.tanh"),
    ("torch.nuclear_norm(x)", "torch.linalg.matrix_norm"),
    ("torch.frobenius_norm(x, [0, 1], keepdim=True)", "torch.linalg.matrix_norm"),
    ("torch.native_batch_norm(x, b, b, None, None, True, 0.0, 2.0)", "torch.nn.functional.batch_norm"),
    ("torch.celu_(x)", "torch.celu_"),  # a form of what is documented
]


@pytest.mark.parametrize("odd, wanted", CASES)
def test_an_odd_name_becomes_what_people_call(torch_target, odd, wanted):
    program = parse(f"{X}y = {odd}\n", torch_target.language)
    api, found = public(torch_target, program.api, program, lambda p: torch_target.point(p).first() is not None)
    assert api == wanted and f"y = {wanted}(" in to_text(found)


def test_arguments_in_another_order_are_passed_by_name(torch_target):
    program = parse(
        f'{X}a = tensor((3,), "float64", full(2.0))\ny = torch.native_batch_norm(x, b, None, a, a, True, 0.0, 2.0)\n', torch_target.language
    )
    _, found = public(torch_target, program.api, program, lambda p: torch_target.point(p).first() is not None)
    assert "batch_norm(x, weight=b, bias=None, running_mean=a, running_var=a, training=True, momentum=0.0, eps=2.0)" in to_text(found)


def test_the_public_name_is_found_though_it_refuses_a_sample_alone(torch_target):
    text = 'x = tensor((1, 3), "float64", arange(1.0, 1.0))\ny = torch.native_batch_norm(x, None, None, None, None, True, 0.0, 2.0)\n'
    program = parse(text, torch_target.language)

    def runs(candidate):
        try:
            return torch_target.point(candidate).first() is not None
        except ValueError:  # more than one value is expected
            return False

    api, found = public(torch_target, program.api, program, runs)
    assert api == "torch.nn.functional.batch_norm" and found.inputs["x"].shape == (2, 3)
