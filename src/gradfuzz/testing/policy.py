"""The two-oracle policy: an op is right if its twin in another library and the numeric derivative both say so.

|                     | numeric agrees         | numeric disagrees  |
| the twin agrees     | the op is right        | the check is wrong |
| the twin disagrees  | the convention differs | the op is wrong    |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.numdiff.ladder import central, estimate
from gradfuzz.oracles.gradient import STEP
from gradfuzz.oracles.trial import DOUBLE_UNIT
from gradfuzz.targets.base.functions import Functions
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import DIRECT, REVERSE
from gradfuzz.targets.homes import default_target, homes
from gradfuzz.testing.function import FunctionPoint, Subject, subject_of
from gradfuzz.testing.library import pick

Array = Any

RIGHT = "right"
OP_WRONG = "op wrong"
CHECK_WRONG = "check wrong"
CONVENTION_DIFFERS = "convention differs"

# Two exact derivatives in float64 differ by rounding alone; a central difference loses half the digits, and then some.
TWIN_TOLERANCE = 1e-7
NUMERIC_TOLERANCE = 1e-4

ADVICE = {
    OP_WRONG: "both oracles contradict the op: derive its backward again",
    CHECK_WRONG: "{twin} agrees with the op and the numeric derivative does not: the point is a kink, an edge of the domain or too "
    "ill-conditioned for steps; move the inputs (gradfuzz.testing.strategies.away_from)",
    CONVENTION_DIFFERS: "the numeric derivative agrees with the op and {twin} does not: the op computes something else than its "
    "{twin} twin (a sign, a transpose, a reduction, a choice at a tie); compare their definitions",
    RIGHT: "both oracles agree with the op",
}


@dataclass(frozen=True)
class Comparison:
    """One element, as the op, its twin and the numeric derivative have it."""

    element: str
    op: float
    twin: float
    numeric: float


@dataclass(frozen=True)
class Judgement:
    """What the policy says about an op at some inputs."""

    outcome: str
    op: str
    values_differ: bool
    worst: tuple[Comparison, ...]
    twin: str  # the library that the op's twin is of

    def __str__(self) -> str:
        lines = [f"{self.op}: {self.outcome}. {ADVICE[self.outcome].format(twin=self.twin)}"]
        if self.values_differ:
            lines.append(f"the values of the op and of {self.twin} differ too, so they are not the same function here")
        if self.worst:
            lines += ["", f"    {'element':14}{'op':>20}{self.twin:>20}{'numeric':>20}"]
            lines += [f"    {c.element:14}{c.op:>20.10g}{c.twin:>20.10g}{c.numeric:>20.10g}" for c in self.worst]
        return "\n".join(lines)


class TwoOracleFailure(AssertionError):
    """The two oracles do not both agree with the op; `judgement.outcome` says which of the four cases it is."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__(str(judgement))
        self.judgement = judgement


def two_oracles(
    op: Callable[..., Any], reference: Callable[..., Any], *inputs: Array, library: Any = None, against: str | None = None
) -> Judgement:
    """Judge the gradient of `sum(op(*inputs))` by that of its twin `reference` (1e-7) and by the numeric derivative (1e-4).

    `op` is written for `library` (an Adapter or a name), `reference` for the library `against` (where nobody says, the one that is
    the default everywhere); inputs are NumPy arrays, floating ones are differentiated. Returns the Judgement if the op is right, else
    raises TwoOracleFailure that names the outcome.
    """
    judgement = compare(op, reference, *inputs, library=library, against=against)
    if judgement.outcome != RIGHT:
        raise TwoOracleFailure(judgement)
    return judgement


def compare(
    op: Callable[..., Any], reference: Callable[..., Any], *inputs: Array, library: Any = None, against: str | None = None
) -> Judgement:
    """`two_oracles` without raising."""
    twin = against or default_target()
    ours = _Side(op, inputs, pick(library, inputs))
    theirs = _Side(reference, inputs, pick(twin, ()))
    values_differ = [o.shape for o in ours.outputs] != [o.shape for o in theirs.outputs] or not all(
        np.allclose(a, b, TWIN_TOLERANCE, TWIN_TOLERANCE, equal_nan=True) for a, b in zip(ours.outputs, theirs.outputs)
    )
    mine, other = ours.gradients(), theirs.gradients()
    numeric = [ours.numeric(index, mine[index]) for index in range(len(mine))]
    by_twin = [_close(a, b, TWIN_TOLERANCE) for a, b in zip(mine, other)]
    by_numeric = [_close(a, b, NUMERIC_TOLERANCE) for a, b in zip(mine, numeric)]
    twin_agrees = not values_differ and all(bool(ok.all()) for ok in by_twin)
    numeric_agrees = all(bool(ok.all()) for ok in by_numeric)
    outcome = {
        (True, True): RIGHT, (True, False): CHECK_WRONG, (False, True): CONVENTION_DIFFERS, (False, False): OP_WRONG,
    }[twin_agrees, numeric_agrees]  # fmt: skip
    rows = []
    for position, name in enumerate(ours.subject.names):
        for flat in np.flatnonzero(~(by_twin[position] & by_numeric[position]))[:6]:
            where = np.unravel_index(flat, mine[position].shape)
            label = f"{name}[{', '.join(str(int(i)) for i in where)}]" if where else name
            rows.append(Comparison(label, *(float(side[position].ravel()[flat]) for side in (mine, other, numeric))))
    return Judgement(outcome, ours.subject.title, values_differ, tuple(rows[:6]), homes()[twin].title)


class _Side:
    """A function with its gradient of the summed outputs."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Array], library: Functions) -> None:
        self.library = library
        self.subject: Subject = subject_of(function, inputs, library, None)
        with library.session():
            self.point = FunctionPoint(self.subject, list(self.subject.program().inputs.values()), self.subject.arrays)
            self.outputs = self.point.first()
        if not self.outputs:
            raise GradfuzzError(f"{self.subject.title} returns no floating tensor of {library.name}")
        self.ones = Vec([np.ones(o.shape, o.dtype) for o in self.outputs])

    def gradients(self) -> list[Array]:
        """Element by element: each is one reverse run, so inputs should be small, as in any such test."""
        found = []
        with self.library.session():
            for index, array in enumerate(self.point.inputs):
                entries = [float(self.point.run(REVERSE, [self._unit(index, flat)], self.ones).result[0]) for flat in range(array.size)]
                found.append(np.array(entries, np.float64).reshape(array.shape))
        return found

    def numeric(self, index: int, expected: Array) -> Array:
        """The central difference, and the ladder where that disagrees with what is expected."""
        with self.library.session():
            entries = [self._numeric(index, flat, float(expected.ravel()[flat])) for flat in range(expected.size)]
        return np.array(entries, np.float64).reshape(expected.shape)

    def _numeric(self, index: int, flat: int, expected: float) -> float:
        scale = max(1.0, abs(float(self.point.inputs[index].ravel()[flat])))
        along = self._unit(index, flat, scale)

        def line(t: float) -> Array:
            outcome: Outcome = self.point.run(DIRECT, (), None, along, t)
            return np.concatenate([o.ravel() for o in outcome.outputs])

        with np.errstate(all="ignore"):
            quick = central(line, STEP) / scale
            if bool(_close(np.asarray(quick), np.asarray(expected), NUMERIC_TOLERANCE)):
                return quick
            sharper = estimate(line, np.concatenate([o.ravel() for o in self.outputs]), max(self.point.unit, DOUBLE_UNIT))
        # At a kink the extrapolation settles on nothing in particular; the plain difference is what the policy means.
        return sharper.value / scale if sharper.usable and not sharper.kink else quick

    def _unit(self, index: int, flat: int, size: float = 1.0) -> Vec:
        arrays = [np.zeros(x.shape) for x in self.point.inputs]
        arrays[index].reshape(-1)[flat] = size
        return Vec(arrays)


def _close(ours: Array, theirs: Array, tolerance: float) -> Array:
    """Relative to the larger, absolute below one. NaN is close to NaN alone."""
    with np.errstate(all="ignore"):
        near = np.abs(ours - theirs) <= tolerance * np.maximum(1.0, np.maximum(np.abs(ours), np.abs(theirs)))
    return np.asarray(near | (np.isnan(ours) & np.isnan(theirs)))
