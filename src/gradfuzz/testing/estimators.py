"""Stochastic gradients, checked in expectation: one sample proves nothing, the mean of many has a confidence interval."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.oracles.trial import Noise, start_of
from gradfuzz.program.values import project
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import DIRECT, REVERSE
from gradfuzz.testing.check import running
from gradfuzz.testing.function import FunctionPoint, Subject, subject_of
from gradfuzz.testing.library import pick

SAMPLES = 4000
SECONDS = 30.0
# A wrong verdict on a healthy estimator once in ten thousand checks.
CONFIDENCE = 0.9999
# An interval this wide, as a part of the derivative, tells a right estimator from one that lacks a term or a factor.
NARROW = 0.1
# Looked at after so many samples, and then after every doubling: whoever looks all the time sees what is not there.
FIRST_LOOK = 250
# Steps in units of the inputs' size: long ones, since a difference of random numbers is divided by them; two, to see what length does.
STEPS = (0.1, 0.2)


@dataclass(frozen=True)
class Estimated:
    """The mean of the estimator and of the differences along one direction, and how far they may be apart by chance."""

    estimator: float
    expected: float
    interval: float
    samples: int

    @property
    def conclusive(self) -> bool:
        """Whether an error of a tenth would have been seen."""
        return self.interval <= NARROW * max(abs(self.expected), abs(self.estimator))

    def __str__(self) -> str:
        return f"{self.estimator:.6g} against {self.expected:.6g} ± {self.interval:.2g} ({self.samples} samples)"


class EstimatorBias(AssertionError):
    """The mean of a gradient estimator is not the derivative of the mean. `found` holds the numbers."""

    def __init__(self, title: str, found: Estimated) -> None:
        super().__init__(f"the gradient of {title} is biased: its mean along a random direction is {found}")
        self.found = found


def check_estimator(
    surrogate: Callable[..., Any],
    *inputs: Any,
    value: Callable[..., Any] | None = None,
    exact: Callable[..., Any] | None = None,
    library: Any = None,
    structure: Any = None,
    samples: int = SAMPLES,
    seconds: float = SECONDS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Estimated:
    """Check that a stochastic gradient is right in expectation.

    `surrogate(seed, *inputs)` draws with the seed that it is given and returns a tensor; its reverse-mode gradient is one sample of the
    estimator. A reparameterised sample is its own value. A score-function surrogate is not: `value(seed, *inputs)` returns the
    quantity whose mean is differentiated, or `exact(*inputs)` that mean itself where it is known.

    The means are compared along a random direction, with as many samples as it takes for a narrow interval, at most `samples`, for at
    most `seconds`. Raises EstimatorBias beyond the confidence interval; `conclusive` says whether the interval is narrow.
    """
    if not 0.5 < confidence < 1:
        raise GradfuzzError(f"confidence={confidence!r}: a number between 0.5 and 1, as in 0.9999")
    if samples < 2 * FIRST_LOOK // 10:
        raise GradfuzzError(f"samples={samples}: too few for a mean; give {FIRST_LOOK} or more")
    chosen = pick(library, inputs)
    with running(chosen):
        sampling = _Sampling(surrogate, value or surrogate, exact, inputs, chosen, structure, seed)
        found = sampling.run(samples, seconds, NormalDist().inv_cdf((1 + confidence) / 2))
    if abs(found.estimator - found.expected) > found.interval:
        raise EstimatorBias(sampling.title, found)
    return found


class _Sampling:
    """Samples of the estimator and of differences, with the same draws on both sides."""

    def __init__(
        self, surrogate: Any, value: Any, exact: Any, inputs: tuple[Any, ...], library: Any, structure: Any, seed: int
    ) -> None:  # fmt: skip
        self._draw = [0]
        self.title = str(getattr(surrogate, "__name__", "the estimator"))
        self._estimator = self._point(lambda *xs: surrogate(self._draw[0], *xs), inputs, library, structure)
        self._value = self._point(lambda *xs: value(self._draw[0], *xs), inputs, library, structure)
        self._exact = None if exact is None else self._point(lambda *xs: exact(*xs), inputs, library, structure)
        noise = Noise(start_of(seed)).like
        first = self._estimator.first()
        if not first or not all(np.isfinite(o).all() for o in first):
            raise GradfuzzError(f"{self.title} has no finite floating output at these inputs")
        self._v = Vec([np.ones(o.shape, o.dtype) if o.size == 1 else noise(o.shape, o.dtype) for o in first])
        point = self._estimator
        self._u = Vec([project(noise(x.shape, np.dtype(float)) * s, k) for x, s, k in zip(point.inputs, point.scales, point.structures)])

    def _point(self, function: Any, inputs: tuple[Any, ...], library: Any, structure: Any) -> FunctionPoint:
        subject: Subject = subject_of(function, inputs, library, structure)
        return FunctionPoint(subject, list(subject.program().inputs.values()), subject.arrays)

    def run(self, samples: int, seconds: float, quantile: float) -> Estimated:
        pairs: list[tuple[float, float, float]] = []
        end, look = time.monotonic() + seconds, FIRST_LOOK
        while True:
            self._draw[0] = len(pairs)
            pairs.append(self._sample())
            done = len(pairs) >= samples or time.monotonic() > end
            if len(pairs) >= look or done:
                found = self._judged(np.array(pairs), quantile)
                if done or found.conclusive:
                    return found
                look *= 2

    def _sample(self) -> tuple[float, float, float]:
        """(the estimator, a difference with the shorter step, with the longer one)"""
        outcome: Outcome = self._estimator.run(REVERSE, [self._u], self._v)
        point = self._exact or self._value
        # Of an exact mean one difference is as good as many; it is taken with every sample all the same, and has no spread.
        slopes = [self._slope(point, step) for step in STEPS]
        return float(outcome.result[0]), slopes[0], slopes[1]

    def _slope(self, point: FunctionPoint, step: float) -> float:
        ahead, behind = (self._number(point.run(DIRECT, (), None, self._u, t)) for t in (step, -step))
        return (ahead - behind) / (2 * step)

    def _number(self, outcome: Outcome) -> float:
        return float(sum(np.vdot(w, r).real for w, r in zip(self._v.arrays, outcome.result)))

    def _judged(self, drawn: Any, quantile: float) -> Estimated:
        # The leading error of a step goes with its square: two steps take it away, and leave less than what they took.
        slopes = drawn[:, 1] + (drawn[:, 1] - drawn[:, 2]) / 3
        gaps = drawn[:, 0] - slopes
        truncation = abs(float((drawn[:, 1] - drawn[:, 2]).mean())) / 3
        spread = float(gaps.std(ddof=1)) / math.sqrt(len(drawn))
        return Estimated(float(drawn[:, 0].mean()), float(slopes.mean()), quantile * spread + truncation, len(drawn))
