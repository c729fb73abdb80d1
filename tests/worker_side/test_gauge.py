"""Gauge freedom: signs and phases of vectors are free, values and products are not."""

import numpy as np
import pytest

from gradfuzz.oracles.gauge import same_up_to_gauge

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


@pytest.mark.parametrize("outputs", [[np.sin(A[0]), np.cos(A[0])], [A]])
def test_an_error_of_sign_in_all_outputs_is_no_gauge(outputs):
    assert not same_up_to_gauge(outputs, [-o for o in outputs], UNIT)
