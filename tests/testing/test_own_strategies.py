"""The Hypothesis strategies draw what they promise and shrink to the smallest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import gradfuzz
from gradfuzz.testing import strategies as gf

quick = settings(max_examples=50, deadline=None, database=None)


def smallest(strategy, condition=lambda value: True):
    return find(strategy, condition, settings=settings(max_examples=500, database=None, derandomize=True))


@quick
@given(gf.broadcastable_pair())
def test_the_partner_broadcasts_to_the_base(pair):
    base, partner = pair
    assert np.broadcast_shapes(base, partner) == base


@quick
@given(gf.broadcastable_shapes(3))
def test_several_shapes_broadcast_together(shapes):
    assert len(shapes) == 3
    np.broadcast_shapes(*shapes)


@quick
@given(gf.positive(), gf.unit_interval(), gf.away_from((0.0, 1.0), 0.1), gf.distinct(), gf.arrays(low=-3, high=5))
def test_domains_of_numbers(positive, unit, bent, distinct, plain):
    assert (positive > 0).all()
    assert ((unit > 0) & (unit < 1)).all()
    assert (np.abs(bent) >= 0.1).all()
    assert (np.abs(bent - 1) >= 0.1).all()
    assert len(set(distinct.ravel())) == distinct.size
    assert ((plain >= -3) & (plain <= 5)).all()
    assert plain.dtype == np.float64


@quick
@given(gf.symmetric(), gf.positive_definite(), gf.simplex())
def test_domains_of_matrices(symmetric, definite, simplex):
    assert np.array_equal(symmetric, symmetric.T)
    assert np.linalg.eigvalsh(definite).min() > 0.5
    assert simplex.sum(-1) == pytest.approx(np.ones(simplex.shape[:-1]))


def test_extreme_numbers_are_drawn():
    assert np.abs(smallest(gf.extreme((3,)), lambda a: np.abs(a).max() >= 1e3)).max() >= 1e3


def test_shapes_and_values_shrink_to_the_smallest_that_fails():
    assert smallest(gf.shapes(min_dims=1), lambda shape: len(shape) == 2 and shape[0] > 1) == (2, 1)
    pair = gf.broadcastable_pair().flatmap(lambda shapes: st.tuples(*map(gf.arrays, shapes)))
    assert [a.shape for a in smallest(pair, lambda arrays: arrays[0].ravel()[0] > 1)] == [(1,), (1,)]
    found = smallest(gf.arrays(gf.shapes()), lambda a: a.size > 1 and a.ravel()[0] > 1)
    assert found.shape == (2,)
    assert sorted(found) == [0.0, 2.0] or found[0] <= 2.0


def test_tensors_of_a_library():
    torch = pytest.importorskip("torch")
    drawn = smallest(gf.tensors("torch", gf.positive((2,))))
    assert isinstance(drawn, torch.Tensor)
    assert drawn.dtype == torch.float64
    assert gradfuzz.gradients_agree(torch.log, drawn)
