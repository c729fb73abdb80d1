"""Traced checks, reused: all scenarios of one order in one graph per (calls, shapes, dtypes).

Op by op a forward accumulator costs milliseconds; a traced graph of all scenarios costs tenths of one, after tens of milliseconds for
tracing. So a Plan traces F with all derivatives of an order at once, takes inputs and directions as arguments, and serves
every mutant that differs in its numbers alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import MAX_ELEMENTS
from gradfuzz.targets.protocol import QUICK_STEP, Modes, nestings
from gradfuzz.targets.tensorflow.rules import NOTED, Rules
from gradfuzz.targets.tensorflow.scenarios import Arrays, NoGradient, Way, derivative, inner, pull
from gradfuzz.targets.tensorflow.variants import VARIANTS

# F takes its differentiable inputs and the other floating ones.
PlanFunction = Callable[[Arrays, Arrays], list[Any]]

# Derivatives of derivatives multiply a graph; above this many nodes tracing the next order takes longer than a mutant may.
DEAR = {2: 1500, 3: 800}
# XLA compiles a graph of this many nodes in about the time a mutant may take.
DEAR_COMPILED = 600
# Operators whose numbers differ from run to run, whatever the seed of a Program.
RANDOM = ("Random", "Multinomial", "ParameterizedTruncatedNormal", "TruncatedNormal", "StatefulUniform", "StatefulStandardNormal")


_TO_NUMPY = re.compile(r"Cannot convert a symbolic .* to a numpy array", re.DOTALL)
_FAILING_NODE = re.compile(r"Detected at node '?(?:[\w.]+/)*([A-Za-z0-9]+)")
UNITS = {
    tf.float64: 2.0**-52, tf.complex128: 2.0**-52, tf.float32: 2.0**-23, tf.complex64: 2.0**-23, tf.float16: 2.0**-10, tf.bfloat16: 2.0**-7,
}  # fmt: skip


class TooDear(NotImplementedError):
    """Our own bound on tracing time."""


class Plan:
    """F at given shapes and dtypes: its outputs' shapes, and a traced bundle for each order asked for."""

    def __init__(self, function: PlanFunction, xs: Arrays, fixed: Arrays, rules: Rules) -> None:
        self.function, self.rules = function, rules
        outputs = function(tensors(xs), tensors(fixed))
        if sum(int(np.prod(o.shape)) for o in outputs) > MAX_ELEMENTS:
            raise ProgramError("the output is larger than a Program may make")
        self.dtypes = [o.dtype for o in outputs]
        self.zeros = [np.zeros(tuple(o.shape), o.dtype.as_numpy_dtype) for o in outputs]
        self.reached: set[str] = set()  # by reverse mode of order one
        self.nested: set[str] = set()  # by anything else
        self.unit = max([UNITS[d] for d in self.dtypes if d in UNITS], default=UNITS[tf.float64])
        self.dead: frozenset[int] = frozenset()  # inputs for which TensorFlow declares no derivative
        self._bundles: dict[int, Bundle] = {}
        self._variants: dict[str, Bundle] = {}
        self.eager = False
        self.settled = False  # the outputs' shapes are the same whatever the numbers
        if self.zeros and xs:
            self._trace(xs, fixed)

    def _trace(self, xs: Arrays, fixed: Arrays) -> None:
        """F and order one now: whether F can be traced at all, and which inputs have a derivative."""
        zeros = [np.zeros_like(x) for x in xs]
        try:
            direct = self._bundles[0] = Bundle(self, [])
            direct.trace(xs, fixed, [], [])
            self.unit, self.settled = max(self.unit, direct.unit), direct.settled
            first = self._bundles[1] = Bundle(self, nestings(1), ends=True)
            first.trace(xs, fixed, [zeros], self.zeros)
        except ProgramError:
            raise
        except Exception as error:
            if self._leaves_for_numpy(error, xs, fixed):
                raise ProgramError("part of it is computed by NumPy, where TensorFlow says that it cannot follow") from None
            # It needs the numbers themselves: such a function runs op by op, as it does for its users.
            self.eager, self.settled, self._bundles = True, False, {}
            self.rules.take()
            self.bundle(1).run(xs, fixed, [zeros], self.zeros, ("r",))

    def _leaves_for_numpy(self, error: Exception, xs: Arrays, fixed: Arrays) -> bool:
        """Whether it is the differentiable inputs that are turned into NumPy's arrays: others may well be."""
        if not _TO_NUMPY.search(str(error)):
            return False
        try:
            signature = [tf.TensorSpec(x.shape, x.dtype) for x in xs]
            tf.function(lambda *inputs: self.function(inputs, tensors(fixed)), autograph=False).get_concrete_function(*signature)
        except Exception as again:
            return bool(_TO_NUMPY.search(str(again)))
        return False

    def bundle(self, order: int) -> Bundle:
        found = self._bundles.get(order)
        if found is None and order == 0:
            found = self._bundles[0] = Bundle(self, [])
        elif found is None:
            if order > 1 and self.bundle(order - 1).size > DEAR.get(order, 0):
                raise TooDear(f"order {order} is not traced: order {order - 1} is large already")
            found = self._bundles[order] = Bundle(self, nestings(order))
        return found

    def bundles(self) -> list[Bundle]:
        """All that were asked for so far."""
        return [*self._bundles.values(), *self._variants.values()]

    def variant(self, name: str) -> Bundle:
        """The scenarios up to order one in a variant."""
        found = self._variants.get(name)
        if found is None:
            if self.eager and name not in ("eager", "persistent"):
                raise NotImplementedError(f"{name} needs a graph, and this function cannot be traced")
            if name == "compiled" and self.bundle(1).size > DEAR_COMPILED:
                raise TooDear(f"{name} is not traced: the function is large already")
            found = Bundle(self, [(), *nestings(1)], VARIANTS[name], graph=name != "eager", xla=name == "compiled")
            self._variants[name] = found
        return found


class Bundle:
    """Some scenarios as one graph; none: the direct run. A scenario that cannot be traced keeps its error; the others go on.

    With `ends`, the direct run at the point and at both ends of the quick central difference along us[0] comes along.
    """

    def __init__(
        self, plan: Plan, scenarios: Sequence[Modes], way: Way = derivative, graph: bool = True, xla: bool = False, ends: bool = False
    ) -> None:
        self.plan, self.scenarios, self.way, self.xla, self.ends = plan, list(scenarios), way, xla, ends
        self.eager = plan.eager or not graph
        self.errors: dict[Modes, BaseException] = {}
        self.failures: dict[Modes, BaseException] = {}  # what the last run raised that tracing did not
        self.places: dict[Modes, str] = {}  # where each of them was raised
        self.size = 0
        self.unit = 0.0  # the coarsest among what the graph computes
        self.settled = False
        self._graph: Any = None
        self._parts: list[Bundle] = []
        self._layout: dict[str, Any] = {}

    def run(self, xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays, wanted: Modes | None = None) -> dict[str, Any]:
        """(outputs, derivative) under each scenario's letters; outputs under "direct", "ahead" and "behind" where they are there.

        Traced, all of them cost as much as one; op by op only the wanted one is there.
        """
        self.failures = {}
        if self.eager:
            wanted_ones = [m for m in self.scenarios if m == wanted]
            return self._built(tensors(xs), tensors(fixed), [tensors(u) for u in us], tensors(v), wanted_ones)
        if self._graph is None and not self._parts:
            try:
                self.trace(xs, fixed, us, v)
            except Exception:
                if len(self.scenarios) < 2:
                    raise
                self._split()
        if self._graph is not None:
            try:
                return self._call(_flat(xs, fixed, us, v))
            except Exception:
                if not self.scenarios:
                    raise
                self._split()
        return self._run_parts(xs, fixed, us, v)

    def _split(self) -> None:
        """One of them fails when it runs: find out which, each time anew, since it may depend on the numbers."""
        if not self._parts:
            self._parts = [Bundle(self.plan, [modes], self.way, xla=self.xla) for modes in self.scenarios]

    def _run_parts(self, xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.ends:
            found = self.plan.bundle(0).run(xs, fixed, [], [])  # where F itself raises, nothing else is of interest
        for part in self._parts:
            try:
                found.update(part.run_whole(xs, fixed, us, v))
            except Exception as error:
                self.failures[part.scenarios[0]] = error
                self.places[part.scenarios[0]] = place_of(error)
            self.errors.update(part.errors)
            self.places.update(part.places)
        return found

    def run_whole(self, xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> dict[str, Any]:
        if self._graph is None:
            self.trace(xs, fixed, us, v)
        return self._call(_flat(xs, fixed, us, v))

    def trace(self, xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> None:
        counts = (len(xs), len(fixed), len(us), len(v))

        def whole(*flat: Any) -> list[Any]:
            found = self._built(*_unflat(flat, counts))
            self._layout = {key: _counts(value) for key, value in found.items()}
            return [tensor for value in found.values() for tensor in (value if key_is_direct(value) else [*value[0], *value[1]])]

        signature = [tf.TensorSpec(a.shape, a.dtype) for a in _flat(xs, fixed, us, v)]
        function = tf.function(whole, autograph=False, **({"jit_compile": True} if self.xla else {}))
        graph = function.get_concrete_function(*signature)
        operations = graph.graph.get_operations()
        if any(_random(o) for o in operations):
            raise ProgramError("it draws random numbers that no seed fixes")
        self.size = len(operations)
        computed = [t.dtype for o in operations if o.type not in ("Const", "Placeholder") for t in o.outputs]
        self.unit = max([UNITS[d] for d in computed if d in UNITS], default=0.0)
        self.settled = all(o.shape.is_fully_defined() for o in graph.outputs)
        self._graph = graph

    def placed(self, xs: Arrays, fixed: Arrays) -> list[Any]:
        """The direct run as one call inside another graph."""
        return list(self._graph._call_flat([*xs, *fixed], self._graph.captured_inputs))

    def _call(self, flat: list[Any]) -> dict[str, Any]:
        # The functions below tf.constant and __call__: those bind and check again what holds here by construction.
        here = context.context()
        given = [constant_op.convert_to_eager_tensor(a, here) for a in flat]
        answer = [np.asarray(a) for a in self._graph._call_flat(given, self._graph.captured_inputs)]
        found: dict[str, Any] = {}
        position = 0
        for key, counts in self._layout.items():
            parts = []
            for count in counts:
                parts.append(answer[position : position + count])
                position += count
            found[key] = parts[0] if len(parts) == 1 else tuple(parts)
        return found

    def _built(self, xs: Arrays, fixed: Arrays, us: Any, v: Arrays, scenarios: Sequence[Modes] | None = None) -> dict[str, Any]:
        def function(inputs: Arrays) -> list[Any]:
            return self.plan.function(inputs, fixed)

        found: dict[str, Any] = {} if self.scenarios else {"direct": function(xs)}
        if self.ends and scenarios is None:
            direct = self.plan.bundle(0)
            steps = [u * QUICK_STEP for u in us[0]]
            found["direct"] = direct.placed(xs, fixed)
            found["ahead"] = direct.placed([x + s for x, s in zip(xs, steps)], fixed)
            found["behind"] = direct.placed([x - s for x, s in zip(xs, steps)], fixed)
        for modes in self.scenarios if scenarios is None else scenarios:
            self.plan.rules.take()
            try:
                if modes == ("r",) and self.way is derivative:
                    outputs, gradients = pull(function, xs, v)
                    self.plan.dead = absent(gradients)
                    answer = (outputs, [inner(gradients, us[0])])
                else:
                    answer = self.way(function, xs, modes, us, v)
                found["".join(modes) or "plain"] = (list(answer[0]), list(answer[1]))
                self.errors.pop(modes, None)
            except Exception as error:
                self.places[modes] = place_of(error)
                self.errors[modes] = error.with_traceback(None)
                if modes == ("r",) and isinstance(error, NoGradient):
                    self.plan.dead = frozenset(range(len(xs)))
            reached = self.plan.rules.take()
            (self.plan.reached if modes == ("r",) and self.way is derivative else self.plan.nested).update(reached)
        return found


def _random(operation: Any) -> bool:
    """Whether an operator draws other numbers each time: some say so by an attribute."""
    return bool(operation.type.startswith(RANDOM)) or (operation.type.startswith("Fractional") and not operation.get_attr("deterministic"))


def key_is_direct(value: Any) -> bool:
    return isinstance(value, list)


def _counts(value: Any) -> tuple[int, ...]:
    return (len(value),) if key_is_direct(value) else (len(value[0]), len(value[1]))


def _flat(xs: Arrays, fixed: Arrays, us: Sequence[Arrays], v: Arrays) -> list[Any]:
    return [*xs, *fixed, *(a for u in us for a in u), *v]


def _unflat(flat: Sequence[Any], counts: tuple[int, int, int, int]) -> tuple[list[Any], list[Any], list[list[Any]], list[Any]]:
    inputs, fixed, directions, _ = counts
    start = inputs + fixed
    us = [list(flat[start + i * inputs : start + (i + 1) * inputs]) for i in range(directions)]
    return list(flat[:inputs]), list(flat[inputs:start]), us, list(flat[start + directions * inputs :])


def place_of(error: BaseException) -> str:
    """Where in the library an error was raised: the graph's node, the registered gradient on the way, or the innermost function."""
    node = _FAILING_NODE.search(str(error))
    if node:
        return f"node {node.group(1)}"
    place, trace = "", error.__traceback__
    while trace is not None:
        code, space = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
        if code.co_name == NOTED:
            return str(trace.tb_frame.f_locals["name"])
        if not code.co_name.startswith("<") and space.startswith(("tensorflow.", "keras.")) and "traceback_utils" not in space:
            place = f"{space}.{code.co_name}"
        trace = trace.tb_next
    return place


def tensors(arrays: Arrays) -> list[Any]:
    return [tf.constant(a) for a in arrays]


def absent(gradients: Sequence[Any]) -> frozenset[int]:
    """Positions of the inputs for which TensorFlow answers None."""
    return frozenset(i for i, g in enumerate(gradients) if g is None)
