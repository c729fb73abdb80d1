"""Gauge freedom: signs and phases of vectors are free, values and products are not."""

import numpy as np
import pytest
from excuse_cases import MATRICES, eigen, eigen_tangents, other_sign, program
from numpy_library import ManyPoint, ManyTarget

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.evidence.invariants import invariants_of
from gradfuzz.oracles.gauge import same_up_to_gauge
from gradfuzz.targets.base.protocol import Refusal

UNIT = 2.0**-52
A = np.random.default_rng(1).standard_normal((4, 4))
S = A + A.T
SIGNS = np.diag([1.0, -1.0, -1.0, 1.0])


def eigh():
    return list(np.linalg.eigh(S))


def test_signs_of_eigenvectors_are_free_and_those_of_eigenvalues_are_not():
    w, v = eigh()
    assert same_up_to_gauge([w, v], [w, v @ SIGNS], UNIT)
    assert not same_up_to_gauge([w, v], [-w, -v], UNIT)
    assert not same_up_to_gauge([w, v], [-w, v], UNIT)


def test_phases_of_complex_eigenvectors_are_free_and_lengths_are_not():
    w, v = np.linalg.eigh(S + 1j * (A - A.T))
    phases = np.diag(np.exp(1j * np.arange(4)))
    assert same_up_to_gauge([w, v], [w, v @ phases], UNIT)
    assert not same_up_to_gauge([w, v], [w, v @ phases * 1.001], UNIT)


def test_factors_may_change_their_signs_together_and_not_alone():
    q, r = np.linalg.qr(A)
    assert same_up_to_gauge([q, r], [q @ SIGNS, SIGNS @ r], UNIT)
    assert not same_up_to_gauge([q, r], [q @ SIGNS, r], UNIT)
    u, s, vh = np.linalg.svd(A)
    assert same_up_to_gauge([u, s, vh], [u @ SIGNS, s, SIGNS @ vh], UNIT)
    assert not same_up_to_gauge([u, s, vh], [u @ SIGNS, s, vh], UNIT)


def test_a_saturated_function_gives_no_eigenvectors():
    assert invariants_of([np.ones((1, 4))], [np.full((1, 4), 50.0)]) is None
    assert invariants_of([eigh()[1]], [S]) is not None


@pytest.mark.parametrize("outputs", [[np.sin(A[0]), np.cos(A[0])], [A]])
def test_an_error_of_sign_in_all_outputs_is_no_gauge(outputs):
    assert not same_up_to_gauge(outputs, [-o for o in outputs], UNIT)


class Careful(ManyTarget):
    """A library that refuses the reverse mode of what depends on phases, as some do."""

    def point(self, program, arrays=None):
        return CarefulPoint(self, program, arrays)

    def classify(self, error):
        return Refusal("gauge", str(error)) if isinstance(error, ArithmeticError) else super().classify(error)


class CarefulPoint(ManyPoint):
    def run(self, scenario, us, v, along=None, shift=0.0):
        if scenario.modes == ("r",):
            turned = np.abs((eigen(self.inputs[0])[1].conj() * v.arrays[1]).sum(axis=0).imag)
            if turned.max() > 1e-9:
                raise ArithmeticError("the phases of eigenvectors are free")
        return super().run(scenario, us, v, along, shift)


@pytest.mark.parametrize(
    "factors, outcome", [({}, "agree"), ({"reverse_factor": 1.001}, "disagree"), ({"forward_factor": 1.001}, "disagree")]
)
def test_where_phases_are_free_values_and_projectors_are_judged(factors, outcome):
    seen = examine(Careful(eigen, eigen_tangents, **factors), program(MATRICES), Options(order=1))
    assert seen.outcome == outcome, seen.verdicts


def test_an_error_of_sign_in_every_output_shows_in_what_is_defined():
    assert examine(Careful(eigen, other_sign), program(MATRICES), Options(order=1)).outcome == "disagree"


def svd(x):
    return list(np.linalg.svd(x[0]))


def svd_tangents(wrong=0.0):
    def tangents(xs, us):
        u, s, vh = svd(xs[0])
        turned = u.T @ us[0][0] @ vh.T
        gaps = s[None, :] ** 2 - s[:, None] ** 2 + np.eye(s.size)
        off = 1 - np.eye(s.size)
        left, right = off * (turned * s + s[:, None] * turned.T) / gaps, off * (s[:, None] * turned + turned.T * s) / gaps
        return [u @ left + wrong * u, turned.diagonal().copy(), right.T @ vh - wrong * vh]

    return tangents


@pytest.mark.parametrize("wrong, found", [(0.0, False), (0.3, True)])
def test_lengths_of_vectors_are_defined(wrong, found):
    """What makes one factor longer and the other shorter leaves their product as it is, and is wrong all the same."""
    target = ManyTarget(svd, svd_tangents(wrong))
    assert bool(examine(target, program(MATRICES[:1]), Options(order=1)).findings) == found


def directions(x):
    """The eigenvectors of a matrix that is not symmetric, by themselves."""
    return [np.linalg.eig(x)[1]]


def at_right_angles(wrong=0.0):
    """Vectors that keep their length move at right angles to themselves, in one choice of phases; `wrong`: they turn towards the next."""

    def tangents(xs, us):
        w, v = np.linalg.eig(xs[0])
        turned = np.linalg.solve(v, us[0] @ v)
        moved = v @ (turned / (w[None, :] - w[:, None] + np.eye(w.size)) * (1 - np.eye(w.size)))
        return [moved - v * (v.conj() * moved).sum(axis=0) + wrong * np.roll(v, 1, axis=1)]

    return tangents


@pytest.mark.parametrize("wrong, found", [(0.0, False), (0.3, True)])
def test_phases_are_free_where_vectors_are_all_that_is_told(wrong, found):
    rotated = np.array([[0.3, -1.2, 0.5], [1.1, 0.4, -0.3], [0.2, 0.7, 1.9]])
    assert np.iscomplexobj(directions(rotated)[0])
    target = ManyTarget(directions, at_right_angles(wrong))
    for salt in range(4):
        assert bool(examine(target, program(rotated), Options(order=1, salt=salt)).findings) == found


ROTATED = np.array([[0.3, -1.2, 0.5], [1.1, 0.4, -0.3], [0.2, 0.7, 1.9]])


@pytest.mark.parametrize("wrong, found", [(0.0, False), (0.3, True)])
def test_vectors_may_be_rows(wrong, found):
    """As the right ones of an SVD are."""
    turned = at_right_angles(wrong)
    target = ManyTarget(lambda x: [directions(x)[0].conj().T], lambda xs, us: [turned(xs, us)[0].conj().T])
    for salt in range(2):
        assert bool(examine(target, program(ROTATED), Options(order=1, salt=salt)).findings) == found


@pytest.mark.parametrize("wrong, found", [(0.0, False), (0.3, True)])
def test_phases_are_free_in_a_batch_of_matrices(wrong, found):
    """There the values have two dimensions themselves."""
    turned = at_right_angles(wrong)

    def tangents(xs, us):
        v = np.linalg.eig(xs[0][0])[1]
        return [np.linalg.solve(v, us[0][0] @ v).diagonal()[None], turned([xs[0][0]], [us[0][0]])[0][None]]

    target = ManyTarget(lambda x: list(np.linalg.eig(x)), tangents)
    for salt in range(2):
        assert bool(examine(target, program(ROTATED[None]), Options(order=1, salt=salt)).findings) == found


def test_values_of_a_batch_are_defined():
    values, vectors = (a[None] for a in eigh())
    assert same_up_to_gauge([values, vectors], [values, vectors @ SIGNS], UNIT)
    assert not same_up_to_gauge([values, vectors], [-values, vectors @ SIGNS], UNIT)


@pytest.mark.parametrize("upright", [False, True], ids=["vectors lie", "vectors stand"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (4, 2)])
def test_right_vectors_may_be_rows_or_columns(upright, shape):
    """Some libraries give the right vectors of an SVD, others their adjoint: what is defined of both is the same, and moves alike."""
    chance = np.random.default_rng(7)
    a = chance.standard_normal(shape) + 1j * chance.standard_normal(shape)
    u, s, vh = np.linalg.svd(a, full_matrices=False)

    def outputs(u, s, vh):
        return [s, u, vh.conj().T if upright else vh]

    defined = invariants_of(outputs(u, s, vh), [a])
    assert defined is not None and defined.upright is upright
    phases = np.exp(1j * np.arange(len(s)))
    turned = defined.of(outputs(u * phases, s, phases.conj()[:, None] * vh))
    assert all(np.allclose(x, y) for x, y in zip(defined.of(outputs(u, s, vh)), turned))
    steps = [
        chance.standard_normal(o.shape) + (1j * chance.standard_normal(o.shape) if o.dtype.kind == "c" else 0) for o in outputs(u, s, vh)
    ]
    weights = [chance.standard_normal(i.shape) + 1j * chance.standard_normal(i.shape) for i in defined.of(outputs(u, s, vh))]

    def weighed(t):
        moved = [o + t * step for o, step in zip(outputs(u, s, vh), steps)]
        return sum((w.conj() * i).real.sum() for w, i in zip(weights, defined.of(moved)))

    pulled = sum((p.conj() * step).real.sum() for p, step in zip(defined.pulled(outputs(u, s, vh), weights), steps))
    assert np.isclose(pulled, (weighed(1e-6) - weighed(-1e-6)) / 2e-6, rtol=1e-6)
