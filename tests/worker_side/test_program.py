"""Programs: text, data and JSON say the same, and nothing outside the language gets in."""

import math

import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.program import from_json, parse, to_json, to_text
from gradfuzz.program.values import materialise
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")

TEXTS = [
    """x = tensor((3, 4), "float64", normal(seed=1))
t = tensor((3, 4), "float64", uniform(0, 1, seed=2), grad=False)
y = torch.nn.functional.kl_div(x, t, reduction="batchmean", log_target=True)
""",
    """x = tensor((2, 2), "complex128", planted(scaled(normal(seed=3), 1e-100), -0.0, 2), layout="conjugated")
q, r = torch.linalg.qr(x)
y = (q @ r)[..., 1:, None].mT
z = -(y + 1.5) ** 2
""",
    """x = tensor((4,), "float32", listed([1.0, float("nan"), float("-inf"), -0.0]), structure="simplex")
m = torch.nn.Linear(4, 2).eval()
y = m(x, )
""".replace("m(x, )", "m(x)"),
    """x = tensor((), "float64", full(2.0))
x.add_(1)
y = torch.clamp(x, min=float("-inf"), max=complex(1.0, -2.0))
out = (y, x)
""",
    """x = tensor((2, 3), "float64", choice([0.0, 1.0], seed=5))
y = torch.split(x, [1, 1], dim=0)
z = torch.cat([y[0], y[1]], dim=-1).to(torch.float32)
""",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_to_data_to_text_is_the_identity(text):
    if "-(y + 1.5) ** 2" in text:
        text = text.replace("-(y + 1.5) ** 2", "-((y + 1.5) ** 2)")  # brackets are always written
    program = parse(text, TORCH)
    assert to_text(program) == text
    assert to_json(parse(to_text(program), TORCH)) == to_json(program)


@pytest.mark.parametrize("text", TEXTS)
def test_json_keeps_everything(text):
    program = parse(text, TORCH)
    assert to_text(from_json(to_json(program))) == to_text(program)


REFUSED = [
    ("import os", 1, 1, "import"),
    ("from os import path", 1, 1, "import"),
    ("x = open('f')", 1, 5, "open"),
    ("x = torch.load('f')", 1, 5, "reaches files"),
    ("x = torch.hub.load('a', 'b')", 1, 5, "reaches the network"),
    ("x = torch.os.system('ls')", 1, 5, "code"),
    ("x = torch._C.foo()", 1, 5, "private"),
    ("x = torch.distributed.init_process_group()", 1, 5, "network"),
    ("x = torch.utils.cpp_extension.load('a')", 1, 5, "code"),
    ("x = torch.compile(1)", 1, 5, "code"),
    ("x = torch.ops.load_library('a')", 1, 5, "code"),
    ("y = [a for a in (1, 2)]", 1, 5, "comprehension"),
    ("f = lambda: 1", 1, 5, "lambda"),
    ("y = ().__class__", 1, 5, "__class__"),
    ("x = tensor((2,), 'float64', normal(seed=1))\ny = x.__class__", 2, 5, "__class__"),
    ("x = tensor((2,), 'float64', normal(seed=1))\ny = x.numpy()", 2, 5, "leaves the library"),
    ("x = tensor((2,), 'float64', normal(seed=1))\ny = x.backward()", 2, 5, "differentiation"),
    ("x = tensor((2,), 'float64', normal(seed=1))\ny = torch.sin(z)", 2, 15, "not assigned"),
    ("y = numpy.sin(1)", 1, 5, "not part of the API"),
    ("for i in (1, 2): pass", 1, 1, "loop"),
    ("def f(): pass", 1, 1, "function definition"),
    ("y = torch.sin(*x)", 1, 15, "starred"),
    ("y = torch.sin(**x)", 1, 5, "**"),
    ("x.y = 1", 1, 1, "Attribute"),
    ("y = f'{1}'", 1, 5, "JoinedStr"),
    ("y = 1 if True else 2", 1, 5, "IfExp"),
    ("x = tensor((2,), 'float99', normal(seed=1))", 1, 5, "dtype"),
    ("x = tensor((2,), 'float64', normal(1, 2, 3))", 1, 29, "takes"),
    ("x = tensor((2,), 'float64', nothing())", 1, 29, "distribution"),
    ("x = tensor([2], 'float64', normal(seed=1))", 1, 12, "shape"),
    ("torch = 1", 1, 1, "meaning of its own"),
    ("y = torch.sin(b'x')", 1, 15, "bytes"),
]


@pytest.mark.parametrize("text, line, column, reason", REFUSED)
def test_what_is_outside_the_language_is_refused_with_line_column_and_reason(text, line, column, reason):
    with pytest.raises(ProgramError) as caught:
        parse(text, TORCH)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert reason in str(caught.value)


def test_what_is_not_python_is_said_so_with_its_line():
    with pytest.raises(ProgramError, match="not Python") as caught:
        parse("x = 1\ny = (", TORCH)
    assert caught.value.line == 2 and caught.value.column > 0


def test_programs_that_ask_for_too_much_are_refused():
    with pytest.raises(ProgramError, match="elements"):
        parse('x = tensor((5000, 5000), "float64", normal(seed=1))\ny = torch.sin(x)', TORCH)
    many = 'x = tensor((2,), "float64", normal(seed=1))\n' + "x = torch.sin(x)\n" * 65
    with pytest.raises(ProgramError, match="65 calls"):
        parse(many, TORCH)


def test_json_from_a_stranger_is_checked():
    for broken in (None, [], {"format": 2}, {"format": 1, "statements": [{"names": ["x"]}]}, {"format": 1, "statements": 3}):
        with pytest.raises(ProgramError):
            from_json(broken)


def test_the_same_recipe_makes_the_same_numbers_everywhere():
    program = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)', TORCH)
    numbers = materialise(program.inputs["x"]).tolist()
    assert numbers == pytest.approx([0.345584192064786, 0.8216181435011584, 0.33043707618338714], rel=1e-15)


def test_signed_zeros_infinities_and_nan_survive():
    text = 'x = tensor((4,), "float64", listed([-0.0, float("inf"), float("-inf"), float("nan")]))\ny = torch.sin(x)\n'
    numbers = materialise(from_json(to_json(parse(text, TORCH))).inputs["x"]).tolist()
    assert math.copysign(1, numbers[0]) == -1 and numbers[1:3] == [math.inf, -math.inf] and math.isnan(numbers[3])


def test_the_api_of_a_program_is_its_first_call():
    assert parse(TEXTS[0], TORCH).api == "torch.nn.functional.kl_div"
    assert parse(TEXTS[2], TORCH).api == "torch.nn.Linear"
