"""A Program bound to MLX: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import MAX_ELEMENTS, Program, Tensor
from gradfuzz.targets.base.binding import Binding
from gradfuzz.targets.base.compiled import plan_key
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT
from gradfuzz.targets.base.evaluate import Compiler, run_steps
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz_mlx.arrays import UNITS, floating, to_mlx, to_numpy
from gradfuzz_mlx.derivatives import derivative
from gradfuzz_mlx.graph import MOVES, Graph, graph_of
from gradfuzz_mlx.ways import WAYS

Array = Any


class MlxPoint(Binding):
    """One Program at one point. MLX's arrays do not change, and what draws random numbers is outside the language."""

    random = False
    mutates = False

    def __init__(self, program: Program, compiler: Compiler, graphs: Plans[Graph], arrays: list[Array] | None = None) -> None:
        super().__init__(program, compiler, arrays)
        self._program, self._graphs = program, graphs
        self._resting = {**self.fixed, **self.constants}
        self._dtypes: list[Any] = []  # of the outputs
        self._graph: Graph | None = None
        self._ran: set[str] = set()

    def leaf(self, array: Array, recipe: Tensor) -> Any:
        return to_mlx(array, recipe.dtype, recipe.layout)

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(x) for x in self.leaves]

    @property
    def unit(self) -> float:
        """Also of what is computed in between: some kernels for doubles are single precision inside."""
        own = [UNITS[d] for d in [*self._dtypes, *(x.dtype for x in self.leaves)]]
        return max([DOUBLE_UNIT, self.graph.unit, *own])

    @property
    def graph(self) -> Graph:
        if self._graph is None:
            key = plan_key(self._program, self._graphs)
            self._graph = self._graphs.find(key)
            if self._graph is None:
                self._graph = graph_of(self.function, self.leaves)
                self._graphs.keep(key, self._graph)
        return self._graph

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Sequence[Any]) -> list[Any]:
        """F at xs: the floating outputs, flattened. Nothing is computed before it is looked at."""
        env = dict(self._resting)
        env.update(zip(self.names, xs))
        return floating(run_steps(self.steps, env))

    def first(self) -> list[Array]:
        outputs = self.function(self.leaves)
        if sum(o.size for o in outputs) > MAX_ELEMENTS:
            raise ProgramError("the output is larger than a Program may make")
        self._dtypes = [o.dtype for o in outputs]
        mx.eval(outputs)
        return [to_numpy(o) for o in outputs]

    # The scenarios -------------------------------------------------------------------------------------------------

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        xs = self.leaves
        if along is not None:
            xs = [x + (shift * d).astype(x.dtype) for x, d in zip(xs, self._native(along, [mx.float64] * len(xs)))]
        computed = WAYS[scenario.way] if scenario.way else derivative
        dtypes = [x.dtype for x in xs]
        weights = [] if v is None else self._native(v, self._dtypes)
        outputs, result = computed(self.function, xs, scenario.modes, [self._native(u, dtypes) for u in us], weights)
        mx.eval(outputs, result)
        self._ran.add("second" if scenario.order > 1 else "".join(scenario.modes))
        seen = self.function(xs) if outputs is None else outputs
        return Outcome([to_numpy(o) for o in seen], [to_numpy(r) for r in result], "r" in scenario.modes)

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        self.first()
        return self.run(scenario, us, v)

    def bare(self, scenario: Scenario) -> str:
        """The calls directly or in one mode, with nothing run before them: what comes out, as far as it is floating."""
        outputs: list[Any] = []

        def function(*xs: Any) -> list[Any]:
            outputs[:] = self.function(xs)
            return outputs

        xs = list(self.leaves)
        if scenario.modes == ("f",):
            found = mx.jvp(function, xs, [mx.ones_like(x) for x in xs])
        elif scenario.modes:
            found = mx.grad(lambda *inputs: sum(mx.sum(mx.real(o)) for o in function(*inputs)), list(range(len(xs))))(*xs)
        else:
            found = function(*xs)
        shapes = [f"{o.dtype}{list(o.shape)}" for o in outputs]
        mx.eval(found)
        return ", ".join(shapes) or "nothing floating"

    def _native(self, vector: Vec, dtypes: Sequence[Any]) -> list[Any]:
        """A direction as MLX's arrays, in the types of the inputs or outputs; double ones lose nothing on the way there."""
        if vector.native is None:
            vector.native = [to_mlx(a, "complex64" if a.dtype.kind == "c" else "float64") for a in vector.arrays]
        return [a if a.dtype == d or a.dtype == mx.complex64 else a.astype(d) for a, d in zip(vector.native, dtypes)]

    # The rules -----------------------------------------------------------------------------------------------------

    def rules(self) -> list[str]:
        """Primitives of F by the kinds of scenarios that ran; at order two those of its derivatives."""
        tables = {"r": ("reverse", self.graph.names), "f": ("forward", self.graph.names), "second": ("second", self.graph.derivative)}
        return sorted(f"{tables[kind][0]}:{name}" for kind in self._ran & tables.keys() for name in tables[kind][1])

    def fault(self) -> str:
        """The one primitive that computes, if there is just one."""
        names = self.graph.names - MOVES
        return next(iter(names)) if len(names) == 1 else ""
