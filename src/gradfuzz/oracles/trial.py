"""One mutant under examination: its point, its random directions, and every scenario's outcome, computed once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, cast

import numpy as np

from gradfuzz.errors import Poisoned
from gradfuzz.oracles.effort import FULL, Effort
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.model import DISCRETE, Program
from gradfuzz.program.values import materialise, project
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT as DOUBLE_UNIT
from gradfuzz.targets.base.dtypes import as_double
from gradfuzz.targets.base.protocol import Choosing, Foreseeing, Outcome, Point, Refusal, Target, Vec
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, Scenario, nestings

Array = Any

# Directions come from one stream of normal numbers, which begins at another place for every salt. Scripts draw the same numbers.
STREAM = 271828
_STARTS = 2**16
_POOL_SIZE = 2 * _STARTS
_POOL = np.random.default_rng(STREAM).standard_normal(_POOL_SIZE)
# Where directions begin that no script draws: they must not move those that scripts do.
_ASIDE = 31337
_REAL, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)


def never(rule: str, finding: Verdict) -> bool:
    """Nothing is familiar."""
    return False


Familiar = Callable[[str, Verdict], bool]  # of the rule at fault, if there is just one, and a finding


def start_of(salt: int) -> int:
    """Where in the stream the directions of a salt begin."""
    return (salt * 7919) % _STARTS


class Noise:
    """Normal numbers from the stream, one after the other. Drawing them afresh would cost more than many an operator."""

    def __init__(self, start: int) -> None:
        self._cursor = start

    def like(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """As many as the shape has; complex numbers are pairs of them."""
        count = math.prod(shape)
        width = 2 * count if dtype.kind == "c" else count
        if width > _STARTS // 2:
            numbers: Array = np.resize(_POOL, width)
        else:
            if self._cursor + width > _POOL_SIZE:
                self._cursor = (self._cursor + width) % 977
            numbers = _POOL[self._cursor : self._cursor + width]
            self._cursor += width
        if dtype.kind == "c":
            numbers = numbers.view(np.complex128).copy()  # a slice of the pool need not be aligned for complex numbers
        return (numbers if numbers.dtype == dtype else numbers.astype(dtype)).reshape(shape)


class Trial:
    """Runs scenarios on demand and remembers what they gave. Library errors are read once and kept as Refusals."""

    def __init__(
        self, target: Target, program: Program, salt: int = 0, arrays: list[Array] | None = None, effort: Effort = FULL,
        known: Familiar = never,
    ) -> None:  # fmt: skip
        self.target, self.program, self.salt, self.effort = target, program, salt, effort
        self.point: Point = target.point(program, arrays)
        self._known = known
        self.outcomes: dict[Scenario, Outcome | Refusal] = {}
        self.noise = Noise(start_of(salt)).like
        self._directions: list[Vec] = []
        self._inputs: list[Array] | None = None
        self.agreed: set[int] = set()  # orders whose plain derivatives were found right
        self.held: frozenset[int] = frozenset()  # inputs that no direction moves
        if hasattr(self.point, "foreseen"):
            foreseeing = cast(Foreseeing, self.point)
            self.v = Vec([self.noise(o.shape, o.dtype) for o in foreseeing.foreseen()])
            self.direct = foreseeing.first_along(self.direction(0), self.v)
        else:
            self.direct = self.point.first()
            self.v = Vec([self.noise(o.shape, o.dtype) for o in self.direct])
        self.outputs: list[Array] = self.direct
        self.resting = not self.finite and self._leave_out_infinities()

    @property
    def finite(self) -> bool:
        """Whether the direct outputs are finite, those aside that have no weight."""
        return all(bool(np.isfinite(o).all()) or bool(np.isfinite(o[w != 0]).all()) for o, w in zip(self.direct, self.v.arrays))

    def _leave_out_infinities(self) -> bool:
        """Take the weight of outputs that rest at an infinity, as those of a mask do and a logarithm outside of its support does.

        Their derivative is nothing, and forward mode says so. One that has overflown says infinity, and one at a pole no number: of these
        nobody knows, and so of the whole.
        """
        infinite = [np.isinf(o) for o in self.direct]
        if any(np.isnan(o).any() for o in self.direct) or all(i.all() for i in infinite):
            return False
        outcome = self.attempt(FORWARD, self.directions(1))
        if not isinstance(outcome, Outcome) or [r.shape for r in outcome.result] != [o.shape for o in self.direct]:
            return False
        if any(bool((r[i] != 0).any()) for r, i in zip(outcome.result, infinite)):
            return False
        self.v = Vec([np.where(i, 0, w) for i, w in zip(infinite, self.v.arrays)])
        return True

    @property
    def finite_inputs(self) -> bool:
        """Whether all floating inputs are finite, those that are not differentiated included."""
        others = (materialise(r) for r in self.program.inputs.values() if not r.differentiable and r.dtype not in DISCRETE)
        return all(bool(np.isfinite(x).all()) for x in (*self.inputs, *others))

    # Directions ----------------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[Array]:
        if self._inputs is None:
            self._inputs = self.point.inputs
        return self._inputs

    def direction(self, index: int) -> Vec:
        """The direction of the index-th differentiation."""
        while len(self._directions) <= index:
            arrays = []
            for x, scale, structure in zip(self.inputs, self.point.scales, self.point.structures):
                array = self.noise(x.shape, _COMPLEX if x.dtype.kind == "c" else _REAL) * scale
                if x.ndim == 0:
                    array = np.asarray(array)  # NumPy turns products of 0-dimensional arrays into scalars
                if not np.isfinite(x.sum()) and not np.isfinite(x).all():
                    array = np.where(np.isfinite(x), array, 0)  # infinite elements stay where they are
                arrays.append(project(array, structure) if structure else array)
            self._directions.append(self._held(arrays))
        return self._directions[index]

    def directions(self, count: int) -> list[Vec]:
        """The directions of the first so many differentiations."""
        return [self.direction(i) for i in range(count)]

    def relative_direction(self) -> Vec:
        """A direction that moves each element in proportion to itself, so that no sign changes."""
        noise = Noise(start_of(self.salt + _ASIDE))
        arrays = [np.asarray(noise.like(x.shape, _wide(x.dtype)) * np.abs(x) / 2) for x in self.inputs]
        return self._held([project(a, s) if s else a for a, s in zip(arrays, self.point.structures)])

    def _held(self, arrays: list[Array]) -> Vec:
        return Vec([np.zeros_like(a) if i in self.held else a for i, a in enumerate(arrays)] if self.held else arrays)

    def jitter(self, index: int) -> Vec:
        """A direction that moves each element by its own size, up or down by chance: a few units of it are a rounding of the inputs."""
        return Vec([np.asarray(np.abs(x) * np.sign(d.real)) for x, d in zip(self.inputs, self.direction(index).arrays)])

    @property
    def epsilon(self) -> float:
        """The unit of the coarsest floating type among inputs and outputs."""
        return self.point.unit

    @property
    def inside(self) -> float:
        """The same of the types that numbers have inside the function, where that is known."""
        return max(self.epsilon, float(getattr(self.point, "narrowest", 0.0)))  # see Narrowing

    def mute(self, live: list[bool] | None) -> None:
        """Leave outputs that the library declares to have no derivative out of the projection."""
        if live is not None and not all(live) and any(live):
            arrays = [a if alive else np.zeros_like(a) for a, alive in zip(self.v.arrays, live)]
            self.v = Vec(arrays)

    def aim(self, directions: Sequence[Vec], v: Vec) -> None:
        """Look along these directions and weigh outputs so from now on, instead of at random."""
        self._directions, self.v, self.outcomes = list(directions), v, {}

    # Scenarios -----------------------------------------------------------------------------------------------------

    def outcome(self, scenario: Scenario) -> Outcome | Refusal:
        """What a scenario gives at the inputs along the trial's own directions, computed once."""
        found = self.outcomes.get(scenario)
        if found is None:
            found = self.outcomes[scenario] = self.attempt(scenario, self.directions(scenario.order))
        return found

    def attempt(
        self, scenario: Scenario, us: Sequence[Vec], along: Vec | None = None, shift: float = 0.0, v: Vec | None = None
    ) -> Outcome | Refusal:
        try:
            return self.point.run(scenario, us, self.v if v is None else v, along, shift)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            refusal = self.target.classify(error)
            if refusal.kind == "poisoned":
                raise Poisoned from error
            return refusal

    def choices(self, along: Vec, shift: float) -> list[Array]:
        """Outputs of whole numbers at inputs + shift·along; none where the library does not tell."""
        if not hasattr(self.point, "choices"):
            return []
        try:
            return cast(Choosing, self.point).choices(along, shift)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return []

    def number(self, outcome: Outcome, v: Vec | None = None) -> float:
        """The projection ⟨v, J u⟩ (of any order) that every scenario must agree on."""
        if outcome.contracted:
            return float(outcome.result[0])
        return contract((self.v if v is None else v).arrays, outcome.result)

    def weighted(self, outcome: Outcome, v: Vec | None = None) -> list[Array]:
        """Re(conj(v)·result), element by element."""
        if outcome.contracted:
            return [np.asarray(outcome.result[0])]
        weights = (self.v if v is None else v).arrays
        return [_weigh(w, r) for w, r in zip(weights, outcome.result)]

    def components(self, outcome: Outcome | Refusal, v: Vec | None = None) -> Array:
        """The weighted result as one vector; NaN where the scenario refused or the shapes have come apart."""
        if isinstance(outcome, Refusal):
            return np.array([np.nan])
        weights = self.v if v is None else v
        if not outcome.contracted and any(w.shape != r.shape for w, r in zip(weights.arrays, outcome.result)):
            return np.array([np.nan])
        parts = self.weighted(outcome, weights)
        return parts[0].ravel() if len(parts) == 1 else np.concatenate([p.ravel() for p in parts] or [np.zeros(0)])

    def line(self, scenario: Scenario, us: Sequence[Vec], along: Vec) -> Any:
        """t ↦ components of the scenario at inputs + t·along."""
        return lambda t: self.components(self.attempt(scenario, us, along, t))

    def scenarios(self, order: int, only: frozenset[Scenario] | None = None) -> list[Scenario]:
        return nestings(order) if only is None else [s for s in nestings(order) if s in only]

    def rule(self) -> str:
        """The one derivative rule at work, if there is just one; else nothing."""
        return self.point.fault()

    def familiar(self, finding: Verdict) -> bool:
        """Whether other trials have shown the same so often that nothing new is to be learnt from it."""
        return self._known(self.rule(), finding)


def run_alone(target: Target, program: Program, scenario: Scenario) -> Outcome:
    """One scenario at a Program's inputs with no other beside it, along directions as good as any. Raises what the library does."""
    if scenario == DIRECT:
        return target.point(program).run_alone(scenario, (), None)
    try:
        point = target.point(program)
        outputs = cast(Foreseeing, point).foreseen() if hasattr(point, "foreseen") else point.first()
    except Exception:  # what the direct run refuses was run under differentiation all the same
        target.bare(program, scenario)
        raise
    if not outputs and scenario.order == 1 and not scenario.way:
        target.bare(program, scenario)
    u = Vec([np.asarray(np.cos(1.0 + np.arange(x.size)).reshape(x.shape) * scale) for x, scale in zip(point.inputs, point.scales)])
    v = Vec([np.cos(2.0 + np.arange(o.size)).reshape(o.shape).astype(o.dtype) for o in outputs])
    return point.run_alone(scenario, [u] * max(1, scenario.order), v)


def contract(weights: list[Array], arrays: list[Array]) -> float:
    """Re⟨w, a⟩ over all arrays; NaN if their shapes have come apart (a shape may depend on the numbers)."""
    total = 0.0
    for weight, array in zip(weights, arrays):
        if weight.shape != array.shape:
            return math.nan
        if array.dtype.itemsize < 8:
            array = array.astype(np.float64)
        part = np.vdot(weight, array).real
        if part != part:
            part = np.vdot(weight[weight != 0], array[weight != 0]).real  # what has no weight says nothing, be it NaN
        total += part
    return float(total)


def _weigh(weights: Array, array: Array) -> Array:
    """Re(conj(w)·a), element by element. What rests at an infinity and has no weight is nothing."""
    if array.dtype.kind == "c" or weights.dtype.kind == "c":
        return np.asarray((weights.conj() * array).real)
    if array.size and not np.isfinite(array.sum()):
        array = np.where((weights == 0) & np.isinf(array), 0.0, array)
    return np.asarray(weights * as_double(array))


def _wide(dtype: Any) -> Any:
    return _COMPLEX if dtype.kind == "c" else _REAL
