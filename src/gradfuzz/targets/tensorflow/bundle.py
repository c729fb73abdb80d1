"""TensorFlow's traced checks: some scenarios as one graph.

Op by op a forward accumulator costs milliseconds; a traced graph of all scenarios costs tenths of one, after tens of milliseconds for
tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.bundle import Answers, Args, Arrays, Bundle, key_of
from gradfuzz.targets.base.nesting import Derivative
from gradfuzz.targets.base.protocol import QUICK_STEP
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.tensorflow.derivatives import NoGradient, TensorflowTransforms, derivative, inner
from gradfuzz.targets.tensorflow.places import place_of
from gradfuzz.targets.tensorflow.tensors import UNITS, tensors
from gradfuzz.targets.tensorflow.ways import OfPlan

if TYPE_CHECKING:
    from gradfuzz.targets.tensorflow.plan import TensorflowPlan

# Operators whose numbers differ from run to run, whatever the seed of a Program.
# Draws that a seed fixes are the same each time, but a compiler may take another generator.
SEEDED = ("StatelessRandom", "StatelessTruncatedNormal", "StatelessMultinomial", "StatelessParameterizedTruncatedNormal")
RANDOM = ("Random", "Multinomial", "ParameterizedTruncatedNormal", "TruncatedNormal", "StatefulUniform", "StatefulStandardNormal")


class TensorflowBundle(Bundle):
    """Some scenarios as one graph; none: the direct run.

    With `ends`, the direct run at the point and at both ends of the quick central difference along us[0] comes along.
    """

    def __init__(
        self, plan: TensorflowPlan, scenarios: Sequence[Modes], way: Derivative = derivative, eager: bool = False, xla: bool = False,
        ends: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(scenarios, plan.eager or eager)
        self.plan, self.way, self.xla, self.ends = plan, way, xla, ends
        self.unit = 0.0  # the coarsest among what the graph computes
        self.settled = False
        self._layout: dict[str, tuple[int, ...]] = {}
        self._kept: dict[Any, Any] = {}  # what a way that runs op by op has traced of F

    def alone(self, scenarios: list[Modes]) -> Bundle:
        return TensorflowBundle(self.plan, scenarios, self.way, xla=self.xla)

    def without_scenarios(self, args: Args) -> Answers:
        return self.plan.bundle(0).run(Args(args.xs, args.fixed, [], [])) if self.ends else {}

    def place_of(self, error: BaseException) -> str:
        return place_of(error)

    def compile(self, args: Args) -> Any:
        counts = (len(args.xs), len(args.fixed), len(args.us), len(args.v))

        def whole(*flat: Any) -> list[Any]:
            found = self._built(_unflat(flat, counts), self.scenarios)
            self._layout = {key: _counts(value) for key, value in found.items()}
            return [tensor for value in found.values() for tensor in (value if _is_direct(value) else [*value[0], *value[1]])]

        signature = [tf.TensorSpec(a.shape, a.dtype) for a in _flat(args)]
        function = tf.function(whole, autograph=False, **({"jit_compile": True} if self.xla else {}))
        graph = function.get_concrete_function(*signature)
        operations = graph.graph.get_operations()
        if any(_random(o) for o in operations):
            raise ProgramError("it draws random numbers that no seed fixes")
        self.plan.draws = self.plan.draws or any(o.type.startswith(SEEDED) for o in operations)
        self.size = len(operations)
        computed = [t.dtype for o in operations if o.type not in ("Const", "Placeholder") for t in o.outputs]
        self.unit = max([UNITS[d] for d in computed if d in UNITS], default=0.0)
        self.settled = all(o.shape.is_fully_defined() for o in graph.outputs)
        return graph

    def call(self, compiled: Any, args: Args) -> Answers:
        # The functions below tf.constant and __call__: those bind and check again what holds here by construction.
        here = context.context()
        given = [constant_op.convert_to_eager_tensor(a, here) for a in _flat(args)]
        answer = [np.asarray(a) for a in compiled._call_flat(given, compiled.captured_inputs)]
        found: Answers = {}
        position = 0
        for key, counts in self._layout.items():
            parts = []
            for count in counts:
                parts.append(answer[position : position + count])
                position += count
            found[key] = parts[0] if len(parts) == 1 else tuple(parts)
        return found

    def op_by_op(self, args: Args, scenarios: Sequence[Modes]) -> Answers:
        eager = Args(tensors(args.xs), tensors(args.fixed), [tensors(u) for u in args.us], tensors(args.v))
        return self._built(eager, scenarios, with_ends=False)

    def placed(self, xs: Arrays, fixed: Arrays) -> list[Any]:
        """The direct run as one call inside another graph."""
        return list(self._compiled._call_flat([*xs, *fixed], self._compiled.captured_inputs))

    def _built(self, args: Args, scenarios: Sequence[Modes], with_ends: bool = True) -> Answers:
        function = OfPlan(self.plan.function, args.fixed, self._kept)
        found: Answers = {} if self.scenarios else {"direct": function(args.xs)}
        if self.ends and with_ends:
            direct = self.plan.direct
            steps = [u * QUICK_STEP for u in args.us[0]]
            found["direct"] = direct.placed(args.xs, args.fixed)
            found["ahead"] = direct.placed([x + s for x, s in zip(args.xs, steps)], args.fixed)
            found["behind"] = direct.placed([x - s for x, s in zip(args.xs, steps)], args.fixed)
        for modes in scenarios:
            self._scenario(function, args, modes, found)
        return found

    def _scenario(self, function: Any, args: Args, modes: Modes, found: Answers) -> None:
        """One scenario's answer, or its error; the rules that it reached are the plan's."""
        plan, plain = self.plan, self.way is derivative
        plan.rules.take()
        try:
            if modes == ("r",) and plain:
                outputs, gradients = TensorflowTransforms().pull(function, args.xs, args.v)
                plan.dead = absent(gradients)
                answer = (outputs, [inner(gradients, args.us[0])])
            else:
                answer = self.way(function, args.xs, modes, args.us, args.v)
            outputs = function(args.xs) if answer[0] is None else answer[0]
            found[key_of(modes)] = (list(outputs), list(answer[1]))
            self.errors.pop(modes, None)
        except Exception as error:
            self.places[modes] = place_of(error)
            self.errors[modes] = error.with_traceback(None)
            if modes == ("r",) and isinstance(error, NoGradient):
                plan.dead = frozenset(range(len(args.xs)))
        (plan.reached if modes == ("r",) and plain else plan.nested).update(plan.rules.take())


def absent(gradients: Sequence[Any]) -> frozenset[int]:
    """Positions of the inputs for which TensorFlow answers None."""
    return frozenset(i for i, g in enumerate(gradients) if g is None)


def _random(operation: Any) -> bool:
    """Whether an operator draws other numbers each time: some say so by an attribute."""
    return bool(operation.type.startswith(RANDOM)) or (operation.type.startswith("Fractional") and not operation.get_attr("deterministic"))


def _is_direct(value: Any) -> bool:
    return isinstance(value, list)


def _counts(value: Any) -> tuple[int, ...]:
    return (len(value),) if _is_direct(value) else (len(value[0]), len(value[1]))


def _flat(args: Args) -> list[Any]:
    return [*args.xs, *args.fixed, *(a for u in args.us for a in u), *args.v]


def _unflat(flat: Sequence[Any], counts: tuple[int, int, int, int]) -> Args:
    inputs, fixed, directions, _ = counts
    start = inputs + fixed
    us = [list(flat[start + i * inputs : start + (i + 1) * inputs]) for i in range(directions)]
    return Args(list(flat[:inputs]), list(flat[inputs:start]), us, list(flat[start + directions * inputs :]))
