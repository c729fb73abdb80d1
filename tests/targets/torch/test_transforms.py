"""What campaigns nest with says what `torch.func` says, number by number, refusal by refusal, and leaves nothing behind."""

from itertools import product

import pytest
import torch

from gradfuzz.targets.base.nesting import derivative
from gradfuzz.targets.torch.transforms import EAGER, LeanTransforms, Transforms

X = torch.linspace(-1.0, 1.2, 6, dtype=torch.float64).reshape(2, 3)
W = torch.linspace(0.3, 0.9, 6, dtype=torch.float64).reshape(3, 2)
US = [[torch.cos(k + X), torch.sin(k + W)] for k in (1.0, 2.0, 3.0)]
V = [torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64), torch.tensor(1.5, dtype=torch.float64)]


def two_outputs(xs):
    return torch.tanh(xs[0] @ xs[1]), (xs[0] ** 2).sum()


def of_one_input(xs):
    return torch.sin(xs[0]) @ W, torch.tensor(3.0, dtype=torch.float64)  # the second hangs on nothing


def in_place(xs):
    return (xs[0].clone().exp_() @ xs[1],)


def complex_inside(xs):
    return torch.complex(xs[0] @ xs[1], xs[0].sum() * torch.ones(2, 2, dtype=torch.float64)).abs(), xs[1].sum()


def with_no_grad_inside(xs):
    with torch.no_grad():
        fixed = xs[0].exp()
    return (fixed * xs[0]) @ xs[1], xs[1].prod()


FUNCTIONS = (two_outputs, of_one_input, in_place, complex_inside, with_no_grad_inside)
NESTINGS = [modes for order in (1, 2, 3) for modes in product("rf", repeat=order)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("modes", NESTINGS, ids="".join)
def test_every_nesting_is_the_same(function, modes):
    said = []
    with torch.no_grad():
        for library in (Transforms(), LeanTransforms()):
            outputs, result = derivative(library, function, [X, W], modes, US[: len(modes)], V)
            said.append([t.detach() for t in (*(outputs or ()), *result)])
    assert len(said[0]) == len(said[1]) and all(torch.equal(a, b) for a, b in zip(*said))


def raising(xs):
    return (xs[0].sin() @ xs[0],)  # the shapes do not fit


@pytest.mark.parametrize("modes", [("f",), ("r",), ("f", "r"), ("r", "f"), ("f", "f", "r")], ids="".join)
def test_what_raises_leaves_no_level_behind(modes):
    with torch.no_grad():
        with pytest.raises(RuntimeError):
            derivative(LeanTransforms(), raising, [X, W], modes, US[: len(modes)], V)
        assert torch.autograd.forward_ad._current_level == -1
        assert not torch.is_grad_enabled() and torch._C._functorch.maybe_current_level() is None
        _, (slope,) = derivative(Transforms(), two_outputs, [X, W], ("f", "r"), US[:2], V)
        _, (again,) = derivative(LeanTransforms(), two_outputs, [X, W], ("f", "r"), US[:2], V)
    assert torch.equal(slope, again)


def test_this_release_has_what_it_takes():
    assert isinstance(EAGER, LeanTransforms)
