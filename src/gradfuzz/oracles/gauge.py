"""Gauge: outputs that are defined only up to signs or phases (eigenvectors, the factors of SVD and QR), judged on what is defined.

Two runs may choose another gauge; then each vector differs by a number of size one, and everything that such numbers cannot change is
the same: values, and the product that gives the matrix back. A sign that is wrong in all outputs changes one of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.evidence.invariants import Judged, invariants_of
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import AGREE, DISAGREE, GRADIENT, INCONCLUSIVE, Verdict
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE

Array = Any

# What the invariants may differ by, in units of the last place: a decomposition is an iteration, and another kernel takes another path.
UNITS = 2.0**14
FIRST_ORDER = (REVERSE, FORWARD)


def draws(trial: Trial) -> bool:
    """Whether the function draws random numbers, or two plain runs differ: then compilers may draw others."""
    if trial.point.random:
        return True
    again = trial.attempt(DIRECT, ())
    return isinstance(again, Outcome) and any(
        a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(trial.direct, again.outputs)
    )


def same_up_to_gauge(ours: list[Array], theirs: list[Array], epsilon: float) -> bool:
    """Whether two runs of a decomposition differ in their gauge alone. One output by itself has none that could be told from an error."""
    if len(ours) != len(theirs) or len(ours) < 2 or any(a.shape != b.shape for a, b in zip(ours, theirs)):
        return False
    bar = max(UNITS * epsilon, epsilon**0.5)  # a compiler's iterations may stop at half the digits; no phase is met by chance so closely
    factors = [i for i, (a, b) in enumerate(zip(ours, theirs)) if not _close(a, b, bar)]
    # Values are defined: only matrices may differ.
    if not factors or any(ours[i].ndim < max(2, *(o.ndim for o in ours)) for i in factors):
        return False
    if not all(_phases(ours[i], theirs[i], bar) for i in factors):
        return False
    products = list(zip(_products(ours), _products(theirs)))
    return any(_close(a, b, bar) for a, b in products)


def check_defined(trial: Trial, reason: str) -> list[Verdict]:
    """The first derivative of a decomposition whose vectors are free, judged on what is defined of it: values, projectors, products."""
    defined = invariants_of(trial.direct, trial.inputs)
    if defined is None or not trial.finite:
        return [Verdict(INCONCLUSIVE, "status", order=1, reason=f"gauge: {reason}")]
    judged = Judged(trial, defined, trial.direction(0), FIRST_ORDER)
    right = {scenario: judged.right(scenario) for scenario in judged.numbers}
    wrong = [scenario for scenario, is_right in right.items() if is_right is False]
    if wrong:  # steps in units of the largest element may be far too long for others: in proportion to themselves they are not
        closer = Judged(trial, defined, trial.relative_direction(), wrong)
        wrong = [scenario for scenario in wrong if closer.right(scenario) is False]
    if wrong:
        first = wrong[0]
        told = f"{first.name} differs from the numeric derivative of projectors and products, which no choice of phases changes"
        detail = {"numbers": {s.name: n for s, n in judged.numbers.items()}, "numeric": judged.numeric.value}
        return [
            Verdict(DISAGREE, "gradient", GRADIENT, 1, wrong, told, judged.numeric.value, judged.numbers[first], judged.bar(first), detail)
        ]
    if right and all(right.values()):
        return [Verdict(AGREE, "gradient", order=1, reason="in all that no choice of phases changes")]
    return [Verdict(INCONCLUSIVE, "status", order=1, reason=f"gauge: {reason}")]


def _phases(ours: Array, theirs: Array, bar: float) -> bool:
    """Whether columns, or else rows, differ by a number of size one each."""
    return any(
        _close(np.abs(_overlap(a, b)), _norm(a) * _norm(b), bar)
        for a, b in ((ours, theirs), (np.swapaxes(ours, -1, -2), np.swapaxes(theirs, -1, -2)))
    )


def _overlap(a: Array, b: Array) -> Array:
    return (np.conj(a) * b).sum(axis=-2)


def _norm(a: Array) -> Array:
    return np.sqrt((np.abs(a) ** 2).sum(axis=-2))


def _products(parts: list[Array]) -> list[Array]:
    """What the outputs may give back: a product of two factors, of factors with values between them, or of vectors around their values.

    Of the last factor some libraries return the adjoint: of a square one nobody can tell.
    """
    matrices = [p for p in parts if p.ndim == max(part.ndim for part in parts) >= 2]  # of a batch the values have two dimensions, too
    values = [p for p in parts if all(p.ndim == m.ndim - 1 for m in matrices)]
    if len(matrices) == 1 and len(values) == 1 and matrices[0].shape[-1] == values[0].shape[-1]:
        return [_product(matrices[0] * values[0][..., None, :], np.conj(np.swapaxes(matrices[0], -1, -2)))]
    if len(matrices) == 2 and not values:
        return [_product(*matrices)] if matrices[0].shape[-1] == matrices[1].shape[-2] else []
    if len(matrices) == 2 and len(values) == 1:
        left, right, rank = matrices[0], matrices[1], values[0].shape[-1]
        others = [m for m in (right, np.conj(np.swapaxes(right, -1, -2))) if left.shape[-1] >= rank and m.shape[-2] >= rank]
        return [_product(left[..., :rank] * values[0][..., None, :], other[..., :rank, :]) for other in others]
    return []


def _product(a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return a @ b


def _close(a: Array, b: Array, bar: float) -> bool:
    with np.errstate(all="ignore"):
        scale = max((float(np.abs(x).max()) for x in (a, b) if x.size), default=0.0)
        return bool((np.abs(a - b) <= bar * scale).all())
