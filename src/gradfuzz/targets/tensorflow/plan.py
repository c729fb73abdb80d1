"""What TensorFlow traces of a Program, and for how long it is worth it."""

from __future__ import annotations

import re
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.targets.base.bundle import Args, Arrays, Plan, TooDear
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.tensorflow.bundle import TensorflowBundle
from gradfuzz.targets.tensorflow.rules import Rules
from gradfuzz.targets.tensorflow.tensors import UNITS, tensors
from gradfuzz.targets.tensorflow.ways import BY_HAND, BY_XLA, WAYS, WITHOUT_GRAPH

# F takes its differentiable inputs and the other floating ones.
PlanFunction = Callable[[Arrays, Arrays], list[Any]]

# Above this many nodes in the order below tracing an order takes longer than a mutant may; higher ones are not traced at all.
DEAR = {2: 1500, 3: 800}
# XLA compiles a graph of this many nodes in about the time a mutant may take.
DEAR_COMPILED = 600
_TO_NUMPY = re.compile(r"Cannot convert a symbolic .* to a numpy array", re.DOTALL)


class TensorflowPlan(Plan):
    """F at given shapes and types, with what TensorFlow declares about it."""

    def __init__(self, function: PlanFunction, xs: Arrays, fixed: Arrays, rules: Rules) -> None:
        super().__init__()
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
        self.settled = False  # the outputs' shapes are the same whatever the numbers
        self.draws = False  # it draws numbers that a seed fixes
        if self.zeros and xs:
            self._trace(xs, fixed)

    def _trace(self, xs: Arrays, fixed: Arrays) -> None:
        """F and order one now: whether F can be traced at all, and which inputs have a derivative."""
        args = Args(xs, fixed, [[np.zeros_like(x) for x in xs]], self.zeros)
        try:
            direct = self.direct
            direct.compile_now(Args(xs, fixed, [], []))
            self.unit, self.settled = max(self.unit, direct.unit), direct.settled
            self.bundle(1).compile_now(args)
        except ProgramError:
            raise
        except Exception as error:
            if self._leaves_for_numpy(error, xs, fixed):
                raise ProgramError("part of it is computed by NumPy, where TensorFlow says that it cannot follow") from None
            # It needs the numbers themselves: such a function runs op by op, as it does for its users.
            self.eager, self.settled, self._bundles = True, False, {}
            self.rules.take()
            self.bundle(1).run(args, ("r",))

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

    @property
    def direct(self) -> TensorflowBundle:
        bundle = self.bundle(0)
        assert isinstance(bundle, TensorflowBundle)
        return bundle

    def most(self, order: int) -> int:
        return DEAR.get(order, 0)

    def make(self, scenarios: list[Modes], order: int) -> TensorflowBundle:
        return TensorflowBundle(self, scenarios, ends=order == 1 and not self.eager)

    def make_way(self, way: str, scenarios: list[Modes]) -> TensorflowBundle:
        if self.eager and way not in WITHOUT_GRAPH:
            raise NotImplementedError(f"{way} needs a graph, and this function cannot be traced")
        if way in BY_XLA and self.bundle(1).size > DEAR_COMPILED:
            raise TooDear(f"{way} is not traced: the function is large already")
        return TensorflowBundle(self, scenarios, WAYS[way], eager=way in BY_HAND, xla=way in BY_XLA)
