"""What of a decomposition is defined: its vectors are free up to signs or phases, and no derivative of them says anything by itself.

Values are defined, and so are the projectors on the vectors (v vᴴ), and the terms that give the matrix back (u vᴴ of an SVD, q rᴴ of a QR).
They determine all but one phase for each vector, so that an error in anything else shows in them, whatever the signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.numdiff.ladder import estimate
from gradfuzz.oracles.evidence.line import AD_UNITS, CONCLUSIVE, NUMERIC_BARS
from gradfuzz.oracles.trial import Trial
from gradfuzz.targets.base.protocol import Outcome, Refusal, Vec
from gradfuzz.targets.base.scenario import DIRECT, Scenario

Array = Any

# Vectors of a decomposition have length one, and its factors give the matrix back, up to its rounding.
CLOSE = 1e-6
# Inputs are rounded otherwise in so many patterns; a derivative that moves by this part of a gap is not known to it.
PATTERNS, SHAKEN = 3, 0.1


class Invariants:
    """The invariants of some outputs, each a product of two of them; `left` and `right` say which, `values` which stand for themselves.

    A factor of None is the other one's own adjoint. Vectors are the columns of a left factor and the rows of a right one, or its columns
    as well (`upright`).
    """

    def __init__(
        self, values: Sequence[int], pairs: Sequence[tuple[int | None, int | None]], rank: int, upright: bool = False
    ) -> None:  # fmt: skip
        self.values, self.pairs, self.rank, self.upright = list(values), list(pairs), rank, upright

    def of(self, outputs: Sequence[Array]) -> list[Array]:
        """Values, then for each pair the product of each column with its row, one matrix a vector."""
        return [outputs[i] for i in self.values] + [np.einsum("...ik,...kj->...kij", *self._factors(outputs, pair)) for pair in self.pairs]

    def _factors(self, outputs: Sequence[Array], pair: tuple[int | None, int | None]) -> tuple[Array, Array]:
        left = None if pair[0] is None else outputs[pair[0]][..., : self.rank]
        right = None if pair[1] is None else self._lying(outputs[pair[1]])[..., : self.rank, :]
        return _adjoint(right) if left is None else left, _adjoint(left) if right is None else right

    def _lying(self, right: Array) -> Array:
        return _adjoint(right) if self.upright else right

    def pulled(self, outputs: Sequence[Array], weights: Sequence[Array]) -> list[Array]:
        """The weights of the outputs' tangents in the derivative of Re⟨weights, invariants⟩."""
        found = [np.zeros(o.shape, o.dtype) for o in outputs]
        for i, w in zip(self.values, weights):
            found[i] = found[i] + w
        for pair, w in zip(self.pairs, weights[len(self.values) :]):
            left, right = self._factors(outputs, pair)
            towards_left = np.einsum("...kij,...kj->...ik", w, right.conj())
            towards_right = np.einsum("...kij,...ik->...kj", w, left.conj())
            if pair[0] is None:
                towards_right = towards_right + _adjoint(towards_left)
            elif pair[1] is None:
                towards_left = towards_left + _adjoint(towards_right)
            if pair[0] is not None:
                found[pair[0]][..., : self.rank] += towards_left
            if pair[1] is not None and self.upright:
                found[pair[1]][..., : self.rank] += _adjoint(towards_right)
            elif pair[1] is not None:
                found[pair[1]][..., : self.rank, :] += towards_right
        return found


def invariants_of(outputs: Sequence[Array], inputs: Sequence[Array]) -> Invariants | None:
    """What is defined of the outputs, if they are a decomposition: values with their vectors, or factors that give an input back."""
    # Of a batch of matrices the values have two dimensions themselves.
    dimensions = max((o.ndim for o in outputs), default=0)
    matrices = [i for i, o in enumerate(outputs) if o.ndim == dimensions >= 2 and o.size]
    if not matrices:
        return None
    first = outputs[matrices[0]]
    if not _unit_columns(first):  # the right vectors of an SVD by themselves are rows
        rows = len(outputs) == 1 and _unit_columns(_adjoint(first)) and _eigenvectors(_adjoint(first), inputs)
        return Invariants((), [(None, matrices[0])], first.shape[-2]) if rows else None
    values = [i for i, o in enumerate(outputs) if o.ndim == first.ndim - 1 and o.size]
    if len(outputs) != len(matrices) + len(values) or len(values) > 1:
        return None
    if len(matrices) == 1 and (first.shape[-1] == outputs[values[0]].shape[-1] if values else _eigenvectors(first, inputs)):
        return Invariants(values, [(matrices[0], None)], first.shape[-1])
    if len(matrices) != 2:
        return None
    second = outputs[matrices[1]]
    rank = outputs[values[0]].shape[-1] if values else min(first.shape[-1], second.shape[-2])
    if first.shape[-1] < rank:
        return None
    between = outputs[values[0]][..., None, :] if values else 1.0
    for upright, lying in ((False, second), (True, _adjoint(second))):
        back = (first[..., :rank] * between) @ lying[..., :rank, :] if lying.shape[-2] >= rank else first[..., :0, :]
        if any(x.shape == back.shape and _same(x, back) for x in inputs):
            return Invariants(values, [(matrices[0], None), (matrices[0], matrices[1])], rank, upright)
    return None


class Judged:
    """The derivative of a random sum of the invariants along one direction: as scenarios of order one give it, and as differences do."""

    def __init__(
        self, trial: Trial, defined: Invariants, along: Vec, scenarios: Sequence[Scenario], weights: list[Array] | None = None
    ) -> None:
        self.trial, self.defined, self.along = trial, defined, along
        self.weights = [trial.noise(i.shape, i.dtype) for i in defined.of(trial.direct)] if weights is None else weights
        v = Vec([np.asarray(a, o.dtype) for a, o in zip(defined.pulled(trial.direct, self.weights), trial.direct)])
        outcomes = {s: trial.attempt(s, [along], v=v) for s in scenarios}
        self.numbers = {s: trial.number(o, v) for s, o in outcomes.items() if isinstance(o, Outcome)}
        self.numeric = estimate(self._at, self._at(0.0), trial.epsilon)

    def _at(self, t: float) -> Array:
        outcome = self.trial.attempt(DIRECT, (), self.along, t)
        if isinstance(outcome, Refusal) or [o.shape for o in outcome.outputs] != [o.shape for o in self.trial.direct]:
            return np.array([np.nan])
        return np.concatenate([(w.conj() * i).real.ravel() for w, i in zip(self.weights, self.defined.of(outcome.outputs))])

    def bar(self, scenario: Scenario) -> float:
        size = max(abs(self.numbers[scenario]), self.numeric.magnitude)
        return NUMERIC_BARS * self.numeric.error + AD_UNITS * self.trial.epsilon * size

    def right(self, scenario: Scenario) -> bool | None:
        """Whether a scenario agrees; None where it gave nothing or the bars are too wide to tell."""
        number, numeric = self.numbers.get(scenario, np.nan), self.numeric
        if not np.isfinite(number) or not numeric.usable or numeric.one_sided or numeric.kink or numeric.growing:
            return None
        if self.bar(scenario) > CONCLUSIVE * max(abs(number), abs(numeric.value)):
            return None
        gap = abs(number - numeric.value)
        return True if gap <= self.bar(scenario) else None if self._shaken(scenario, gap) else False

    def _shaken(self, scenario: Scenario, gap: float) -> bool:
        """Whether another rounding of the inputs moves AD or the slope by a part of the gap: what cancels between phases is as large."""
        for pattern in range(PATTERNS):
            moved = (2 * self.trial.epsilon * j for j in self.trial.jitter(pattern + 1).arrays)
            try:
                there = Trial(self.trial.target, self.trial.program, self.trial.salt, [x + m for x, m in zip(self.trial.inputs, moved)])
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                self.trial.target.classify(error)  # raises what is no word of the library's: a limit that is reached
                continue
            if not there.finite or [o.shape for o in there.direct] != [o.shape for o in self.trial.direct]:
                continue
            other = Judged(there, self.defined, self.along, [scenario], self.weights)
            differences = other.numbers.get(scenario, np.nan) - self.numbers[scenario], other.numeric.value - self.numeric.value
            if any(not abs(d) <= SHAKEN * gap for d in differences):
                return True
        return False


def _unit_columns(a: Array) -> bool:
    with np.errstate(all="ignore"):
        lengths = np.sqrt((np.abs(a) ** 2).sum(axis=-2))
    return bool((np.abs(lengths - 1.0) <= CLOSE).all())


def _eigenvectors(vectors: Array, inputs: Sequence[Array]) -> bool:
    """Whether the columns are eigenvectors of an input, or of its product with its adjoint, as singular vectors are.

    Of a single number every number of size one is one: what a saturated function gives says nothing.
    """
    if vectors.shape[-2] < 2:
        return False
    with np.errstate(all="ignore"):
        for x in inputs:
            if x.ndim < 2 or x.shape[:-2] != vectors.shape[:-2]:
                continue
            for matrix in (x, x @ _adjoint(x), _adjoint(x) @ x):
                if matrix.shape[-2:] == (vectors.shape[-2],) * 2:
                    image = matrix @ vectors
                    if _same(image, vectors * (np.conj(vectors) * image).sum(axis=-2, keepdims=True)):
                        return True
    return False


def _same(a: Array, b: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool((np.abs(a - b) <= CLOSE * np.abs(b).max(initial=0.0)).all())


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))
