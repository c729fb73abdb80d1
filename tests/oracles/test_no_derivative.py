"""Points of real functions at which differences fool themselves, or there is no derivative at all: AD is not accused there."""

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

POINTS = {
    "a remainder finer than the steps": 'x = tensor((3,), "float64", full(1.11e15))\ny = torch.fmod(x, -3.5)\n',
    "a remainder finer than the steps, rounded down": 'x = tensor((3,), "float64", full(1.11e15))\ny = torch.remainder(x, -3.5)\n',
    "a matrix without full rank": 'x = tensor((3, 3), "float64", full(1.0))\nq, r = torch.linalg.qr(x)\n',
    "a matrix with one entry": 'x = tensor((4, 3), "float64", onehot(seed=3))\nq, r = torch.linalg.qr(x)\n',
    "a branch point": 'x = tensor((3,), "complex128", listed([1.0]))\ny = torch.acos(x)\n',
    "ties of pivots": 'x = tensor((3, 3), "float64", full(1.0))\np, l, u = torch.linalg.lu(x)\n',
    "a tie of many, made by single precision inside": (
        'x = tensor((5, 3, 5), "complex128", close(uniform(-8.6, 8.8, seed=1), 1e-12))\ny = torch.masked.median(x)\n'
    ),
    "an output that nothing is differentiated through": (
        'x = tensor((1, 1), "float64", full(0.0))\na = tensor((), "float64", full(0.0), grad=False)\n'
        'b = tensor((), "float64", full(0.0), grad=False)\nc = tensor((1,), "float64", full(0.0), grad=False)\n'
        'd = tensor((1,), "float64", full(0.0))\ny = torch.native_batch_norm(x, a, b, c, d, True, 0.0, 1e-05)\n'
    ),
    "a mask that is lost beside scores of 1e20": (
        'q = tensor((1, 2, 2), "float64", scaled(normal(seed=1), 1e20))\n'
        'k = tensor((1, 3, 2), "float64", listed([0.5, 1.0, 0.3, -0.4, 0.5, 1.0]))\nv = tensor((1, 3, 2), "float64", normal(seed=3))\n'
        'm = tensor((2, 3), "float64", normal(seed=4))\ny = torch.nn.functional.scaled_dot_product_attention(q, k, v, m)\n'
    ),
    "no pivot at all": 'x = tensor((3, 5), "float64", full(-0.0))\np, l, u = torch.linalg.lu(x)\n',
}


@pytest.mark.parametrize("name", POINTS)
def test_nobody_is_accused_where_there_is_nothing_to_see(torch_target, name):
    for salt in range(6):
        assert not examine(torch_target, parse(POINTS[name], torch_target.language), Options(order=1, salt=salt)).findings


@pytest.mark.parametrize("call", ["torch.logcumsumexp(x, 0)", "torch.logsumexp(x, (0,))"])
def test_what_rounding_leaves_of_a_zero_accuses_nobody(torch_target, call):
    """One element: the identity, whose second derivative is rounding, in one way as in another."""
    program = parse(f'x = tensor((1,), "float64", listed([1000000.0]))\ny = {call}\n', torch_target.language)
    for salt in range(4):
        assert not examine(torch_target, program, Options(order=2, salt=salt)).findings


def test_a_wrong_first_derivative_is_reported_in_place_of_the_second_that_stands_on_it(torch_target):
    """sinc' loses its digits at 1e-8: what is made of differences of it is no second derivative."""
    program = parse('x = tensor((), "float64", full(1e-8))\ny = torch.sinc(x)\n', torch_target.language)
    findings = examine(torch_target, program, Options(order=2)).findings
    assert findings and {f.order for f in findings} == {1}
    assert findings[0].expected is None or findings[0].expected * findings[0].actual > 0


def test_ordinary_neighbours_are_judged(torch_target):
    for text in ("torch.fmod(x, -3.5)", "torch.linalg.qr(x)", "torch.acos(0.2 * x)", "torch.sinc(x)"):
        program = parse(f'x = tensor((3, 3), "float64", uniform(0.2, 0.9, seed=3))\ny = {text}\n', torch_target.language)
        assert examine(torch_target, program, Options(order=1)).outcome == "agree"


CONDITIONED = (
    'x = tensor((3, 3, 3), "float64", choice([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5707963267948966, 3.141592653589793, 1e-08,'
    ' -1e-08], seed=95))\na = tensor((3, 1), "float64", listed([-4.0, -3.4, 5.6]))\ny0 = torch.linalg.lstsq(x, a)\n'
)


def test_a_rounding_of_the_matrix_explains_the_last_digits_of_a_solution(torch_target):
    """Its condition number is 6e8: one rounding of the matrix moves the derivative by a hundred times what it is off by."""
    program = parse(CONDITIONED, torch_target.language)
    for salt in range(6):
        looked = examine(torch_target, program, Options(order=1, salt=salt))
        assert not [f for f in looked.findings if f.kind in ("gradient", "accuracy")], [f.reason for f in looked.findings]


def test_an_infinite_slope_among_many_special_numbers_is_right(torch_target):
    """0 ** 0.457: the slope is infinite, and along other elements infinity times no step is not a number."""
    text = (
        'x = tensor((5, 5, 5), "float64", rounded(uniform(0.16, 8.9, seed=1), 0.5))\n'
        'a = tensor((5, 5, 5), "float64", uniform(0.022, 8.9, seed=2))\ny = torch.pow(x, a)\n'
    )
    for salt in (260858, 0, 1, 2):
        assert not examine(torch_target, parse(text, torch_target.language), Options(order=1, salt=salt)).findings


def test_equal_numbers_that_make_a_decomposition_arbitrary_excuse_not_a_number(torch_target):
    """A matrix of rank one: the vectors that belong to 0 are arbitrary, whatever its equal numbers are."""
    text = (
        'x = tensor((2, 2), "float64", full(-5.69e+47))\na = tensor((1, 1), "float64", listed([-2.8]))\ny0 = a.mT\n'
        "y2 = torch.svd_lowrank(x)\ny3 = y2[2].mH\ny4 = torch.Tensor.matmul(y2[0], y3)\nout = (y4, y2[1])\n"
    )
    for salt in range(4):
        for numbers in ("full(-5.69e+47)", "full(-1.7)"):
            program = parse(text.replace("full(-5.69e+47)", numbers), torch_target.language)
            assert not examine(torch_target, program, Options(order=1, salt=salt)).findings


def test_not_a_number_beside_a_kink_is_still_wrong(torch_target):
    """y[1] does not depend on a[0]: its derivative is 0, and reverse mode makes NaN of it."""
    text = (
        'x = tensor((3,), "float64", listed([0.0, 1.0, 2.0]), grad=False)\na = tensor((3,), "float64", listed([0.0, 1.0, 2.0]))\n'
        "y = torch.hypot(x, a)\n"
    )
    assert {f.kind for f in examine(torch_target, parse(text, torch_target.language), Options(order=1)).findings} == {"nonfinite"}
