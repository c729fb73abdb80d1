"""A tiny differentiable library in NumPy, so that the oracles can be tested where no real one is installed."""

import numpy as np

from gradfuzz.program.values import materialise, size_of
from gradfuzz.targets.base.protocol import Outcome, Refusal
from gradfuzz.targets.homes import language_for


class NumpyPoint:
    """F and its first derivative, written out; `reverse` and `forward` can be told to be wrong."""

    random = mutates = False
    made = ()
    unit = 2.0**-52

    def __init__(self, owner, program, arrays=None):
        self.owner = owner
        self.names = [name for name, r in program.inputs.items() if r.differentiable]
        self._inputs = [materialise(r) for r in program.inputs.values() if r.differentiable] if arrays is None else arrays
        self.fixed = [materialise(r) for r in program.inputs.values() if not r.differentiable]
        self.scales = [size_of(x) for x in self._inputs]
        self.structures = [None] * len(self.names)

    @property
    def inputs(self):
        return self._inputs

    def first(self):
        return [o for o in [self.owner.f(*self._inputs, *self.fixed)] if o.dtype.kind == "f"]

    def run(self, scenario, us, v, along=None, shift=0.0):
        modes = scenario.modes
        xs = self._inputs if along is None else [x + shift * a for x, a in zip(self._inputs, along.arrays)]
        value = np.asarray(self.owner.f(*xs, *self.fixed))
        if not modes:
            return Outcome([value], [value])
        jacobian = self.owner.jacobian(*xs, *self.fixed)
        tangent = np.asarray(sum(j @ u.ravel() for j, u in zip(jacobian, us[0].arrays))).reshape(value.shape)
        if modes == ("f",):
            return Outcome([value], [tangent * self.owner.forward_factor])
        if modes == ("r",):
            return Outcome([value], [float(np.vdot(v.arrays[0], tangent)) * self.owner.reverse_factor], True, [True])
        raise NotImplementedError("one order only")

    def run_alone(self, scenario, us, v):
        return self.run(scenario, us, v)

    def rules(self):
        return ["reverse:numpy"]

    def fault(self):
        return "numpy"


class NumpyTarget:
    """The library: a function and its Jacobian."""

    name, version, ways = "numpy", "0", {}

    def __init__(self, f, jacobian=None, reverse_factor=1.0, forward_factor=1.0, under=None):
        self.f, self.jacobian, self.under = f, jacobian, under
        self.reverse_factor, self.forward_factor = reverse_factor, forward_factor
        self.language = language_for("torch")

    def point(self, program, arrays=None):
        return NumpyPoint(self, program, arrays)

    def bare(self, program, scenario):
        """The function by itself, or what stands in for it under differentiation."""
        point = self.point(program)
        xs = [*point.inputs, *point.fixed]
        return str((self.under or self.f if scenario.modes else self.f)(*xs).dtype)

    def classify(self, error):
        kind = "unsupported" if isinstance(error, NotImplementedError) else "internal" if "ASSERT" in str(error) else "error"
        return Refusal(kind, str(error), str(error))


class Viewing(NumpyTarget):
    """Knows of views whose slices are one in memory: directions keep them so."""

    def point(self, program, arrays=None):
        point = super().point(program, arrays)
        point.structures = [recipe.kept for recipe in program.inputs.values() if recipe.differentiable]
        return point


class Solver(NumpyTarget):
    """A function of an array and a tolerance, elementwise, and its slope, likewise; the Program's call says which tolerance."""

    def __init__(self, f, slope, **factors):
        super().__init__(f, **factors)
        self.slope = slope

    def point(self, program, arrays=None):
        tol = next(value for call in program.calls() for name, value in call.kwargs if name == "tol")
        solved = NumpyTarget(lambda x: self.f(x, tol), lambda x: [np.diag(self.slope(x, tol))], self.reverse_factor, self.forward_factor)
        return solved.point(program, arrays)

    def parameters(self, func):
        return []


class ManyPoint(NumpyPoint):
    """F with several outputs, and their tangents."""

    def first(self):
        return self.owner.f(*self._inputs)

    def run(self, scenario, us, v, along=None, shift=0.0):
        xs = self._inputs if along is None else [x + shift * a for x, a in zip(self._inputs, along.arrays)]
        values = self.owner.f(*xs)
        if not scenario.modes:
            return Outcome(values, values)
        if scenario.order > 1:
            raise NotImplementedError("one order only")
        tangents = self.owner.tangents(xs, us[0].arrays)
        if scenario.modes == ("f",):
            return Outcome(values, [t * self.owner.forward_factor for t in tangents])
        total = sum(np.vdot(w, t).real for w, t in zip(v.arrays, tangents))
        return Outcome(values, [float(total) * self.owner.reverse_factor], True, [True] * len(values))

    def choices(self, along, shift):
        return self.owner.choices(*(x + shift * a for x, a in zip(self._inputs, along.arrays)))


class ManyTarget(NumpyTarget):
    """The library: a function of several outputs, their tangents, and outputs of whole numbers, if any."""

    def __init__(self, f, tangents, choices=lambda *xs: [], **factors):
        super().__init__(f, None, **factors)
        self.tangents, self.choices = tangents, choices

    def point(self, program, arrays=None):
        return ManyPoint(self, program, arrays)
