"""Findings are named after what people call: what is internal, deprecated or undocumented gives way to what is public."""

import pytest

from gradfuzz.findings.inside.public import public
from gradfuzz.program import parse, to_text

X = 'x = tensor((2, 3), "float64", arange(1.0, 1.0))\nb = tensor((3,), "float64", full(1.0))\n'
CASES = [
    ("torch.native_layer_norm(x, (3,), None, b, 0.5)", "torch.nn.functional.layer_norm"),
    ("torch.norm(x, dtype=torch.float64)", "torch.linalg.norm"),
    ("torch.ops.aten.tanh.default(x)", "torch.tanh"),
    ("torch.celu_(x)", "torch.celu_"),  # a form of what is documented
]


@pytest.mark.parametrize("odd, wanted", CASES)
def test_an_odd_name_becomes_what_people_call(torch_target, odd, wanted):
    program = parse(f"{X}y = {odd}\n", torch_target.language)
    api, found = public(torch_target, program.api, program, lambda p: torch_target.point(p).first() is not None)
    assert api == wanted and f"y = {wanted}(" in to_text(found)
