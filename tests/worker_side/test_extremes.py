"""Whatever the numbers, the oracles have a verdict: no division by a step that vanished, no decomposition of what is not finite."""

import itertools
import random

import numpy as np
import pytest
from numpy_library import ManyTarget, NumpyPoint, NumpyTarget

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.effort import FULL, THRIFTY
from gradfuzz.oracles.verdict import MISTAKE
from gradfuzz.program import parse
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")
SIZES = (0.0, 5e-324, 1e-310, 2.3e-308, 1e-288, 1e-200, 1e-16, 1.0, 3.0, 1e15, 1e154, 1e300, 1.7e308, np.inf, np.nan)
SHAPES = ((), (1,), (3,), (2, 2), (0,), (0, 3))
FACTORS = ({}, {"reverse_factor": 1.5}, {"reverse_factor": np.nan}, {"forward_factor": np.inf}, {"reverse_factor": 1e300})
RUNS = 600


def diagonal(slope):
    return lambda x: [np.diag(np.broadcast_to(slope(x), x.shape).ravel())]


def total(f, slope):
    return lambda x: np.asarray(f(x).sum()), lambda x: [np.broadcast_to(slope(x), x.shape).reshape(1, -1)]


def eigen(x):
    return list(np.linalg.eigh(np.atleast_2d(x) + np.atleast_2d(x).T))


def eigen_tangents(xs, us):
    w, v = eigen(xs[0])
    turned = v.T @ (np.atleast_2d(us[0]) + np.atleast_2d(us[0]).T) @ v
    return [turned.diagonal().copy(), v @ (turned / (w[None, :] - w[:, None] + np.eye(w.size)) * (1 - np.eye(w.size)))]


class Scaled(NumpyPoint):
    """Directions of any length."""

    def __init__(self, owner, program, arrays=None):
        super().__init__(owner, program, arrays)
        self.scales = [self.scales[0] if owner.scale is None else owner.scale]


class ScaledTarget(NumpyTarget):
    scale = None

    def point(self, program, arrays=None):
        return Scaled(self, program, arrays)


FUNCTIONS = {
    "threefold": (lambda x: 3 * x, diagonal(lambda x: 3 + 0 * x)),
    "sin": (np.sin, diagonal(np.cos)),
    "exp": (np.exp, diagonal(np.exp)),
    "reciprocal": (lambda x: 1 / x, diagonal(lambda x: -1 / x / x)),
    "root": (lambda x: np.sign(x) * np.sqrt(np.abs(x)), diagonal(lambda x: 0.5 / np.sqrt(np.abs(x)))),
    "floor": (np.floor, diagonal(lambda x: 1.0 + 0 * x)),
    "remainder": (lambda x: np.mod(3.0, x), diagonal(lambda x: -np.floor(3.0 / x))),
    "length": total(np.abs, np.sign),
    "sum of squares": total(np.square, lambda x: 2 * x),
    "constant": (np.ones_like, diagonal(lambda x: 1e-3 + 0 * x)),
}  # fmt: skip


def drawn(rng):
    """A Program with numbers of any size, some of them the same."""
    shape = rng.choice(SHAPES)
    numbers = [rng.choice((-1, 1)) * rng.choice(SIZES) for _ in range(rng.choice((1, 4)))]
    listed = ", ".join(str(n) if np.isfinite(n) else f'float("{n}")' for n in numbers)
    return parse(f'x = tensor({shape}, "float64", listed([{listed}]))\ny = torch.sin(x)\n', TORCH)


def outcome_of(seen):
    assert not [v.reason for v in seen.verdicts if v.reason.startswith(MISTAKE)]
    return seen.outcome


@pytest.mark.parametrize("part", range(4))
def test_extreme_numbers_and_directions_have_a_verdict(part):
    outcomes = set()
    for run in range(part, RUNS, 4):
        rng = random.Random(run)
        program, factors = drawn(rng), rng.choice(FACTORS)
        target = ScaledTarget(*rng.choice(list(FUNCTIONS.values())), **factors)
        target.scale = rng.choice((None, None, 0.0, 5e-324, 1e-308, 1e-20, 1e20, 1e308))
        options = Options(order=1, salt=run, effort=rng.choice((FULL, THRIFTY)))
        with np.errstate(all="ignore"):
            outcomes.add(outcome_of(examine(target, program, options)))
    assert {"agree", "disagree", "inconclusive"} <= outcomes


def product_of_the_last(x):
    """The first has nothing to do with it."""
    return x[1:].prod().reshape(1)


def product_slopes(x):
    return [np.array([[0.0, *(np.delete(x, k)[1:].prod() for k in range(1, x.size))]])]


@pytest.mark.parametrize("size", [1e-60, -1.47e-81, 1e-120, 1e-160, 1e-200])
def test_products_that_vanish_have_a_verdict(size):
    """Along an element that counts for nothing steps of one move nothing either: there is nothing to compare others with."""
    for count, factor in itertools.product((3, 4, 6), (1.0, 1.001)):
        program = parse(f'x = tensor(({count},), "float64", full({size}))\ny = torch.sin(x)\n', TORCH)
        target = NumpyTarget(product_of_the_last, product_slopes, reverse_factor=factor)
        with np.errstate(all="ignore"):
            assert outcome_of(examine(target, program, Options(order=1, salt=1)))


def test_vectors_of_extreme_matrices_have_a_verdict():
    for (run, size), factors in itertools.product(enumerate(SIZES), FACTORS):
        target = ManyTarget(eigen, eigen_tangents, **factors)
        listed = ", ".join(str(n) if np.isfinite(n) else f'float("{n}")' for n in (size, 1.0, 0.5 * size))
        program = parse(f'x = tensor((3, 3), "float64", listed([{listed}]))\ny = torch.sin(x)\n', TORCH)
        with np.errstate(all="ignore"):
            assert outcome_of(examine(target, program, Options(order=1, salt=run)))
